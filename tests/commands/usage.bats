# --help, --version, and command lines that fairlock refuses, with its messages. No server is needed.

load ../lib/helpers

setup() {
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
	export FAIRLOCK_CONNECT_TIMEOUT=100ms
}

# ---- --help and --version ----

# prints FIRST WORDS...: fairlock, with each of these WORDS, prints a text that begins so on standard output
prints() {
	local words

	for words in "${@:2}"; do
		run --separate-stderr -0 "$FAIRLOCK" $words
		assert_line --index 0 --regexp "^$1"
		assert_equal "$stderr" ''
	done
}

@test "fairlock prints overview, help of a command and version on standard output when asked in one of six ways, else on the error" {
	prints 'Usage: fairlock ' --help -h help 'help help' '-v help' '--help --verbose'
	prints 'Usage: fairlock renew \[options\] NAME$' 'renew --help' 'renew -h' 'help renew' '--help renew' '-h renew' '-v help renew'
	prints 'fairlock [0-9]+\.[0-9]+\.[0-9]+$' --version -V version '-v version' 'wrap --version' '--version status'
	run --separate-stderr -64 "$FAIRLOCK"
	assert_output ''
	assert_equal "$stderr" "$("$FAIRLOCK" --help)"
}

# examples COMMAND: those of its --help, without what they mean
examples() { "$FAIRLOCK" $1 --help | sed -n '/^Examples/,/^$/s/^  \(.*[^ ]\)   .*/\1/p'; }

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
		run -0 "$FAIRLOCK" $command --help
		[[ ${lines[1]} = Examples* || ${lines[2]} = Examples* ]]
	done
}

# groups COMMAND: prints its options, each behind the heading under which it stands
groups() {
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

@test "fairlock --version and --help end with 71 and the reason if standard output is full" {
	for word in --version --help; do
		run -71 sh -c '"$FAIRLOCK" "$1" >/dev/full' - $word
		assert_output 'fairlock: cannot write to standard output: No space left on device'
	done
}

# ---- Mistakes ----

# refused WORD... because CAUSE: fairlock WORD... is a usage error; it says so in two lines
refused() {
	local words=() hint

	while [ "$1" != because ]; do
		words+=("$1")
		shift
	done
	run --separate-stderr -64 "$FAIRLOCK" "${words[@]}"
	assert_output ''
	case ${words[0]-} in
	wrap | acquire | renew | release | status | queue | log) hint="fairlock ${words[0]}" ;;
	*) hint=fairlock ;;
	esac
	assert_equal "${#stderr_lines[@]}" 2
	assert_regex "${stderr_lines[0]}" '^fairlock: cannot '
	assert_equal "${stderr_lines[1]}" "Try '$hint --help'."
	[ "${#stderr_lines[0]}" -lt 160 ] || fail "${stderr_lines[0]} is too long"
	[[ ${stderr_lines[0]} == *"$2"* ]] || fail "${stderr_lines[0]} does not say: $2"
}

# all_refused: reads lines "WORDS | CAUSE"; the message about each ends with its cause
all_refused() {
	local words cause count=0

	while IFS='|' read -r words cause; do
		refused $words because ": ${cause# }"
		[[ ${stderr_lines[0]} = *"${cause# }" ]] || fail "${words}is answered: ${stderr_lines[0]}"
		count=$((count + 1))
	done
	[ "$count" -ge "$1" ]
}

@test "a mistake in usage ends with 64, and two lines say what is wrong and where the help is" {
	all_refused 36 <<-'END'
		-u | its URL is missing
		-v | COMMAND is missing, as in 'fairlock status'
		-- status | COMMAND is missing, as in 'fairlock status'
		help nonsense | there is no such command
		wrap --bogus x true | there is no such option
		acquire --signal TERM x | only wrap has it
		acquire --supersede x | only wrap has it
		wrap --con 3 x true | it is ambiguous: --connect-timeout or --conflict-exit-code
		wrap --connect-timeout 0 x true | '0' is not a duration from 1ms to 1d
		acquire x -w | its DUR is missing
		acquire --quiet=yes x | it takes no value
		wrap | NAME is missing
		acquire | NAME is missing
		acquire a -- b | there is more than one NAME
		wrap x -- | COMMAND is missing
		wrap -c true x true | give either COMMAND or --command, not both
		wrap -l 999ms x true | '999ms' is not a duration from 1s to 1d
		acquire -l 30d1ms x | '30d1ms' is not a duration from 1s to 30d
		acquire -E 256 x | '256' is not a number from 0 to 255
		wrap --max-queue 1.5 x true | '1.5' is not a number
		wrap --max-hold 0 x true | '0' is not a duration over 0
		wrap -k 10001ms x true | it is more than a third of the lease
		wrap -l 1s -k 0.49s x true | it is more than a third of the lease
		acquire --owner= x | '' is not an owner ID
		release --owner , x | this is no id; acquire prints the id
		acquire --while-pid 0 x | '0' is not a process id
		renew x | say who you are: --owner ID, as acquire printed it
		release --token 3 x | it needs --force, too
		release --wait 1s x | it needs --stop, too
		release --slot 1 x | it needs --stop or --force, too
		release --stop --slot a,b x | 'a,b' is not one slot
		acquire --max-hold 1h x | it needs --while-pid, too
		wrap -s x true | 'x' is not a signal
		status --sort= | '' is not a column
		wrap -w 0 --supersede x true | it does not go with --wait 0
		log --since= | '' is not a duration or a time
		wrap --also= x true | '' is not a NAME
	END
	refused acquire -w $'1\e[31m\n2' x because "'1?[31m?2' is not a duration"
	refused wrap "--$(printf '%060d' 0)" x true because "option '--00000000000000000000000000000000000...': there is no such option"
}

@test "options that exclude each other are refused, and the message names both" {
	local command option other options one two

	while read -r command other options; do
		for option in $options; do
			run -64 "$FAIRLOCK" "$command" "$option" "$other" x $([ "$command" != wrap ] || echo true)
			one=${option%%=*} two=${other%%=*}
			assert_line --index 0 --regexp "^fairlock: cannot use option '($one': it does not go with $two|$two': it does not go with $one)$"
		done
	done <<-'END'
		wrap --wait=5s --no-wait --skip
		wrap --skip --conflict-exit-code=3 --supersede
		wrap --slots=2 --shared --supersede --also=b
		wrap --once-ok=1h --once-per=1h --also=b
		wrap --also=b --shared --supersede --once-per=1d
		wrap --supersede --no-wait --shared
		acquire --slots=2 --shared
		release --force --stop --forget-run
		status --json --raw
		status --prometheus --json --raw --noheadings --output=NAME --watch --quiet
		queue --watch --json --raw --remove=a:1
		log --follow --stats --sort=TIME
		log --plot --stats --lines=3
		log --stats --lines=3
	END
	refused release --stop --slot 1 --owner 00000000-0000-4000-8000-000000000000:1 x because "'--owner': it does not go with --slot"
}

@test "common wrong guesses are answered with the right command, option or column" {
	all_refused 28 <<-'END'
		run x true | there is no such command, did you mean wrap?
		lock x | there is no such command, did you mean wrap or acquire?
		unlock x | there is no such command, did you mean release?
		ls | there is no such command, did you mean status?
		logs -f x | there is no such command, did you mean log?
		stauts | there is no such command, did you mean status?
		Wrap x true | there is no such command, did you mean wrap?
		help lock | there is no such command, did you mean wrap or acquire?
		nightly rsync a b | there is no such command, did you mean 'fairlock wrap NAME COMMAND'?
		nonsense | there is no such command
		wrap --timeout 5 x true | there is no such option, did you mean --wait?
		wrap --ttl 30 x true | there is no such option, did you mean --lease?
		wrap --nonblock x true | there is no such option, did you mean --no-wait?
		wrap -j4 x true | there is no such option, did you mean --slots?
		--host db status | there is no such option, did you mean --url redis://HOST:PORT?
		status -p 7001 | there is no such option, did you mean --url redis://HOST:PORT?
		status --password sesame | there is no such option, did you mean --password-file?
		queue -a x | only status has it
		-n x true | only wrap and acquire have it; put it behind the command
		--wait 5 x true | only wrap, acquire and release have it; put it behind the command
		wrap --wiat 5 x true | there is no such option, did you mean --wait?
		wrap --max_hold 5 x true | there is no such option, did you mean --max-hold?
		status --no-headings | there is no such option, did you mean --noheadings?
		wrap --slot 3 x true | only release has it
		renew --json x | only acquire, status, queue, log and doctor have it
		wrap -Z x true | there is no such option
		log -f x | there is no such option
		status -o STAET | there is no such column, did you mean STATE?
		status -o name,stat | there is no such column, did you mean STATE?
		status -o nonsense | there is no such column, '-o help' lists them
	END
}

@test "options that all commands have may stand before the command" {
	local options
	for options in "-u unix:$HOME/other" "-uunix:$HOME/other" "--url unix:$HOME/other" "-q --url=unix:$HOME/other"; do
		run -69 "$FAIRLOCK" $options status
		assert_output --partial "unix:$HOME/other"
		run -69 "$FAIRLOCK" $options wrap x true
		assert_output --partial "unix:$HOME/other"
	done
	run -69 "$FAIRLOCK" -v wrap x true
	assert_line --partial ' the server is '
	run -69 "$FAIRLOCK" -u unix:/first wrap -u unix:/second x true
	assert_output --partial unix:/second
}

@test "a password before the command is wiped from the arguments" {
	local port

	port=$(free_port)
	background python3 "$TESTS_DIR/lib/nonsense.py" "$port" silent # keeps the program from going on
	wait_until is_taken "$port"
	background "$FAIRLOCK" --url "redis://u:pa55@127.0.0.1:$port" wrap --connect-timeout 10m x true
	wait_until grep -qaF "redis://u:****@127.0.0.1:$port" "/proc/$!/cmdline"
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

	for code in 2010 2012 2013 2014 2015 2212; do
		printf -v name "\\u${code}n"
		refused wrap "$name" x true because "cannot use NAME: byte 1 is U+$code, a dash that is not '-'"
		refused acquire "$name" because "U+$code"
	done
	for code in 00A0 2007 2011 202F; do
		printf -v name "a\\u${code}b"
		refused status "$name" because "cannot use NAME: byte 2 is U+$code, a no-break character"
	done
	for code in 00AD 034F 115F 2800 3164 FE0F 200B 200C 200D 200E 202E 2028 2060 2066 FEFF; do
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
	refused redis://me:pa55@host/1 because 'cannot run a URL as a command: name the server with -u URL'
	[[ $stderr != *pa55* ]]
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

@test "an option is refused beside a setting that excludes it, and the message says where that setting is from" {
	echo 'once-per = 1h' >"$HOME/conf"
	FAIRLOCK_ONCE_PER=1h refused wrap --once-ok 1h x true because 'cannot use --once-ok: it does not go with the once-per of FAIRLOCK_ONCE_PER'
	FAIRLOCK_ONCE_PER=1h refused wrap --also b x true because 'cannot use --also: it does not go with the once-per of FAIRLOCK_ONCE_PER'
	refused wrap --config "$HOME/conf" --once-ok 1h x true because "it does not go with the once-per of $HOME/conf:1"
	FAIRLOCK_WAIT=0 refused wrap --supersede x true because 'it does not go with'
}
