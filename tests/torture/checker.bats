# The checker of the torture test: what it reports, and what it excuses.
load ../lib/helpers

@test "the checker gives each small history the verdict that stands beside it" {
	run -0 python3 -B "$TESTS_DIR/torture/histories.py"
	assert_output --regexp '^[0-9]{3} histories, 0 wrong verdicts$'
}

@test "the checker prints what it found, and the lines around it" {
	cd "$BATS_TEST_TMPDIR"
	echo '{"at":1,"what":"job","job":"one","kind":"wrap","lock":"x","lease":3000}' >history
	echo '{"at":2,"what":"exit","job":"one","status":70}' >>history
	run -1 python3 -B "$TESTS_DIR/torture/check.py" .
	assert_line --partial 'statuses: one (lock x, lease 3000 ms): it ended with 70'
	assert_line '    {"at":2,"what":"exit","job":"one","status":70}'
	assert_line '0 critical sections, 1 violations, 0 excused'
}
