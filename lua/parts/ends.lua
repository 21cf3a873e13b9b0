-- How a hold ends.

-- Redisson's waiter at the head sleeps until the end of the lock that it saw when it asked.
local function tell_redisson()
	local head = call('LINDEX', LIST, 0)
	if head and not match(head, '^fairlock:%d+$') then
		publish(channel(head), '0')
	end
end

-- Tells all who have asked for the end of this hold to look again.
local function tell_askers(hold)
	for request in string.gmatch(hold.notes ~= '-' and hold.notes or '', '[^,]+') do
		publish(channel(request), '0')
	end
end

-- Takes a hold that is over out of our hash, tells those who have asked it to stop, and logs the end. status,
-- cause: how COMMAND ended, if the caller knows. actor: the description of another process that did this.
local function forget_hold(hold, event, time, status, cause, actor)
	local slot = match(hold.mode, '^=(.+)$')
	holds[hold.id] = false
	call('HDEL', STATE, 'h:' .. hold.id, hold.mode == 'x' and 'holder' or '-')
	if slot and call('HGET', STATE, 's:' .. slot) == hold.id then
		call('HDEL', STATE, 's:' .. slot) -- else another has it by now
	end
	if hold.state == 'kept' then
		status, cause = match(hold.notes, '^(%d*):(.*)$')
		cause = string.gsub(cause or '', '_', ' ')
	else
		tell_askers(hold)
	end
	record(event, time, hold.id, hold.token, by_of(hold), hold.waited,
		hold.since and math.max(0, time - hold.since), status, cause, slot, actor)
end

local function set_free()
	lock.field, lock.value, lock.mode, lock.slots, lock.holder = nil, nil, nil, nil, nil
end

-- Since when the lock is free again that a waiter was handed, and did not renew: it hangs. Nil: there was
-- none.
local missed_at

-- The lease of this hold has ended. One that has not renewed since it was handed the lock hangs.
local function expire(hold)
	local ends = math.min(hold.ends or now, now)
	if hold.state == 'held' and hold.since and hold.ends and hold.ends - hold.since < (hold.lease or 0) then
		missed_at = ends
	end
	forget_hold(hold, hold.state == 'kept' and 'released' or 'expired', ends)
end

-- Of several holders, ends those whose leases have ended, so many at most.
local function expire_some(most)
	for _, id in ipairs(call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, most)) do
		local hold = read_hold(id, call('HGET', STATE, 'h:' .. id))
		call('ZREM', HOLDERS, id)
		if hold then
			expire(hold)
		end
	end
end

-- Ends a hold; the lock is free with the last one. The arguments are as for forget_hold.
local function end_hold(hold, event, status, cause, actor)
	if lock.mode == 'x' then
		call('DEL', LOCK)
		set_free()
	else
		-- read before the key may go: a slot of a cluster that moves refuses it from then on
		local last = call('ZREVRANGE', HOLDERS, 0, 1, 'WITHSCORES')
		local other = end_of(last[last[1] == hold.id and 4 or 2]) or 0
		call('ZREM', HOLDERS, hold.id)
		if other <= now then
			expire_some(MANY)
			call('DEL', LOCK)
			note('DEL', HOLDERS)
			call('HDEL', STATE, 'holder')
			set_free()
		elseif set_last_end() then
			tell_redisson()
		end
	end
	forget_hold(hold, event, now, status, cause, actor)
end

-- COMMAND ended with 0. After a loss of data, the token says when the hold began.
local function note_success(hold)
	local started, runs = math.min(hold.since or now, hold.token or now, now), lock.runs
	if hold.mode ~= 'x' and (runs.ok_started or MOST) <= now then
		started = math.max(started, runs.ok_started) -- one that was started later may have ended sooner
	end
	runs.ok_started, runs.ok_ended = started, now
	note('HSET', STATE, 'runs', runs_text(runs))
end
