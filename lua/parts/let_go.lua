-- A hold ends, and the lock is passed on. For scripts that end one, behind pass_on.lua.

-- The COMMAND of this grant is not started after all.
local function forget_start()
	call('HDEL', STATE, 'started') -- first, for a server out of memory
	set_started(lock.before, nil, lock.recall)
end

-- The last of several holders' ends is earlier than it was: a Redisson waiter at the head sleeps until the
-- end that it saw.
local function tell_redisson()
	local head = call('LINDEX', QUEUE, 0)
	if head and not known(head) then
		tell(head, '0')
	end
end

-- Takes one of several holders out. Returns whether a lease of another goes on. If none does, the lock is
-- free, also when so many leases have ended that their ends were not all noticed.
local function leaves_others(owner)
	local last = call('ZREVRANGE', HOLDERS, 0, 1, 'WITHSCORES')
	call('ZREM', HOLDERS, owner) -- if the key goes with it, a slot that moves refuses it from now on
	local other = last[1] == owner and 3 or 1
	if not last[other] then
		return false
	elseif tonumber(last[other + 1]) > now then
		return true
	end
	notice_ends_of_some(MANY)
	return false
end

-- Ends the hold that the script is about. status, cause, state, actor: as for end_hold.
local function end_this(event, status, cause, state, actor)
	local owner, hold, mode = lock.owner, lock.hold, lock.mode
	local ends = not hold and now + math.max(0, ttl_of_hold())
	if mode ~= 'x' and leaves_others(owner) then
		if set_last_end() then
			tell_redisson()
		end
	else
		call('DEL', LOCK)
		if mode ~= 'x' then
			note('DEL', HOLDERS) -- it may have more ends than one script notices
			call('HDEL', STATE, 'holder')
		end
		lock.field, lock.mode, lock.slots, lock.ttl = nil, nil, nil, nil
	end
	if hold then
		end_hold(hold, event, now, status, cause, state, actor)
	elseif state then
		-- our hash was lost: the owner is not to take its hold up, whatever its token
		note('HSET', STATE, 'h:' .. owner, state .. ' 0 - ' .. int(ends) .. ' - - - - - - x , ')
		lock.has_marks = true
	end
	lock.owner, lock.count = nil, nil
	if not hold or hold.since == '-' then
		record(event, stamp, owner, nil, nil, nil, nil, status, cause, hold and match(hold.mode, '^=(.*)$'), actor)
	end
end

-- The same, and passes on what is free then.
local function let_go(event, status, cause, state)
	end_this(event, status, cause, state)
	pass_on()
end
