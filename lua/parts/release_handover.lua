-- The usual release when somebody waits: puts the first waiter into the holder's place, and tells it and the
-- second, if both are ours, like all who wait, and there. Else it changes nothing: the long way deals with
-- any queue, and mends it, in more calls. So it does on a cluster, where a waiter uses SSUBSCRIBE, and a
-- slot may be moving. A part of release.lua.

last_token, grants = tonumber(last_token or nil), tonumber(grants or nil)
local last_start = match(started or '', '^([%d-]+) [%d-]+ %-$')
if SHARDED and length > 0 and length == tonumber(ours) and scores == length and last_start and
	now >= (tonumber(back or 0) or MOST) and last_token and last_token < MOST and grants and grants < MOST then
	local ids = call('LRANGE', QUEUE, '0', length > 20 and '1' or '-1')
	local first, second, fields, listed = ids[1], ids[2] or ids[1], {}, {}
	local here = call('PUBSUB', 'NUMSUB', channel(first), channel(second))
	local in_order = here[2] > 0 and here[4] > 0 and first ~= id
	for i, other in ipairs(ids) do
		in_order = in_order and not listed[other]
		listed[other], fields[i] = true, 'w:' .. other
	end
	fields[#ids + 1] = 'newest'
	local records = call('HMGET', STATE, unpack(fields))
	for i = 1, #ids do
		in_order = in_order and records[i] and match(records[i], '^[wn]') -- waits, or new
	end
	local waiter = in_order and read_waiter(records[1])
	local lease = waiter and tonumber(waiter.lease) or 0
	if lease > 1 and lease < LONGEST_MS and waiter.secret ~= '-' and waiter.period == '-' and
		waiter.want == 'x' and now - waiter.seen < 15000 and
		-- of all that follows, only this is refused for want of memory
		type(pcall_server('HSET', LOCK, first, '1')) == 'number' then
		local ttl = math.min(5000, lease - 1)
		local newest, newest_since = match(records[#ids + 1] or '', '^(%S+) (%d+)$')
		local begun = newest == first and tonumber(newest_since) or math.floor(waiter.ticket / 1000)
		local waited = math.max(0, now - begun) -- as waited_by has it
		local unheard = waiter.state == 'new' and format('%.0f', waiter.ticket) or '-'
		local new_token = format('%.0f', math.max(now, last_token + 1))
		if waiter.kind == 'w' then
			started = stamp .. ' ' .. last_start .. ' -'
		end
		call('HDEL', LOCK, id)
		call('PEXPIRE', LOCK, ttl)
		call('LPOP', QUEUE)
		call('ZREM', TIMEOUTS, first)
		call('HDEL', STATE, 'h:' .. id, 'w:' .. first)
		call('HSET', STATE, 'token', new_token, 'holder', first, 'h:' .. first,
			new_hold(new_token, ttl, waiter.lease, waited, unheard, 'x', waiter.kind .. first, waiter.by),
			'n:granted', format('%.0f', grants + 1), 'ours', length - 1, 'started', started)
		call('PEXPIRE', STATE, lease + 86400000)
		log_event('released', stamp, id, hold.token, hold.by,
			hold.waited ~= '-' and hold.waited, held, status, cause)
		log_event('granted', stamp, first, new_token, waiter.by, waited)
		if second ~= first then
			call('PUBLISH', channel(second), 'first ' .. ttl)
		end
		call('PUBLISH', channel(first),
			'granted ' .. new_token .. ' ' .. ttl .. ' ' .. stamp .. ' ' .. waiter.secret)
		return {'released', 0}
	end
end
