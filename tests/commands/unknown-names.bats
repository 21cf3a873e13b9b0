# A NAME that the server does not know: fairlock says so, proposes the nearest lock, and writes nothing.

load ../lib/one_server

unknown='fairlock: no lock depoly is known'

# says_unknown STATUS MESSAGE WORD...: fairlock WORD... ends with STATUS, prints this on standard error, and
# changes nothing on the server
says_unknown() {
	local before

	before=$(cli --raw KEYS '*' | sort)
	run "-$1" --separate-stderr "$FAIRLOCK" "${@:3}"
	assert_equal "$stderr" "$2"
	assert_equal "$(cli --raw KEYS '*' | sort)" "$before"
}

@test "status, queue, log and release of an unknown lock say so, show what they show of a free one, and write nothing" {
	local status words shown

	while IFS='|' read -r status words shown; do
		says_unknown "$status" "$([ "$status" = 1 ] || echo "$unknown")" $words depoly
		[[ $words = *--json* ]] && assert_equal "$(jq -c . <<<"$output")" "$shown" || assert_output "$shown"
	done <<-'END'
		0|release --force|
		0|release --stop|
		0|release --forget-run|
		0|release --force --slot 1|
		0|release --force -q|
		0|release --stop --owner 00000000-0000-4000-8000-000000000000:1|
		0|release --stop --wait 0|
		0|status --raw --noheadings -o NAME,STATE|depoly free
		0|status --json -o STATE|{"locks":[{"state":"free"}]}
		0|queue --json|{"queue":[]}
		0|log --json|{"log":[]}
		0|log --since 1h|
		1|status -q|
	END
	says_unknown 0 "$unknown" status --prometheus depoly
	says_unknown 0 "$unknown" log --stats depoly
	says_unknown 76 "$unknown
fairlock: cannot release lock depoly: no holder has this token; see status -o +TOKEN" release --force --token 1 depoly
}

@test "the message about an unknown lock proposes the lock with the nearest name, and none that is not near" {
	local words

	"$FAIRLOCK" wrap deploy true
	"$FAIRLOCK" wrap backup true
	for words in 'release --force' 'release --stop' 'release --forget-run' status queue log; do
		says_unknown 0 "$unknown, did you mean deploy?" $words depoly
	done
	says_unknown 0 'fairlock: no lock nightly is known' status nightly
	says_unknown 0 "$unknown, did you mean deploy?
fairlock: no lock Backup is known, did you mean backup?" status depoly deploy Backup
}

@test "a lock with any key, of fairlock or Redisson, is known, also when it is free" {
	local key

	for key in 'HSET depoly 1:1 1' 'RPUSH redisson_lock_queue:{depoly} 1:1' 'ZADD redisson_lock_timeout:{depoly} 9999999999999 1:1' \
		'HSET fairlock:{depoly} v 1' 'XADD fairlock_log:{depoly} 1-1 event granted' 'ZADD fairlock_holders:{depoly} 1 1:1' \
		'ZADD fairlock_queue:{depoly} 1 1:1'; do
		cli FLUSHALL >/dev/null
		cli $key >/dev/null
		run --separate-stderr "$FAIRLOCK" status -o STATE depoly
		refute [ "$stderr" = "$unknown" ]
	done
	cli FLUSHALL >/dev/null
	"$FAIRLOCK" wrap depoly true
	run -0 "$FAIRLOCK" release --force depoly
	assert_output 'lock depoly was free'
	run -0 "$FAIRLOCK" queue depoly
	refute_output
}
