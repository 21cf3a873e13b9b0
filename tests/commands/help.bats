#!/usr/bin/env bats
# --help and --version, in all their spellings. No server is needed.

load ../lib/helpers

setup() {
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
	export FAIRLOCK_CONNECT_TIMEOUT=100ms
}

@test "fairlock lists its commands on standard output when asked in one of six ways" {
	local words
	for words in --help -h help 'help help' '-v help' '--help --verbose'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$FAIRLOCK" $words
		assert_success
		for command in wrap acquire renew release status queue log doctor; do
			assert_line --regexp "^  $command "
		done
		# shellcheck disable=SC2154
		assert_equal "$stderr" ''
	done
}

@test "fairlock shows the help of a command when asked in one of six ways" {
	local words
	for words in 'renew --help' 'renew -h' 'help renew' '--help renew' '-h renew' '-v help renew'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$FAIRLOCK" $words
		assert_success
		assert_line --index 0 'Usage: fairlock renew [options] NAME'
		assert_equal "$stderr" ''
	done
}

# examples COMMAND: those of its --help, without what they mean
examples() {
	# shellcheck disable=SC2086
	"$FAIRLOCK" $1 --help | sed -n '/^Examples/,/^$/s/^  \(.*[^ ]\)   .*/\1/p'
}

@test "--help begins with three examples, which are no mistakes" {
	local command example
	export owner=9d8b3c4e-0000-4000-8000-000000000000:1
	for command in '' wrap acquire renew release status queue log doctor; do
		run -0 examples "$command"
		assert_equal "${#lines[@]}" 3
		for example in "${lines[@]}"; do
			[[ $example = *"fairlock $command"* ]]
			run bash -c "fairlock() { '$FAIRLOCK' \"\$@\" -u unix:/nowhere; }; ${example/ .\// -u unix:\/nowhere .\/}"
			[[ $status != 64 || $output = *'standard output is not a terminal'* ]] || fail "$example: $output"
		done
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" $command --help
		[[ ${lines[1]} = Examples* || ${lines[2]} = Examples* ]]
	done
}

# groups COMMAND: prints its options, each behind the heading under which it stands
groups() {
	# shellcheck disable=SC2086
	"$FAIRLOCK" $1 --help | sed -nE '/^[A-Z].*:$/{s/:$//;h}; /^  (-.,|   ) --/{s/^  .{4}(--[a-z-]+).*/\1/;G;s/(.*)\n(.*)/\2: \1/p}'
}

@test "wrap --help has at most 50 lines, with the options in groups, and begins with the line for cron" {
	run -0 "$FAIRLOCK" wrap --help
	[ "${#lines[@]}" -lt 50 ]
	[ "$("$FAIRLOCK" wrap --help | wc -l)" -le 50 ]
	assert_equal "$(examples wrap | head -n 1)" 'fairlock wrap --skip --once-per 1d news ./news'
	assert_equal "$(groups wrap | cut -d : -f 1 | uniq)" \
		$'If the lock is busy\nOnce\nHow many\nLimits\nWhat others see\nOther options'
	for line in 'If the lock is busy: --no-wait' 'Once: --once-ok' 'How many: --slots' 'Limits: --max-hold' \
		'What others see: --reason' 'Other options: --command'; do
		groups wrap | grep -qxF -- "$line" || fail "$line"
	done
}

@test "fairlock prints its version on one line when asked in one of six ways" {
	local words
	for words in --version -V version '-v version' 'wrap --version' '--version status'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$FAIRLOCK" $words
		assert_success
		assert_output --regexp '^fairlock [0-9]+\.[0-9]+\.[0-9]+$'
		assert_equal "$stderr" ''
	done
}

@test "fairlock --version and --help end with 71 and the reason if standard output is full" {
	run -71 sh -c '"$FAIRLOCK" --version >/dev/full'
	assert_output 'fairlock: cannot write to standard output: No space left on device'
	run bash -c '"$1" --help >/dev/full' - "$FAIRLOCK"
	assert_failure 71
	assert_output 'fairlock: cannot write to standard output: No space left on device'
}
