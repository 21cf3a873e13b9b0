# Waiters that accept a handover: `load helpers`, `load scripts`, then `load handover`.

# queue_for_handover ID...: they wait, and accept a handover with the secret 1
queue_for_handover() {
	local id

	present "$@"
	for id; do
		acquire "$id" handed=1
		answered queued
	done
}

# handed ID TTL [SECRET]: the last message to ID granted it the lock, or a hold beside others. Sets its token.
handed() {
	local said ttl at secret

	read -r said "token[$1]" ttl at secret _ < <(heard "$1" | tail -n 1)
	assert_equal "$said $ttl $at $secret" "granted $2 $(now_ms) ${3-1}"
	[[ " $(owner) $(holders) " = *" $1 "* ]] || fail "$1 does not hold: $(owner) $(holders)"
}
