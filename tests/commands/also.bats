# wrap --also: several locks, one after the other, and COMMAND under all of them.

load ../lib/one_server
load ../lib/jobs

# renewed COUNT: lock a has been renewed so often: COUNT times a third of the lease are over
renewed() { [ "$(grep -c 'renewed lock a' said)" -ge "$1" ]; }

# holders: prints which of the locks a, b, c are held
holders() { "$FAIRLOCK" status --raw --noheadings -o NAME | sort | xargs; }

@test "COMMAND runs under NAME and each --also, and all of them are given back" {
	run -0 "$FAIRLOCK" wrap --also b --also c a -- "$FAIRLOCK" status --raw --noheadings -o NAME
	assert_output $'a\nb\nc'
	assert_equal "$(holders)" ''
	nothing_left
	run -0 "$FAIRLOCK" log --json
	assert_equal "$(jq -r '.log[] | select(.event == "released") | "\(.name) \(.status) \(.cause)"' <<<"$output" | sort)" \
		$'a 0 exit\nb 0 exit\nc 0 exit'
}

@test "the variables are those of NAME, and FAIRLOCK_TOKENS and FAIRLOCK_HELD have all locks; without --also there is no FAIRLOCK_TOKENS" {
	run -0 "$FAIRLOCK" wrap --also c=d --also a b sh -c \
		'echo "$FAIRLOCK_NAME $FAIRLOCK_TOKEN"; echo "$FAIRLOCK_OWNER"; echo "$FAIRLOCK_HELD"; echo "$FAIRLOCK_TOKENS"; for l in a b c=d; do '"$CLI"' -s "$SERVER_SOCKET" --raw HKEYS $l; done'
	assert_equal "${#lines[@]}" 9
	[[ ${lines[0]} =~ ^b\ [0-9]+$ ]]
	assert_equal "${lines[1]}" "${lines[7]}"
	assert_equal "${lines[2]}" "${lines[7]} ${lines[6]} ${lines[8]}"
	assert_regex "${lines[3]}" '^a=[0-9]+$'
	assert_equal "${lines[4]}" "b=${lines[0]#b }"
	assert_regex "${lines[5]}" '^c=d=[0-9]+$'
	run -0 "$FAIRLOCK" wrap --also b a "$FAIRLOCK" wrap c sh -c 'echo "${FAIRLOCK_TOKENS-unset}"'
	assert_output unset
}

@test "the locks are taken in the order of their bytes, and each once" {
	local order

	"$FAIRLOCK" wrap -v --also B --also é --also a --also a --also b a true 2>said
	order=$(sed -n 's/.*asking for lock \(.*\) as .*/\1/p' said | xargs)
	assert_equal "$order" 'B a b é'
}

@test "the locks that a wrap has are renewed while it waits for the next" {
	local before

	waits_under --also a -l 1s b true
	before=$(holder_column a token)
	wait_until renewed 4
	assert_equal "$(holder_column a token)" "$before"
	waiter_is_next
	assert_equal "$(holders)" ''
}

@test "-n gives back what it had when one of the locks is busy, and names that one" {
	hold b
	run -75 "$FAIRLOCK" wrap -n --also a --also b c true
	assert_output --partial 'fairlock: cannot get lock b: held by'
	assert_equal "$(holders)" b
	run -0 "$FAIRLOCK" wrap --skip --also a b true
	assert_output ''
}

@test "--wait bounds the sum, the message names the lock that was not obtained, and all are given back" {
	local from wrapper first

	hold -l 1h a
	first=$HOLDER
	hold -l 1h b
	background "$FAIRLOCK" wrap -w 3s --also a b true 2>said
	wrapper=$!
	from=$(ms)
	wait_until in_queue a 1
	sleep 2
	kill -TERM "$first"
	wait_until in_queue b 1
	ends_with 75 "$wrapper"
	from=$(($(ms) - from))
	[ "$from" -ge 2900 ] && [ "$from" -le 5500 ] || fail "$from ms"
	assert_regex "$(<said)" '^fairlock: cannot get lock b: timed out after 3s; held by sleep 600 '
	assert_equal "$(holders)" b
	in_queue b 0
}

@test "--max-queue is for NAME only, and --min-hold for all" {
	local waiter

	hold a
	background "$FAIRLOCK" wrap a true
	waiter=$!
	wait_until in_queue a 1
	run -75 "$FAIRLOCK" wrap --max-queue 1 --also b a true
	assert_output --partial 'cannot get lock a: the queue is full (1 waiting)'
	background "$FAIRLOCK" wrap --max-queue 1 --also a b true
	wait_until in_queue a 2
	kill -TERM "$HOLDER"
	ends_with 0 "$waiter"
	ends_with 0 $!
	"$FAIRLOCK" wrap --min-hold 10m --also d c true
	run -0 "$FAIRLOCK" status --raw --noheadings -o NAME,STATE c d
	assert_output $'c kept\nd kept'
}

@test "a signal while it waits gives all back; that counts as no start, and the start of COMMAND counts for each lock" {
	waits_under --also a b true
	run -75 "$FAIRLOCK" wrap -n --once-per 1d a true
	assert_output --partial 'cannot get lock a: held by'
	kill -TERM "$WAITER"
	ends_with 143 "$WAITER"
	in_queue b 0
	run -0 "$FAIRLOCK" wrap -n --once-per 1d a true
	kill -TERM "$HOLDER"
	wait_until is_free b
	"$FAIRLOCK" wrap --also c d true
	run -75 "$FAIRLOCK" wrap -n --once-per 1d c true
	assert_output --partial 'its command started'
	run -75 "$FAIRLOCK" wrap -n --once-per 1d d true
}

@test "inside it, each of the locks is gone into, alone or with others" {
	run -0 "$FAIRLOCK" wrap --also a --also c b \
		"$FAIRLOCK" wrap -n a "$FAIRLOCK" wrap -n c "$FAIRLOCK" wrap -n --also d --also b a "$FAIRLOCK" wrap -n d echo in
	assert_output in
	assert_equal "$(holders)" ''
}

@test "16 locks are the most" {
	local words=() i

	for i in {1..15}; do words+=(--also "l$i"); done
	run -0 "$FAIRLOCK" wrap "${words[@]}" job sh -c 'echo "$FAIRLOCK_TOKENS" | wc -l'
	assert_output 16
	run -64 "$FAIRLOCK" wrap "${words[@]}" --also l16 job true
	assert_line "fairlock: cannot use option '--also': 'l16' is one too many, 15 are the most"
}

@test "two spellings of a name are refused" {
	run -64 "$FAIRLOCK" wrap --also '{x}' x true
	assert_line 'fairlock: cannot take both lock x and lock {x}: they share keys'
	hold '{y}'
	run -64 "$FAIRLOCK" wrap --also y x true
	assert_line 'fairlock: cannot use this name: it shares keys with lock {y}, which is in use'
	assert_equal "$(holders)" '{y}'
}
