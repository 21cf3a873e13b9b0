#!/usr/bin/env bats
# Command lines that fairlock refuses, its messages, and --help. No server is needed.

load ../lib/helpers

setup() {
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
}

# refused WORD... because CAUSE: fairlock WORD... is a usage error; it says so in two lines
refused() {
	local words=() hint
	while [ "$1" != because ]; do
		words+=("$1")
		shift
	done
	run --separate-stderr "$FAIRLOCK" "${words[@]}"
	assert_failure 64
	assert_output ''
	case ${words[0]-} in
	wrap | acquire | renew | release | status | queue | log) hint="fairlock ${words[0]}" ;;
	*) hint=fairlock ;;
	esac
	# shellcheck disable=SC2154 # stderr_lines comes from run
	assert_equal "${#stderr_lines[@]}" 2
	assert_regex "${stderr_lines[0]}" '^fairlock: cannot '
	assert_equal "${stderr_lines[1]}" "Try '$hint --help'."
	[[ ${stderr_lines[0]} == *"$2"* ]] || fail "${stderr_lines[0]} does not say: $2"
}

assert_regex() {
	[[ $1 =~ $2 ]] || fail "$1 does not match $2"
}

@test "a missing command is a usage error" {
	refused because 'COMMAND is missing'
}

@test "an unknown command is a usage error" {
	refused lock x because "'lock'"
}

@test "an option in front of the command is a usage error" {
	refused --quiet status because "'--quiet'"
}

@test "an unknown long option is a usage error" {
	refused wrap --bogus x true because "'--bogus'"
}

@test "an unknown short option is a usage error, even among others behind one dash" {
	refused wrap -nqx x true because "'-x'"
}

@test "an option of another command is a usage error" {
	refused acquire --signal TERM x because "'--signal'"
	refused renew --wait 3 x because "'--wait'"
	refused status --force x because "'--force'"
}

@test "an abbreviation that fits two options is a usage error" {
	refused wrap --con 3 x true because 'ambiguous'
}

@test "a missing argument is a usage error" {
	refused acquire x --wait because "'--wait'"
	refused acquire x -w because "'-w'"
}

@test "an argument for a flag is a usage error" {
	refused acquire --quiet=yes x because "'--quiet'"
}

@test "a missing NAME is a usage error" {
	for command in wrap acquire renew release log; do
		refused "$command" because 'NAME is missing'
	done
}

@test "a second NAME is a usage error where one is expected" {
	for command in acquire renew release queue log; do
		refused "$command" a b because 'more than one NAME'
	done
}

@test "wrap without a command is a usage error" {
	refused wrap x because 'COMMAND is missing'
	refused wrap x -- because 'COMMAND is missing'
}

@test "wrap with both a command and -c is a usage error" {
	refused wrap -c true x true because '--command'
	refused wrap x -c true -- true because '--command'
}

@test "a malformed duration is a usage error" {
	for text in '' -1 1h30 1e3 inf nan 0x10 ' 1' '1 ' 1. 99999999999999999999; do
		refused acquire --wait "$text" x because "'$text' is not a duration"
	done
}

@test "a lease below 1s or above 1d is a usage error" {
	refused acquire -l 0 x because '1s to 1d'
	refused acquire -l 999ms x because '1s to 1d'
	refused acquire -l 24h1ms x because '1s to 1d'
}

@test "an exit code outside 0 to 255 is a usage error" {
	refused acquire -E 256 x because '0 to 255'
	refused acquire -E -1 x because '0 to 255'
	refused acquire -E '' x because '0 to 255'
}

@test "a kill-after of more than a third of the lease is a usage error" {
	refused wrap -k 10001ms x true because 'more than a third of the lease'
	refused wrap -l 1s -k 0.49s x true because 'more than a third of the lease'
	run -69 "$FAIRLOCK" wrap -u unix:/nonexistent -l 3s -k 1s x true
}

@test "an unknown signal is a usage error" {
	for signal in FOO SIG 0 65 -1 SIGSIGTERM; do
		refused wrap -s "$signal" x true because "'$signal' is not a signal"
	done
}

@test "--on-lost with a word other than kill and warn is a usage error" {
	refused wrap --on-lost stop x true because 'kill or warn'
}

@test "--while-pid with anything but a process id is a usage error" {
	for pid in 0 -1 x 2147483648; do
		refused acquire --while-pid "$pid" x because "'$pid' is not a process id"
	done
}

@test "--token without --force is a usage error" {
	refused release --token 3 x because '--force'
}

@test "--json with --raw is a usage error" {
	refused status --json --raw because '--json'
}

@test "fairlock replaces control characters when it quotes a bad value" {
	run --separate-stderr "$FAIRLOCK" acquire -w $'1\e[31m\n2' x
	assert_failure 64
	assert_equal "${stderr_lines[0]}" "fairlock: cannot use option '--wait': '1?[31m?2' is not a duration"
}

@test "a URL with an unknown scheme is a bad configuration, and the message lists the known ones" {
	run "$FAIRLOCK" status -u http://localhost
	assert_failure 78
	assert_output "fairlock: cannot use URL 'http://localhost': its scheme is none of local:, unix:, redis://, rediss://, redis+sentinel://, rediss+sentinel://, or the same with valkey"
}

@test "a malformed URL is a bad configuration, and the message shows no password" {
	for url in redis://:pa55@ redis://u:pa55@h:x redis://u:pa55@h/x redis://:pa55 redis://pa55@h \
		rediss://u:pa55@h/x redis+sentinel://u:pa55@h foo://u:pa55@h 'redis://u:pa55%@h' 'unix:/x?password=pa55'; do
		run "$FAIRLOCK" status -u "$url"
		assert_failure 78
		assert_output --partial 'cannot use URL'
		refute_output --partial pa55
	done
}

@test "fairlock --help prints the commands on standard output" {
	run --separate-stderr "$FAIRLOCK" --help
	assert_success
	for command in wrap acquire renew release status queue log; do
		assert_line --regexp "^  $command "
	done
	# shellcheck disable=SC2154
	assert_equal "$stderr" ''
}

@test "fairlock renew --help prints the options of renew only" {
	run --separate-stderr "$FAIRLOCK" renew --help
	assert_success
	assert_line --partial '  -l, --lease DUR '
	assert_line --partial '      --owner ID '
	refute_output --partial '--wait'
	assert_equal "$stderr" ''
}

@test "--help fits on 80 columns, and lists the command's own options first" {
	for command in '' wrap acquire renew release status queue log doctor; do
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" $command --help
		[ "$(wc -L <<<"$output")" -lt 80 ] || fail "$output"
		run ! grep ' $' <<<"$output"
	done
	run -0 "$FAIRLOCK" wrap --help
	[[ $output = *'Options:'*--no-wait*'Options of all commands:'*--url* ]]
}

@test "--help is an option of wrap behind NAME, and a word of COMMAND behind COMMAND" {
	run "$FAIRLOCK" wrap x --help
	assert_success
	assert_output --partial 'Usage: fairlock wrap'
	run "$FAIRLOCK" wrap x true --help
	refute_output --partial 'Usage:'
}

@test "fairlock --version prints one line" {
	run "$FAIRLOCK" --version
	assert_success
	assert_output --regexp '^fairlock [0-9]+\.[0-9]+\.[0-9]+$'
}

@test "fairlock --help ends with 71 and a message if standard output is full" {
	run bash -c '"$1" --help >/dev/full' - "$FAIRLOCK"
	assert_failure 71
	assert_output 'fairlock: cannot write to standard output: No space left on device'
}

@test "fairlock --help ends with 71 and a message if standard output is closed" {
	run bash -c '"$1" --help >&-' - "$FAIRLOCK"
	assert_failure 71
	assert_output --partial 'cannot write to standard output'
}
