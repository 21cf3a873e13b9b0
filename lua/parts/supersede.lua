-- --supersede: the newest of the waiters that ask so takes over the place of the one before. A part of
-- acquire.lua, behind queue_order.lua.

-- Since when the caller waits, ms. Its ticket may be that of another one.
local function waits_from()
	if newest > 0 then
		return newest < MOST and newest or now
	end
	return math.max(0, now + newest)
end

-- Notes that the caller is the newest; one that is it already keeps its time.
local function become_newest()
	if lock.newest ~= id then
		lock.newest, lock.newest_since = id, waits_from()
		call('HSET', STATE, 'newest', id .. ' ' .. int(lock.newest_since))
	end
end

-- Whether the caller began to wait later than the newest, or at the same time, and our hash does not know it:
-- data were lost. The newest was back first, or the hash is a copy from before the caller came.
local function is_newest_again()
	return newest and ticket and lock.newest and lock.newest ~= id and not lock.waiter and not lock.mine and
		newest + CLOCK_SLACK_MS >= lock.newest_since
end

-- Whether a newer one has come since. A caller with a ticket or a lost hold was here before the newest, but
-- for the case above. Any other caller comes for the first time: it is older if it has been asking for longer
-- than the newest has waited. If the newest began in the future, the clock was set back, and nobody knows
-- which is older. The caller counts as newer then, and if both began at the same time.
local function is_outdated()
	if not (newest and lock.newest) or lock.newest == id then
		return false
	elseif ticket or lock.mine then
		return not is_newest_again()
	end
	return waits_from() + CLOCK_SLACK_MS < lock.newest_since and lock.newest_since <= now
end

-- Returns the description of the newest process, or '' if our hash does not have it.
local function newest_by()
	local waiter, hold = unpack(call('HMGET', STATE, 'w:' .. lock.newest, 'h:' .. lock.newest))
	local record_of_newest = read_waiter(waiter) or read_hold(lock.newest, hold)
	return record_of_newest and record_of_newest.by or ''
end

-- For the caller: the newest waiter seemed dead, and was taken out. It has its ticket, and goes to its place
-- by that. Returns whether there is such a ticket.
local function supersede_dropped(old)
	local waiter = read_waiter(call('HGET', STATE, 'w:' .. old) or '')
	if not waiter or waiter.state ~= 'dropped' then
		return false
	end
	become_newest()
	ticket = waiter.ticket
	note('HSET', STATE, 'w:' .. old, note_to_waiter('superseded', ticket, by))
	lock.has_marks = true
	return true
end

-- For a newcomer, and one that is the newest again: puts it before the newest waiter in the queue, gives it
-- the ticket of that one, and takes that one out. A slot of a cluster that moves refuses keys that were empty
-- in between, so that comes last. Returns whether there was such a waiter.
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
	become_newest()
	ticket = waiter.ticket
	drop(old, index)
	note('HSET', STATE, 'w:' .. old, note_to_waiter('superseded', ticket, by))
	lock.has_marks = true
	record('superseded', stamp, old, nil, waiter.by, waited, nil, nil, nil, nil, by)
	tell(old, '0') -- it asks, and is answered so
	return true
end
