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

# handed ID TTL [SECRET]: the last message to ID granted the lock, and ID holds it
handed() {
	local said token ttl at secret

	read -r said token ttl at secret < <(heard "$1" | tail -n 1)
	assert_equal "$said $token $ttl $secret" "granted $(field token) $2 ${3-1}"
	between $(($(now_ms) - $(passed))) "$at" "$(now_ms)"
	assert_equal "$(owner) $(holds)" "$1 1"
}
