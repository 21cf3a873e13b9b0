-- The usual release when somebody waits: puts the first waiter into the holder's place, and tells it and the
-- second, if both are ours, like all who wait, and there. Else it changes nothing: queue_head.lua deals with
-- any queue, and mends it, in more calls. So it does on a cluster, where a waiter uses SSUBSCRIBE, and a
-- slot may be moving. This is a part of release.lua, and no function: that would have to get hold of twenty
-- names first.

if SHARDED and state.length == state.ours and state.scores == state.ours and now >= state.back then
	local ids = call('LRANGE', QUEUE, '0', state.length > SHORT_QUEUE and '1' or '-1')
	local first, second, fields, listed = ids[1], ids[2] or ids[1], {}, {}
	local here = call('PUBSUB', 'NUMSUB', channel(first), channel(second))
	local in_order = here[2] > 0 and here[4] > 0 and first ~= id
	for i, other in ipairs(ids) do
		in_order = in_order and not listed[other]
		listed[other], fields[i] = true, 't:' .. other
	end
	local entries = call('HMGET', STATE, 'd:' .. first, unpack(fields))
	for i = 1, #ids do
		in_order = in_order and entries[i + 1]
	end
	local ticket, seen, lease, secret, unheard = string.match(entries[2] or '', WAITER)
	ticket, seen, lease = number(ticket), number(seen), number(lease)
	-- of all that follows, only the HSET is refused for want of memory
	if in_order and lease and secret ~= '' and now - seen < SILENT_MS and note('HSET', LOCK, first, '1') then
		call('HDEL', LOCK, id)
		tell_keeper()
		end_hold('released', now, status, cause)
		call('LPOP', QUEUE)
		call('ZREM', TIMEOUTS, first)
		call('HDEL', STATE, 't:' .. first, 'd:' .. first)
		state.ours, state.unsaved_ours = state.ours - 1, true
		local ttl, waited = math.min(TURN_MS, lease - 1), math.max(0, now - math.floor(ticket / 1000))
		local new_token = take(first, 'w' .. first, lease, ttl, entries[1] or '', waited,
			unheard == 'unheard' and ticket)
		touch()
		if second ~= first then
			call('PUBLISH', channel(second), 'first ' .. ttl)
		end
		call('PUBLISH', channel(first), 'granted ' .. new_token .. ' ' .. ttl .. ' ' .. stamp .. ' ' .. secret)
		return {'released', 0}
	end
end
