# The benchmarks run and measure something. The figures themselves count only on a machine that does
# nothing else.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export RESULTS=$BATS_TEST_TMPDIR/results
}

# values MEASURE TOOL: prints how many values of this measure the tool has
values() {
	awk -F , -v measure="$1" -v who="$2" '$1 == measure && $3 == who' "$RESULTS/samples.csv" | wc -l
}

@test 'bench measures fairlock and flock in every way, and says which bars are met' {
	local measure bars

	run -0 --separate-stderr "$TESTS_DIR/bench/run" --quick --peers flock,fairlock 2
	for measure in 'a uncontended' 'b hand-over' 'b out of order' 'c drain' 'e idle' 'f recovery' 'g locks per second' \
		'h writer'; do
		[ "$(values "$measure" flock)" -gt 0 ] || fail "no value of $measure for flock"
		[ "$(values "$measure" fairlock)" -gt 0 ] || fail "no value of $measure for fairlock"
	done
	[ "$(values 'd server time' fairlock)" -gt 0 ]
	[ "$(values 'h slots' fairlock)" -gt 0 ]
	[ "$(values 'h server time' fairlock)" -gt 0 ]
	for measure in 'b hand-over' 'c drain'; do
		[ "$(values "$measure" 'relay: the requests of wrap')" -gt 0 ]
	done
	for measure in acquire release; do
		[ "$(values 'a uncontended' "the requests of $measure")" -gt 0 ]
	done
	[ "$(values 'a uncontended' 'requests and processes of wrap')" -gt 0 ]
	assert_equal "$(values 'b out of order' fairlock)" 2
	assert_equal "$(awk -F , '$1 == "b out of order" && $3 == "fairlock" && $5 != 0' "$RESULTS/samples.csv")" ''
	bars=$(grep -cE '\| (met|MISSED|not measured) +\|$' "$RESULTS/table.md")
	assert_equal "$bars" 25
	assert_output --partial "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
}

@test 'bench names a peer that is not installed, and measures the others' {
	local program

	mkdir bin
	for program in basename bash cat cp dirname env mkdir mktemp rm setpriv; do
		! command -v "$program" >/dev/null || ln -s "$(command -v "$program")" bin/
	done
	ln -s "$(python3 -c 'import sys; print(sys.executable)')" bin/python3
	run -0 --separate-stderr env PATH="$PWD/bin" CLI="$CLI" "$TESTS_DIR/bench/run" --quick --only e --peers flock,fairlock 1
	assert_line --partial 'MISSING: flock: there is no flock here'
	assert_line --regexp '^[|] fairlock +[|] 0 '
}

@test 'bench leaves no process running when it is killed' {
	export TMPDIR=$BATS_TEST_TMPDIR
	background "$TESTS_DIR/bench/run" --only e --peers fairlock 1
	wait_until pgrep -f "fairlock wrap .*$TMPDIR/"
	wait_until server_runs
	kill -KILL "$(pgrep -P $!)"
	wait_until ended $!
	WAIT_S=60 wait_until nothing_runs
}

server_runs() {
	"$CLI" -s "$TMPDIR"/tmp.*/fairlock/server/redis.sock PING
}

nothing_runs() {
	! pgrep -f "$TMPDIR/tmp" && ! server_runs
}
