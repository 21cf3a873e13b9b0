# Servers that mean harm: the answers of tests/lib/hostile.py to each command, at every step of the
# protocol. It prints each case that failed, and how to repeat it.
load ../lib/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# hostile [--jobs N] PATTERN...: none of these cases does harm. Cases that mostly wait can be many.
hostile() {
	TMPDIR=$BATS_TEST_TMPDIR run -0 timeout 170 python3 "$TESTS_DIR/lib/hostile.py" "$@"
	assert_line --regexp '^[0-9]+ cases, 0 failed, '
}

@test "a hostile server before the grant makes wrap print one line, and never starts COMMAND" {
	hostile 'wrap/*' 'eval/*' 'moved/*' 'moved-wait/*' 'sentinel/*'
}

@test "a hostile server does no harm to a waiter" {
	hostile --jobs 16 'wait/*' 'back/*' 'leave/*'
}

@test "a hostile server does no harm to a holder while COMMAND runs" {
	hostile --jobs 16 'hold/*' 'moved-hold/*'
}

@test "a hostile server does no harm to acquire" {
	hostile 'acquire/*' 'acquire-json/*'
}

@test "a hostile server does no harm to renew and release" {
	hostile 'renew/*' 'release/*' 'force/*'
}

@test "a hostile server does no harm to status of a lock" {
	hostile 'status/*' 'status-json/*' 'moved-status/*'
}

@test "a hostile server does no harm to status of all locks" {
	hostile 'status-all/*'
}

@test "a hostile server does no harm to status for Prometheus" {
	hostile 'status-metrics/*'
}

@test "a hostile server does no harm to queue" {
	hostile 'queue/*' 'queue-json/*' 'remove/*'
}

@test "a hostile server does no harm to log" {
	hostile 'log/*' 'log-json/*' 'log-stats/*' 'log-plot/*'
}

@test "a hostile server does no harm to doctor" {
	hostile 'doctor/*' 'doctor-json/*'
}

@test "random mutations of a real server's answers do no harm" {
	hostile mutant
	echo "# ${lines[-1]}" >&3
}

@test "the cases find a program that is harmed" {
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
