#!/usr/bin/env bats
# Command lines that fairlock refuses, and its messages. No server is needed.

load ../lib/helpers

setup() {
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
	export FAIRLOCK_CONNECT_TIMEOUT=100ms
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

@test "a mistake in usage ends with 64, and two lines say what is wrong and where the help is" {
	local words cause count=0

	while IFS='|' read -r words cause; do
		# shellcheck disable=SC2086
		refused $words because "${cause# }"
		count=$((count + 1))
	done <<-'END'
		lock x | 'lock'
		-vn wrap x true | '-n'
		-u | '-u': its URL is missing
		-v | COMMAND is missing
		-- status | COMMAND is missing
		help nonsense | 'nonsense': there is no such command
		wrap --bogus x true | '--bogus'
		wrap -nqx x true | '-x'
		acquire --signal TERM x | '--signal'
		acquire --skip x | '--skip': only wrap has it
		wrap --con 3 x true | ambiguous
		acquire x -w | '-w'
		acquire --quiet=yes x | '--quiet'
		wrap | NAME is missing
		acquire | NAME is missing
		renew | NAME is missing
		release | NAME is missing
		acquire a -- b | more than one NAME
		queue a b | more than one NAME
		wrap x -- | COMMAND is missing
		wrap -c true x true | give either COMMAND or --command, not both
		acquire --wait 1h30 x | '1h30' is not a duration (90, 1.5h, 1h30m)
		wrap -l 999ms x true | 1s to 1d
		wrap -l 24h1ms x true | 1s to 1d
		acquire -l 30d1ms x | 1s to 30d
		renew -l 30d1ms --owner x x | 1s to 30d
		acquire -E 256 x | 0 to 255
		acquire -E -1 x | 0 to 255
		wrap -E 0x1 x true | a number from 0 to 255
		wrap --max-queue 1.5 x true | a number
		wrap --connect-timeout 0 x true | a duration
		wrap --max-hold 0 x true | '0' is not a duration over 0
		wrap -k 10001ms x true | more than a third of the lease
		wrap -l 1s -k 0.49s x true | more than a third of the lease
		acquire --owner= x | an owner ID
		acquire --while-pid 0 x | '0' is not a process id
		acquire --while-pid 2147483648 x | '2147483648' is not a process id
		renew x | say who you are: --owner ID, as acquire printed it
		release x | say who you are: --owner ID, as acquire printed it
		release --token 3 x | '--token': it needs --force, too
		status --json --raw | '--raw': it does not go with --json
		log --follow --stats x | '--follow': it does not go with --stats
		wrap -n -w 5s x true | '--wait': it does not go with --no-wait
		wrap --skip -w 5s x true | '--wait': it does not go with --skip
		wrap --skip -E 3 x true | '--conflict-exit-code': it does not go with --skip
		wrap --max-hold 59s --min-hold 1m x true | '--max-hold': it is less than --min-hold
		status --sort= | '--sort': '' is not a column
		log --since= | '--since': '' is not a duration or a time
	END
	[ "$count" -ge 45 ]
	refused acquire -w $'1\e[31m\n2' x because "'1?[31m?2' is not a duration"
	refused wrap "--$(printf '%060d' 0)" x true because "option '--00000000000000000000000000000000000...': there is no such option"
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

@test "an unknown signal is a usage error" {
	for signal in FOO SIG 0 65 -1 SIGSIGTERM RTMIN RTMIN+3; do
		refused wrap -s "$signal" x true because "'$signal' is not a signal"
	done
	for signal in term SIGTERM 37 64; do
		run -69 "$FAIRLOCK" wrap -s "$signal" x true
	done
}

@test "--while-pid with the process id of acquire itself is a usage error" {
	run --separate-stderr bash -c 'owner=$("$FAIRLOCK" acquire --while-pid "$BASHPID" x)'
	assert_failure 64
	assert_output ''
	assert_regex "${stderr_lines[0]}" '^fairlock: cannot watch process [0-9]+: it is this fairlock; in \$\(\.\.\.\), take \$\$ and not \$BASHPID$'
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

@test "a URL in the place of the command is not printed, because it may have a password" {
	refused redis://me:pa55@host/1 because 'cannot run a URL as a command: name the server with -u URL'
	run "$FAIRLOCK" redis://me:pa55@host/1 status
	refute_output --partial pa55
}
