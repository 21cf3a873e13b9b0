# A file that may not grow (`ulimit -f`) ends no process of fairlock, and COMMAND is stopped all the same.
load ../lib/one_server
load ../lib/jobs

setup() {
	begin
	write_catcher
}

# A size of 0 makes the kernel send SIGXFSZ for each byte that fairlock writes to a file.
@test "with ulimit -f 0 a full file ends acquire with 71, and the lock is given back" {
	run -71 bash -c 'ulimit -f 0; "$FAIRLOCK" acquire job >out'
	assert_output 'fairlock: cannot write the owner id: File too large'
	run -71 bash -c 'ulimit -f 0; "$FAIRLOCK" acquire -v job >out 2>&1'
	run -71 bash -c 'ulimit -f 0; "$FAIRLOCK" acquire -v --while-pid $$ job >out 2>&1'
	nothing_left
}

@test "with ulimit -f 0 and messages in a file each command ends with its own status" {
	other=00000000-0000-4000-8000-000000000000:1
	hold job
	for words in '71 status' '71 log job' '71 doctor' '71 --help' '64 wrap' "76 renew --owner $other job" "76 release --owner $other job" \
		'75 wrap -vn job true' '127 wrap -v free ./no-such-file' '126 wrap -v free ./plain' '3 wrap -v free -c "exit 3"'; do
		: >plain
		: >out
		status=0
		bash -c "ulimit -f 0; \"\$FAIRLOCK\" ${words#* } >out 2>&1" || status=$?
		assert_equal "$status ${words#* }" "$words"
	done
	is_free free
}

@test "with ulimit -f 0 and messages in a file COMMAND gets no signal that the kernel sent for them" {
	in_wraps 3 python3 catcher.py
	background bash -c 'ulimit -S -f 0; exec "$0" "$@" 2>said' "$FAIRLOCK" wrap -v --max-hold 1h job0 prlimit --fsize=unlimited: -- "${WORDS[@]}"
	WRAPPER=$!
	wait_until test -s pid
	kill -s USR1 "$WRAPPER"
	wait_until lines_in got 1
	got_only USR1
}

@test "with ulimit -f 0 and messages in a file COMMAND is stopped if its lock is broken, by release --stop, and when its guard dies" {
	for words in '76 release --force job' '124 release --stop job' '76 -KILL'; do
		rm -f pid go
		background bash -c 'ulimit -S -f 0; exec "$0" "$@" 2>said' "$FAIRLOCK" wrap -v job prlimit --fsize=unlimited: sh -c 'echo $$ >pid; exec sleep 600'
		WRAPPER=$!
		wait_until test -s pid
		case $words in
		*-KILL) kill -KILL "$(pgrep -P "$WRAPPER")" ;;
		*) "$FAIRLOCK" ${words#* } ;;
		esac
		ends_with "${words%% *}" "$WRAPPER"
		ended "$(cat pid)"
	done
	nothing_left
}
