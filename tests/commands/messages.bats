# Every message on standard error has one form, and is one line of less than 160 characters, whatever stands in it.
# Messages about several holders and lost locks are in not-obtained.bats, about servers in refused.bats.

load ../lib/one_server

setup() {
	begin
	word=$(printf 'w%.0s' {1..300})
	name=$(printf 'ä%.0s' {1..256}) # 512 bytes
	command=$BATS_TEST_TMPDIR/${word:0:200}
	ln -s "$(command -v sleep)" "$command"
	cut_name="$(printf 'ä%.0s' {1..37})..."
	background "$FAIRLOCK" wrap --reason "${word:0:200}" "$name" "$command" 600 2>said
	holder=$!
}

# says STATUS PATTERN WORD...: fairlock WORD... ends with STATUS, and says so in one short line; the hint of a mistake may follow
says() {
	run "-$1" timeout 60 "$FAIRLOCK" "${@:3}"
	short "$2"
}

# short PATTERN: so is $output
short() {
	mapfile -t lines < <(grep -v "^Try 'fairlock .*--help'\.$" <<<"$output")
	assert_equal "${#lines[@]}" 1
	[[ ${lines[0]} = 'fairlock: '* && ${#lines[0]} -lt 160 ]] || fail "${#lines[0]} characters: ${lines[0]}"
	[[ ${lines[0]} =~ $1 ]] || fail "not '$1': ${lines[0]}"
}

@test "every message in the sources is of the form 'cannot VERB OBJECT: CAUSE'" {
	run -0 python3 "$TESTS_DIR/commands/messages.py" "$TESTS_DIR/../src"
	assert_output --regexp '^[1-9][0-9]{2} messages, 0 faults$'
}

@test "messages about a busy lock, and about the ends of waits and holds, are short" {
	local lock="lock $cut_name: "

	wait_until "$FAIRLOCK" status -q "$name"
	says 75 "^fairlock: cannot get ${lock}held by " wrap -n "$name" true
	says 75 "${lock}timed out after 100ms; held by " wrap -w 100ms "$name" true
	says 75 "${lock}the queue is full \(0 waiting\); held by " acquire --max-queue 0 "$name"
	says 75 "${lock}its command started .* ago, within --once-per 23h59m; held by " wrap --once-per 23h59m "$name" true
	says 76 "^fairlock: cannot release ${lock}this owner does not hold it now; " release --owner 00000000-0000-4000-8000-000000000000:1 "$name"
	background "$FAIRLOCK" wrap "$name" true 2>removed
	wait_until in_queue "$name" 1
	"$FAIRLOCK" queue --remove "$(cli ZRANGE "fairlock_queue:{$name}" 0 0)" "$name"
	ends_with 75 $!
	output=$(<removed) short "^fairlock: cannot get ${lock}removed from the queue after .*; held by "
	"$FAIRLOCK" release --stop "$name"
	ends_with 124 "$holder"
	output=$(<said) short "^fairlock: lock $cut_name: was asked to stop by .*; stopping .{37}\.\.\.$"
}

@test "the message about a wrong value of each option, variable and setting is short" {
	local command option key count=0

	export FAIRLOCK_CONNECT_TIMEOUT=100ms
	for command in wrap acquire renew release status queue log doctor; do
		for option in $({ "$FAIRLOCK" $command --help && "$FAIRLOCK" --help; } | sed -nE 's/^  (-.,|   ) --([a-z-]+)\[?[= ][A-Z].*/\2/p'); do
			run timeout 60 "$FAIRLOCK" $command -u unix:none "--$option=x$word" x true
			[ "$status" -ne 69 ] || continue
			short '^fairlock: cannot '
			count=$((count + 1))
		done
	done
	[ "$count" -ge 60 ]
	for key in lease wait signal url quiet "$word"; do
		echo "$key = $word" >conf
		says 78 '^fairlock: cannot read conf:1: ' status --config conf
	done
	says 64 "'w{40}' is not a duration \(90, 1.5h, 1h30m\)" wrap -w "${word:0:40}" x true
	says 64 "'w{37}\.\.\.' is not a duration \(90, 1.5h, 1h30m\)" wrap -w "${word:0:41}" x true
	FAIRLOCK_CONFLICT_EXIT_CODE=$word says 64 "cannot use FAIRLOCK_CONFLICT_EXIT_CODE: 'w{37}\.\.\.' is not " wrap x true
	says 64 "cannot run 'w{37}\.\.\.': there is no such command" "$word"
	says 64 "option '--w{35}\.\.\.': there is no such option" wrap "--$word" x true
	says 64 'cannot use NAME: it is longer than 512 bytes' status "x$name"
}
