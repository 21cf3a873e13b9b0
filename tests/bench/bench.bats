# The benchmarks run and measure something. The figures themselves count only on a machine that does
# nothing else.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export RESULTS=$BATS_TEST_TMPDIR/results
}

@test 'bench measures fairlock, flock and the least programs in every way' {
	run -0 --separate-stderr "$TESTS_DIR/bench/run" --quick --peers flock,fairlock,relay 2
	refute_line --partial FAILED
	assert_line --regexp '^[|] relay: the requests of wrap [|] [0-9]'
	# no cell is empty
	assert_line --regexp '^[|] fairlock [|]( [0-9][^|]* [|]){7}$'
	run -0 awk -F '\t' '{ print $1 "," $3 }' "$RESULTS/samples.tsv"
	for name in 'Short commands,'{acquire,release,'a PING','the requests of acquire','the requests of release'} \
		'Slots and shared holds,'{flock,fairlock} 'On the server,'{fairlock,'one of 8 slots','a slot of another name'}; do
		assert_line "$name"
	done
	run -0 awk -F '\t' '$2 == "out of order: %" && $3 == "fairlock" && $4 != 0' "$RESULTS/samples.tsv"
	refute_output
}

@test 'bench names a peer that is not installed, and measures the others' {
	local program

	mkdir bin
	for program in basename bash cat cp dirname env mkdir mktemp rm setpriv; do
		ln -s "$(command -v "$program")" bin/
	done
	ln -s "$(python3 -c 'import sys; print(sys.executable)')" bin/python3
	run -0 --separate-stderr env PATH="$PWD/bin" CLI="$CLI" "$TESTS_DIR/bench/run" --quick --only slots --peers flock,fairlock 1
	assert_line --partial 'MISSING: flock: there is no flock here'
	assert_line --regexp '^[|] fairlock [|] [0-9]'
}

@test 'bench leaves no process running when it is killed' {
	export TMPDIR=$BATS_TEST_TMPDIR
	background "$TESTS_DIR/bench/run" --only crowds --peers fairlock 1
	wait_until pgrep -f "fairlock wrap .*$TMPDIR/"
	wait_until server_runs
	kill -KILL "$(pgrep -P $!)"
	wait_until ended $!
	WAIT_S=60 wait_until nothing_runs
}

server_runs() {
	"$CLI" -s "$TMPDIR"/tmp.*/Fairlock/server/redis.sock PING
}

nothing_runs() {
	! pgrep -f "$TMPDIR/tmp" && ! server_runs
}
