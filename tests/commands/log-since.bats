#!/usr/bin/env bats
# fairlock log --since: the times and durations that it takes, and those that it refuses.

load ../lib/helpers
load ../lib/history

# since TIME: prints the times of the events since then
since() {
	"$FAIRLOCK" log --since "$1" --raw --noheadings -o TIME job | sed 's/.*T\(.*\):00.000Z/\1/' | paste -sd ' '
}

@test "log --since takes a day, a time of a day, seconds since the epoch, and a time of another zone" {
	export TZ=Asia/Tokyo # nine hours ahead of UTC
	entries <<-END
		0 granted - - - -
		60 granted - - - -
		120 granted - - - -
		180 granted - - - -
	END
	assert_equal "$(since 2026-11-21)" '03:00 03:01 03:02 03:03'
	assert_equal "$(since 2026-11-22)" ''
	assert_equal "$(since '2026-11-21 12:01')" '03:01 03:02 03:03'
	assert_equal "$(since '2026-11-21 12:01:00.001')" '03:02 03:03'
	assert_equal "$(since 2026-11-21T12:02:00)" '03:02 03:03'
	assert_equal "$(since 2026-11-21T03:03:00Z)" '03:03'
	assert_equal "$(since '2026-11-21 04:03:00+01:00')" '03:03'
	assert_equal "$(since '2026-11-20 22:03:00-0500')" '03:03'
	assert_equal "$(since "@$((base + 120))")" '03:02 03:03'
	assert_equal "$(since "@$((base + 120)).5")" '03:03'
}

@test "log --since knows yesterday and today, which begin at midnight, and times of them" {
	local midnight

	midnight=$(date -d 'today 0:00' +%s)
	for second in -86401 -86400 -1 0 1; do
		cli XADD "$key" "$((midnight + second))000-*" event granted time "$((midnight + second))000" token "$((second + 90000))" >/dev/null
	done
	tokens() {
		"$FAIRLOCK" log --since "$1" --raw --noheadings -o TOKEN job | paste -sd ' '
	}
	assert_equal "$(tokens yesterday)" '3600 89999 90000 90001'
	assert_equal "$(tokens today)" '90000 90001'
	assert_equal "$(tokens 00:00)" '90000 90001'
	assert_equal "$(tokens 'yesterday 00:00:01')" '89999 90000 90001'
	assert_equal "$(tokens now)" ''
}

# refuses_since TEXT CAUSE
refuses_since() {
	run -64 "$FAIRLOCK" log --since="$1" job
	assert_line --index 0 "fairlock: cannot use --since '$1': $2"
	assert_line --index 1 "Try 'fairlock log --help'."
}

@test "log --since refuses other words with an example of each form" {
	for text in foo '2026-11-23 03' 03:00Z yesterdayy '@' '@1x' -1 ' 03:00' 2026-11-23T 2026-2-3 3:0 003:00 12:345 \
		'yesterday T03:00' 99999-01-01; do
		refuses_since "$text" "write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS"
	done
}

@test "log --since cuts a long text in its message, and refuses the future" {
	run -64 "$FAIRLOCK" log --since="$(printf 'x%.0s' {1..500})" job
	[ "${#lines[0]}" -lt 160 ]
	run -64 "$FAIRLOCK" log --since 2126-11-23 job
	assert_line --index 0 "fairlock: cannot use --since '2126-11-23': it is in the future"
}

@test "log --since shows only events that have happened since then, whenever they were written" {
	ago 7200 granted
	ago 3000 released
	ago 7000 expired 100
	ago 10 granted 0
	run -0 "$FAIRLOCK" log --raw --noheadings -o EVENT job
	assert_output $'granted\nreleased\nexpired\ngranted'
	run -0 "$FAIRLOCK" log --since 1h --raw --noheadings -o EVENT job
	assert_output $'released\ngranted'
	run -0 "$FAIRLOCK" log --since 5 job
	refute_output
	run -0 "$FAIRLOCK" log --since 0 job
	refute_output
	run -0 "$FAIRLOCK" log --since 100000d --raw --noheadings -o EVENT job
	assert_equal "${#lines[@]}" 4
	run -0 "$FAIRLOCK" log --since 1h --json --stats job
	assert_equal "$(jq -c '.stats|[.granted, .released, .expired]' <<<"$output")" '[1,1,0]'
}
