# Servers that mean harm: what tests/lib/hostile.py says to each command, at every step of the protocol.
# It prints each case that failed, and how to repeat it.
load ../lib/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# hostile [--jobs N] PATTERN...: none of these cases does any harm. Those that wait most of the time can be many at once.
hostile() {
	TMPDIR=$BATS_TEST_TMPDIR run -0 timeout 170 python3 "$TESTS_DIR/lib/hostile.py" "$@"
	assert_line --regexp '^[0-9]+ cases, 0 failed, '
}

@test "harm before the lock is granted: wrap tells it in a line and never starts COMMAND" {
	hostile 'wrap/*' 'eval/*' 'moved/*' 'moved-wait/*' 'sentinel/*'
}

@test "harm while waiting" {
	hostile --jobs 16 'wait/*' 'back/*' 'leave/*'
}

@test "harm while COMMAND runs" {
	hostile --jobs 16 'hold/*' 'moved-hold/*'
}

@test "harm to acquire" {
	hostile 'acquire/*' 'acquire-json/*'
}

@test "harm to renew and release" {
	hostile 'renew/*' 'release/*' 'force/*'
}

@test "harm to status" {
	hostile 'status/*' 'status-json/*' 'moved-status/*'
}

@test "harm to status of all locks" {
	hostile 'status-all/*'
}

@test "harm to status for Prometheus" {
	hostile 'status-metrics/*'
}

@test "harm to queue" {
	hostile 'queue/*' 'queue-json/*' 'remove/*'
}

@test "harm to log" {
	hostile 'log/*' 'log-json/*' 'log-stats/*' 'log-plot/*'
}

@test "harm to doctor" {
	hostile 'doctor/*' 'doctor-json/*'
}

@test "what a real server said, mutilated at random" {
	hostile mutant
	echo "# ${lines[-1]}" >&3
}

@test "a program that the harm reaches is found out" {
	cp "${FAIRLOCK%/*}/scripts.c" .
	cat >fairlock.sh <<-EOF
		#!/bin/sh
		case "\$*" in *recorder*) exec "$FAIRLOCK" "\$@" ;; esac
		case "\$*" in *json*) kill -SEGV \$\$ ;; esac
		echo started
		printf 'fairlock: \033[2J\n' >&2
	EOF
	chmod +x fairlock.sh
	FAIRLOCK=$PWD/fairlock.sh TMPDIR=$BATS_TEST_TMPDIR run -1 timeout 60 python3 "$TESTS_DIR/lib/hostile.py" \
		'wrap/hello/status' 'acquire-json/acquire/status'
	assert_line --partial 'COMMAND was started without a grant'
	assert_line --partial 'a message that is not printable'
	assert_line --partial 'killed by signal 11'
	assert_line --partial "repeat: tests/lib/hostile.py -v 'wrap/hello/status'"
	assert_line --partial '2 cases, 2 failed'
}
