#!/usr/bin/env bats
# Standard output and standard error that another program has made non-blocking, as Node leaves them: nothing is cut off.

load ../lib/helpers
load ../lib/one_server

# prints_whole KIND FILL WORD...: fairlock WORD... prints the same to such a descriptor as to a file, and ends with the same status
prints_whole() {
	local kind=$1 fill=$2 expected=0 status=0

	"$FAIRLOCK" "${@:3}" >whole 2>/dev/null || expected=$?
	python3 "$TESTS_DIR/commands/nonblocking.py" "$kind" 1 "$fill" "$FAIRLOCK" "${@:3}" >printed || status=$?
	assert_equal "$status" "$expected"
	cmp whole printed
}

# many_locks: makes so many free locks that a list of them does not fit into a pipe
many_locks() {
	local i

	for ((i = 1; i <= 1500; i++)); do
		echo "HSET fairlock:{free$i} name free$i v 1"
		echo "XADD fairlock_log:{free$i} 1795230000000-0 event left by h\\t1\\tann\\tsh"
	done | cli >/dev/null
}

@test "status, queue, log and metrics are printed whole to a pipe, a socket and a terminal that are non-blocking" {
	local kind words

	many_locks
	for words in 'status --all --raw' 'status --all --json' 'status --prometheus' 'log --json' 'queue --json'; do
		# shellcheck disable=SC2086
		prints_whole pipe 0 $words
	done
	[ "$("$FAIRLOCK" status --all --json | wc -c)" -gt 300000 ]
	prints_whole socket 0 status --all --json
	"$FAIRLOCK" wrap job true
	for kind in pipe socket; do
		prints_whole "$kind" full log --json job
		prints_whole "$kind" full status --json job
	done
	COLUMNS=80 python3 "$TESTS_DIR/commands/nonblocking.py" terminal 1 0 "$FAIRLOCK" status --all --json | tr -d '\r' >printed
	"$FAIRLOCK" status --all --json | cmp - printed
}

@test "log --follow waits for the reader of a non-blocking pipe" {
	many_locks
	run -124 python3 "$TESTS_DIR/commands/nonblocking.py" pipe 1 full timeout 5 "$FAIRLOCK" log --raw --noheadings -o NAME --follow
	assert_equal "${#lines[@]}" 1500
}
