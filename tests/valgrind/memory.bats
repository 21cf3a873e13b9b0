# Every command under valgrind: it may not leak memory, nor access it wrongly, nor end with a
# descriptor open. A process that a command forks (the guard, a keeper) ends without closing what it
# inherited; these tests look only at its memory.

load ../lib/helpers
load ../lib/tls
load ../lib/nodes

setup_file() {
	make_certificates
	export PROGRAM=$FAIRLOCK LOGS=$BATS_FILE_TMPDIR/logs VALGRIND=$BUILDROOT/memcheck/valgrind
	FAIRLOCK=$BATS_FILE_TMPDIR/fairlock
	export FAIRLOCK
	[ -x "$VALGRIND" ] || VALGRIND=valgrind
	mkdir -m 1777 "$LOGS"
	# valgrind follows our own programs, and not COMMAND. Each process has a log of its own.
	cat >"$FAIRLOCK" <<-'END'
		#!/bin/bash
		# valgrind counts inherited descriptors as errors from version 3.24 on.
		for path in /proc/self/fd/*; do
			fd=${path##*/}
			[ "$fd" -le 2 ] || [ "$fd" -eq 255 ] || eval "exec $fd>&-"
		done
		exec "$VALGRIND" --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
			--track-fds=yes --error-exitcode=99 --trace-children=yes \
			--trace-children-skip='*/bin/*,*/sbin/*' --log-file="$LOGS/%p.%n" "$PROGRAM" "$@"
	END
	chmod +x "$FAIRLOCK"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_CONNECT_TIMEOUT=30s
	rm -f "$LOGS"/*
}

# Fails if valgrind blames a process. (bats does not stop at a command that fails here.)
teardown() {
	local log blamed=0

	wait_until all_ended || return
	[ "$(find "$LOGS" -name '*.1' | wc -l)" -gt 0 ] || return
	for log in "$LOGS"/*; do
		blames "$log" || continue
		cat "$log"
		blamed=1
	done
	return "$blamed"
}

# blames LOG: prints the errors in it; fails if there are none
blames() {
	local wrong='Invalid|Conditional|Use of|Syscall param|Mismatched|.* are (definitely|indirectly) lost'

	# A process that was forked, or that a signal ended, leaves reachable memory and descriptors
	# to the kernel.
	if [[ $1 = *.1 ]] && ! grep -q 'Process terminating' "$1"; then
		wrong+='|[0-9,]+ .*bytes in .* in loss record'
		awk '/ Open / { what = $0; next } what { if (!/<inherited from parent>/) print what; what = "" }' "$1" |
			grep . && return
	fi
	grep -E "^==[0-9]+== ($wrong)" "$1"
}

all_ended() {
	local log

	for log in "$LOGS"/*; do
		grep -q 'ERROR SUMMARY' "$log" && continue
		log=${log##*/}
		ended "${log%.*}" || return
	done
}

# use_all: takes a lock, waits for it and gives it back in every way, and shows it
use_all() {
	local owner waiter

	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	run -127 "$FAIRLOCK" wrap job /nonexistent
	owner=$("$FAIRLOCK" acquire --lease 5m job)
	run -75 "$FAIRLOCK" wrap -w 1s job true
	background "$FAIRLOCK" wrap job true
	waiter=$!
	wait_until in_line 1
	run -0 "$FAIRLOCK" renew --owner "$owner" job
	run -0 "$FAIRLOCK" status
	run -0 "$FAIRLOCK" status --json job
	run -0 "$FAIRLOCK" queue job
	run -0 "$FAIRLOCK" release --owner "$owner" job
	ends_with 0 "$waiter"
	run -0 "$FAIRLOCK" log job
	run -0 "$FAIRLOCK" log --json job
}

in_line() {
	"$PROGRAM" queue --raw --noheadings job | wc -l | grep -qx "$1"
}

@test "the commands leak nothing on a unix socket" {
	start_server
	use_all
}

@test "figures, plot, metrics, doctor, help and completion leak nothing" {
	start_server
	"$PROGRAM" wrap job true
	run -0 "$FAIRLOCK" log --plot job
	run -0 "$FAIRLOCK" log --stats job
	run -0 "$FAIRLOCK" status --prometheus
	run "$FAIRLOCK" doctor
	[ "$status" -lt 99 ]
	run -0 "$FAIRLOCK" wrap --help
	run -0 "$FAIRLOCK" --complete 2 fairlock status j
}

@test "a keeper leaks nothing and gives the lock back when its process ends" {
	start_server
	background sleep 600
	run -0 "$FAIRLOCK" acquire --while-pid $! job
	run -64 "$FAIRLOCK" acquire --while-pid 999999999 other
	kill $!
	wait $! || true
	wait_until in_state free
}

in_state() {
	"$PROGRAM" status --noheadings -o STATE job | grep -qx "$1"
}

@test "wrap leaks nothing when COMMAND is stopped by --max-hold, by a signal, or after a broken lock" {
	local wrapper

	start_server
	run -124 "$FAIRLOCK" wrap --max-hold 1s job sleep 600
	background "$FAIRLOCK" wrap job sh -c 'touch runs; exec sleep 600'
	wrapper=$!
	wait_until test -e runs # valgrind loses a signal that comes just before exec
	kill -s TERM "$wrapper"
	ends_with 143 "$wrapper"
	background "$FAIRLOCK" wrap job sh -c 'touch runs-again; exec sleep 600'
	wrapper=$!
	wait_until test -e runs-again
	run -0 "$FAIRLOCK" release --force job
	ends_with 76 "$wrapper"
}

@test "the commands leak nothing after mistakes and refusals" {
	start_server
	cli CONFIG SET requirepass sesame >/dev/null
	run -64 "$FAIRLOCK"
	run -64 "$FAIRLOCK" nonsense
	run -64 "$FAIRLOCK" wrap
	run -64 "$FAIRLOCK" wrap --wait 1h30 job true
	run -78 "$FAIRLOCK" status -u redis://host:port
	run -77 "$FAIRLOCK" wrap job true
	run -69 "$FAIRLOCK" status -u unix:/nonexistent
	run -69 "$FAIRLOCK" wrap --connect-timeout 1s -w 1s -u unix:/nonexistent job true
	printf 'lease = 1x\n' >conf
	run -78 "$FAIRLOCK" status --config conf
	printf 'wait = 5s\nurl = unix:%s\npassword-file = %s\n' "$SERVER_SOCKET" "$PWD/secret" >conf
	(umask 077 && echo sesame >secret)
	run -0 env -u FAIRLOCK_URL "$FAIRLOCK" wrap --config conf job true
}

@test "the commands leak nothing over TLS, whether they accept the certificate or refuse it" {
	local url

	start_tls_server
	url=rediss://localhost:$TLS_PORT
	run -0 "$FAIRLOCK" wrap -u "$url" --tls-ca "$TLS_DIR/ca.crt" job true
	run -0 "$FAIRLOCK" status -u "$url" --tls-ca "$TLS_DIR/ca.crt"
	run -69 "$FAIRLOCK" status -u "$url" --tls-ca "$TLS_DIR/unknown-ca.crt"
	run -69 "$FAIRLOCK" status -u "redis://localhost:$TLS_PORT"
}

@test "the commands leak nothing on a cluster, through any of its nodes" {
	start_cluster
	for port in $(master_nodes); do
		run -0 "$FAIRLOCK" wrap -u "redis://127.0.0.1:$port" job true
	done
	run -0 "$FAIRLOCK" status -u "redis://127.0.0.1:$port"
	run -0 "$FAIRLOCK" log -u "redis://127.0.0.1:$port" job
}
