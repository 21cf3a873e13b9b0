#!/usr/bin/env bats
# Hostile entries in the log: no form of fairlock log fails or prints control characters.

load ../lib/helpers
load ../lib/history

# harmless: every form succeeds, and prints valid UTF-8 without control characters
harmless() {
	local form width

	for form in '' --raw --json --stats '--stats --json' --plot '--since 1h' '--plot --since 1000000d' \
		'--stats --since 1000000d'; do
		for width in 30 80 900; do
			# shellcheck disable=SC2086
			COLUMNS=$width run -0 timeout 20 "$FAIRLOCK" log $form job
			[[ $form != *json* ]] || jq -e . <<<"$output" >/dev/null || fail "$form: $output"
			! LC_ALL=C tr -d '\n' <<<"$output" | LC_ALL=C grep -q '[[:cntrl:]]' || fail "$form: $output"
			iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null || fail "$form: $output"
		done
	done
}

@test "every form of log bears texts that are huge, not UTF-8, or meant to drive a terminal" {
	huge=$(printf 'x%.0s' {1..100000})
	cli XADD $key '*' event granted by "h	1	u	$huge" owner "$huge" token "$huge" >/dev/null
	cli XADD $key '*' event "$huge" time "$huge" >/dev/null
	printf 'XADD %s * event "\\x1b[2J" by "\\x1b]0;x\\x07\\t\\x9b\\t\\xff\\xfe\\t\\r\\n\\x00 \\xe2\\x80\\xae x" token "\\x00"\n' \
		"$key" | cli >/dev/null
	printf 'XADD %s * event granted by "a\\tb\\tc\\t\\xc2\\x9b31m\\xc3" time 1795230000000\n' "$key" | cli >/dev/null
	harmless
}

@test "log refuses keys of other types with 78, and leaves them alone" {
	for key in 'fairlock_log:{job}' 'fairlock:{job}' 'redisson_lock_queue:{job}' job; do
		cli FLUSHALL >/dev/null
		cli SET "$key" precious >/dev/null
		case $key in
		fairlock_log*) forms=('' --stats --follow) ;;
		*) forms=(--stats --plot) ;;
		esac
		for form in "${forms[@]}"; do
			# shellcheck disable=SC2086
			run -78 timeout 20 "$FAIRLOCK" log $form job
		done
		assert_equal "$(cli GET "$key")" precious
	done
}
