-- --supersede: the newest of the waiters that ask so takes over the place of the one before. A part of
-- acquire.lua, behind queue_order.lua.

-- Notes that the caller asked last. since: when it began to wait, ms; one that is the newest already keeps
-- that.
local function become_newest(since)
	if lock.newest ~= id then
		lock.newest, lock.newest_since = id, since
		call('HSET', STATE, 'newest', id .. ' ' .. int(since))
	end
end

-- Returns the description of the newest process, or '' if our hash does not have it.
local function newest_by()
	local waiter, hold = unpack(call('HMGET', STATE, 'w:' .. lock.newest, 'h:' .. lock.newest))
	local record_of_newest = read_waiter(waiter) or read_hold(lock.newest, hold)
	return record_of_newest and record_of_newest.by or ''
end

-- For a newcomer: the newest waiter seemed dead, and was taken out. It has its ticket, and goes to its place
-- by that. Returns whether there is such a ticket.
local function supersede_dropped(old)
	local waiter = read_waiter(call('HGET', STATE, 'w:' .. old) or '')
	if not waiter or waiter.state ~= 'dropped' then
		return false
	end
	ticket = waiter.ticket
	become_newest(now)
	note('HSET', STATE, 'w:' .. old, note_to_waiter('superseded', ticket, by))
	lock.has_marks = true
	return true
end

-- For a newcomer: puts it before the newest waiter in the queue, gives it the ticket of that one, and takes
-- that one out. A slot of a cluster that moves refuses keys that were empty in between, so that comes last.
-- Returns whether there was such a waiter.
local function supersede()
	local old, index = lock.newest, nil
	local waiter = old and old ~= id and known(old)
	if not waiter then
		return old and old ~= id and supersede_dropped(old)
	end
	check_run(true)
	if call('ZSCORE', TIMEOUTS, id) then
		drop(id) -- a place that nobody knows of
	end
	if call('LINSERT', QUEUE, 'BEFORE', old, id) > 0 then
		index = 1
		count_queue(1, call('ZADD', TIMEOUTS, now, id))
	end
	local waited = waited_by(old, waiter)
	ticket = waiter.ticket
	become_newest(now)
	drop(old, index)
	note('HSET', STATE, 'w:' .. old, note_to_waiter('superseded', ticket, by))
	lock.has_marks = true
	record('superseded', stamp, old, nil, waiter.by, waited, nil, nil, nil, nil, by)
	tell(old, '0') -- it asks, and is answered so
	return true
end
