#!/usr/bin/env bats
# Command lines that fairlock refuses, and its messages. No server is needed.

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
	[ "${#stderr_lines[0]}" -lt 160 ] || fail "${stderr_lines[0]} is too long"
	[[ ${stderr_lines[0]} == *"$2"* ]] || fail "${stderr_lines[0]} does not say: $2"
}

assert_regex() {
	[[ $1 =~ $2 ]] || fail "$1 does not match $2"
}

@test "fairlock alone prints the overview on standard error, and ends with 64" {
	run --separate-stderr "$FAIRLOCK"
	assert_failure 64
	assert_output ''
	# shellcheck disable=SC2154 # stderr comes from run
	assert_equal "$stderr" "$("$FAIRLOCK" --help)"
}

@test "an unknown command is a usage error" {
	refused lock x because "'lock'"
}

@test "an option that not all commands have is a usage error before the command" {
	refused --wait 5 status because "'--wait'"
	refused -n wrap x true because "'-n'"
	refused -vn wrap x true because "'-n'"
}

@test "options without a command are a usage error" {
	refused -v because 'COMMAND is missing'
	refused --url unix:/nowhere because 'COMMAND is missing'
	refused -u because "'-u': its URL is missing"
	refused -- status because 'COMMAND is missing'
	refused -v nonsense because "'nonsense': there is no such command"
	refused help nonsense because "'nonsense': there is no such command"
}

@test "options that all commands have may stand before the command" {
	local options
	for options in "-u unix:$HOME/other" "-uunix:$HOME/other" "--url unix:$HOME/other" "-q --url=unix:$HOME/other"; do
		# shellcheck disable=SC2086
		run -69 "$FAIRLOCK" $options status
		assert_output --partial "unix:$HOME/other"
		# shellcheck disable=SC2086
		run -69 "$FAIRLOCK" $options wrap x true
		assert_output --partial "unix:$HOME/other"
	done
	run -69 "$FAIRLOCK" -v wrap x true
	assert_line --partial ' the server is '
	run -69 "$FAIRLOCK" -u unix:/first wrap -u unix:/second x true
	assert_output --partial unix:/second
}

@test "the words behind the command stay as they are when options stand before it" {
	run -64 "$FAIRLOCK" -v wrap -- -n
	assert_line "fairlock: cannot run 'wrap': COMMAND is missing"
}

# arguments_are PID PATTERN
arguments_are() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(tr '\0' ' ' <"/proc/$1/cmdline") = $2 ]]
}

# is_there PORT: somebody listens there
is_there() { : </dev/tcp/127.0.0.1/"$1"; }

@test "a password before the command is wiped from the arguments" {
	local port

	port=$(free_port)
	background python3 "$TESTS_DIR/lib/nonsense.py" "$port" silent # keeps the program from going on
	wait_until is_there "$port"
	background "$FAIRLOCK" --url "redis://u:pa55@127.0.0.1:$port" wrap --connect-timeout 10m x true
	wait_until arguments_are $! "* --url redis://u:\\*\\*\\*\\*@127.0.0.1:$port wrap *"
}

@test "an unknown long option is a usage error" {
	refused wrap --bogus x true because "'--bogus'"
}

# cuts OPTION SHOWN: an unknown option is quoted so far
cuts() {
	run -64 "$FAIRLOCK" wrap "$1" x true
	assert_line --index 0 "fairlock: cannot use option '$2': there is no such option${3-}"
	refute_output --partial pa55
}

@test "an unknown long option is quoted up to the end of its name, because a password may follow" {
	cuts --url:redis://:pa55@h --url... ', did you mean --url?'
	cuts --url,redis://u:pa55@h --url...
	cuts --bogus:pa55 --bogus...
	cuts --max_hold=5 --max... ', did you mean --max-hold?'
	cuts "--$(printf '%050d' 0):pa55" --00000000000000000000000000000000000...
	cuts "--$(printf '%038d' 0):pa55" --00000000000000000000000000000000000...
	cuts --bogus=pa55 --bogus
	run -64 "$FAIRLOCK" --url:redis://:pa55@h status
	assert_line --index 0 "fairlock: cannot use option '--url...': there is no such option, did you mean --url?"
	cuts '-?' '-?'
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
	for command in wrap acquire renew release; do
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

@test "what is nearly a duration is refused" {
	refused acquire --wait 1h30 x because "'1h30' is not a duration (90, 1.5h, 1h30m)"
	refused acquire --lease '5 minutes' x because "'5 minutes' is not a duration from 1s to 30d"
	FAIRLOCK_LEASE=1m30 refused acquire x because "cannot use FAIRLOCK_LEASE: '1m30' is not a duration from 1s to 30d"
	run -69 "$FAIRLOCK" log --since 1w x
	run -69 "$FAIRLOCK" acquire --wait 5min x
	run -69 "$FAIRLOCK" acquire --wait 1m30sec x
}

@test "a lease below 1s or above 1d, or above 30d by hand, is a usage error" {
	refused wrap -l 0 x true because '1s to 1d'
	refused wrap -l 999ms x true because '1s to 1d'
	refused wrap -l 24h1ms x true because '1s to 1d'
	refused acquire -l 0 x because '1s to 30d'
	refused acquire -l 30d1ms x because '1s to 30d'
	refused renew -l 30d1ms --owner x x because '1s to 30d'
}

@test "an exit code outside 0 to 255 is a usage error" {
	refused acquire -E 256 x because '0 to 255'
	refused acquire -E -1 x because '0 to 255'
	refused acquire -E '' x because '0 to 255'
}

@test "a number or duration of another form or size is a usage error" {
	refused wrap -E 0x1 x true because 'a number from 0 to 255'
	refused wrap -E 99999999999999999999 x true because 'a number from 0 to 255'
	refused wrap --max-queue 1.5 x true because 'a number'
	refused wrap --connect-timeout 0 x true because 'a duration'
	refused release --force --token x x because 'a number'
	refused acquire --owner= x because 'an owner ID'
}

# wrong_name NAME: no lock can have it
wrong_name() { refused status -- "$1" because 'cannot use NAME'; }

@test "a NAME is UTF-8 without control characters, and shares no key with another lock" {
	local name

	for name in x 'a b' 50%done '{x}' 'a{b}c' '{a}{b}' ä € 🔒 $'\xf4\x8f\xbf\xbf' -n a–b -- fairlock fairlock_log '*' \
		$'\xef\xbf\xbd' $'\xed\x9f\xbf' $'\xee\x80\x80' "$(printf '%0512d' 0)"; do
		run -69 "$FAIRLOCK" status -- "$name"
	done
	for name in '' $'\n' $'a\tb' $'a\x1f' $'\x7f' $'\xc2\x80' $'\xc2\x9f' "$(printf '%0513d' 0)"; do
		wrong_name "$name"
	done
	# cut short, continuation alone, overlong, surrogate, too large
	for name in $'\xc3' $'\xe2\x82' $'\xf0\x9f\x94' $'\x80' $'a\xff' $'\xc0\xaf' $'\xe0\x9f\xbf' $'\xf0\x8f\xbf\xbf' \
		$'\xed\xa0\x80' $'\xed\xbf\xbf' $'\xf4\x90\x80\x80' $'\xf8\x88\x80\x80\x80' $'\xe2\x28\xa1'; do
		wrong_name "$name"
	done
	for name in redisson_lock_queue:x 'redisson_lock_timeout:{x}' redisson_lock__channel:x fairlock: 'fairlock:{x}' \
		fairlock_log:x fairlock_queue:x fairlock_holders:x fairlock_done:x 'a}b' '}' 'a{b' 'a{}b' '{' 'a{}{b}' 'a}{b'; do
		wrong_name "$name"
	done
}

@test "a NAME that looks like an option or like another NAME is refused, and the message says why" {
	local code name

	for code in 2010 2011 2012 2013 2014 2015 2212; do
		printf -v name "\\u${code}n"
		refused wrap "$name" x true because "cannot use NAME: byte 1 is U+$code, a dash that is not '-'"
		refused acquire "$name" because "U+$code"
	done
	for code in 00A0 2007 202F; do
		printf -v name "a\\u${code}b"
		refused status "$name" because "cannot use NAME: byte 2 is U+$code, a no-break blank"
	done
	for code in 00AD 200B 200C 200D 200E 202E 2028 2060 2066 FEFF; do
		printf -v name "ab\\u$code"
		refused release --force "$name" because "cannot use NAME: byte 3 is U+$code, which cannot be seen"
	done
	refused log $'\ufeffa' because 'byte 1 is U+FEFF, which cannot be seen'
	refused queue ' a' because 'cannot use NAME: it begins with a blank'
	refused renew --owner x 'a ' because 'cannot use NAME: it ends with a blank'
	refused status $'a\u3000' because 'cannot use NAME: it ends with a blank'
	refused wrap --also 'b ' a true because 'cannot use NAME: it ends with a blank'
}

@test "a message is cut between characters, also one of four bytes" {
	local count

	for count in 39 40 60 61 62 127; do
		run -78 "$FAIRLOCK" status --config "/$(printf '𝄞%.0s' $(seq "$count"))"
		assert_output --regexp "^fairlock: cannot read /𝄞+(\.\.\.𝄞+)?: (No such file|File ?name too long)"
		iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null
		refused wrap "$(printf '𝄞%.0s' $(seq "$count"))" -w 'x𝄞' true because "'x𝄞' is not a duration (90, 1.5h, 1h30m)"
	done
}

@test "a kill-after of more than a third of the lease is a usage error" {
	refused wrap -k 10001ms x true because 'more than a third of the lease'
	refused wrap -l 1s -k 0.49s x true because 'more than a third of the lease'
	run -69 "$FAIRLOCK" wrap -u unix:/nonexistent -l 3s -k 1s x true
}

@test "an unknown signal is a usage error" {
	for signal in FOO SIG 0 65 -1 SIGSIGTERM RTMIN RTMIN+3; do
		refused wrap -s "$signal" x true because "'$signal' is not a signal"
	done
	for signal in term SIGTERM 37 64; do
		run -69 "$FAIRLOCK" wrap -s "$signal" x true
	done
}

@test "--while-pid with anything but a process id is a usage error" {
	for pid in 0 -1 x 2147483648; do
		refused acquire --while-pid "$pid" x because "'$pid' is not a process id"
	done
}

@test "--while-pid with the process id of acquire itself is a usage error" {
	run --separate-stderr bash -c 'owner=$("$FAIRLOCK" acquire --while-pid "$BASHPID" x)'
	assert_failure 64
	assert_output ''
	assert_regex "${stderr_lines[0]}" '^fairlock: cannot watch process [0-9]+: it is this fairlock; in \$\(\.\.\.\), take \$\$ and not \$BASHPID$'
}

@test "options that do not go together are a usage error" {
	refused status --json --raw because "'--raw': it does not go with --json"
	refused acquire a -- b because 'more than one NAME'
	refused log --follow --stats x because "'--follow': it does not go with --stats"
	refused wrap -c true x true because 'give either COMMAND or --command, not both'
	refused release --token 3 x because "'--token': it needs --force, too"
	refused wrap -n -w 5s x true because "'--wait': it does not go with --no-wait"
	refused acquire --wait 1ms --no-wait x because "'--wait': it does not go with --no-wait"
	refused wrap --skip -w 5s x true because "'--wait': it does not go with --skip"
	refused wrap -w 0 --skip x true because "'--wait': it does not go with --skip"
	refused wrap --skip -E 3 x true because "'--conflict-exit-code': it does not go with --skip"
	refused wrap --max-hold 59s --min-hold 1m x true because "'--max-hold': it is less than --min-hold"
}

@test "options that do not go together on the command line do if a variable or a file sets one" {
	export FAIRLOCK_WAIT=5s FAIRLOCK_CONFLICT_EXIT_CODE=3 FAIRLOCK_MIN_HOLD=1m

	run -69 "$FAIRLOCK" wrap -n x true
	run -69 "$FAIRLOCK" acquire -n x
	run -69 "$FAIRLOCK" wrap --skip x true
	run -69 "$FAIRLOCK" wrap --max-hold 1s x true
	run -69 "$FAIRLOCK" wrap -n -w 0 x true
	run -69 "$FAIRLOCK" wrap --min-hold 1m --max-hold 1m x true
	unset FAIRLOCK_WAIT FAIRLOCK_CONFLICT_EXIT_CODE FAIRLOCK_MIN_HOLD
	printf 'wait = 5s\nmin-hold = 1m\n' >"$HOME/conf"
	run -69 "$FAIRLOCK" wrap --config "$HOME/conf" --skip --max-hold 1s x true
}

@test "acquire has no --skip, because a script would go on without the lock" {
	refused acquire --skip x because "'--skip': only wrap has it"
}

@test "renew and release without an owner say so at once, also if the server is away" {
	run -64 timeout 4 "$FAIRLOCK" release -u unix:/nonexistent x
	run -64 timeout 4 "$FAIRLOCK" renew -u unix:/nonexistent x
}

@test "renew and release without an owner say how to name one" {
	refused renew x because 'say who you are: --owner ID, as acquire printed it'
	refused release x because 'say who you are: --owner ID, as acquire printed it'
}

@test "fairlock replaces control characters when it quotes a bad value" {
	run --separate-stderr "$FAIRLOCK" acquire -w $'1\e[31m\n2' x
	assert_failure 64
	assert_equal "${stderr_lines[0]}" "fairlock: cannot use option '--wait': '1?[31m?2' is not a duration (90, 1.5h, 1h30m)"
}

@test "a URL with an unknown scheme is a bad configuration, and the message lists the known ones" {
	run "$FAIRLOCK" status -u http://localhost
	assert_failure 78
	assert_output "fairlock: cannot use URL 'http://localhost': begin with redis://, rediss://, redis+sentinel://, unix: or local:"
}

@test "a malformed URL is a bad configuration, and the message shows no password" {
	for url in redis://:pa55@ redis://u:pa55@h:x redis://u:pa55@h/x redis://:pa55 redis://pa55@h \
		rediss://u:pa55@h/x redis+sentinel://u:pa55@h foo://u:pa55@h redis:pa55 u:pa55@h 'redis://u:pa55%@h' 'unix:/x?password=pa55'; do
		run "$FAIRLOCK" status -u "$url"
		assert_failure 78
		assert_output --partial 'cannot use URL'
		refute_output --partial pa55
	done
}

@test "a value that does not stand behind the = of --watch and --color is no NAME" {
	refused status --watch 2 because "'--watch': its DUR stands behind '=', not behind a blank"
	refused queue --watch 500ms job because "'--watch': its DUR stands behind '=', not behind a blank"
	refused status --color always job because "'--color': its WHEN stands behind '=', not behind a blank"
	refused log job --color never because "'--color': its WHEN stands behind '=', not behind a blank"
	run -69 "$FAIRLOCK" status --color=auto always
	run -69 "$FAIRLOCK" status 2 --color
	run -69 "$FAIRLOCK" status --color -- never
}

@test "an empty value is told by what it should be" {
	refused status --sort= because "'--sort': '' is not a column"
	refused status -o '' because "'--output': '' is not a list of columns"
	refused status --url '' because "'--url': '' is not a URL"
	refused status --config= because "'--config': '' is not a path"
	refused status --tls-ca '' because "'--tls-ca': '' is not a path"
	refused log --since= because "'--since': '' is not a duration or a time"
}

@test "an unknown option is cut at 40 characters in the message" {
	refused wrap "--$(printf '%060d' 0)" x true because "option '--00000000000000000000000000000000000...': there is no such option"
	refused wrap "--$(printf '%060d' 0)=x" x true because "option '--00000000000000000000000000000000000...': there is no such option"
}

@test "an abbreviation works before and behind the command" {
	run -0 "$FAIRLOCK" --versio
	assert_output --regexp '^fairlock [0-9]'
	run -0 "$FAIRLOCK" wrap --versio
	assert_output --regexp '^fairlock [0-9]'
	run -69 "$FAIRLOCK" --ur unix:/first --quie wrap --no x true
	assert_output --partial unix:/first
	refused --ver because "'--ver': it is ambiguous"
	refused wrap --ver x true because "'--ver': it is ambiguous"
}

@test "a URL in the place of the command is not printed, because it may have a password" {
	refused redis://me:pa55@host/1 because 'cannot run a URL as a command: name the server with -u URL'
	run "$FAIRLOCK" redis://me:pa55@host/1 status
	refute_output --partial pa55
}
