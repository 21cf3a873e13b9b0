-- For scripts that change something, beyond their usual case: our hash is introduced, the lock is taken, and
-- requests are told from late copies of them. Behind holds.lua.

local function set_started(last, before, recall)
	lock.started, lock.before, lock.recall = last, before, recall
	note('HSET', STATE, 'started', started_text(last, before, recall))
end

-- Says of a new hash which name it is for, in which version, and when it was made: a ticket or a token
-- from before that was given by a server that has lost its data since. run: call, or note.
local function introduce(run)
	if lock.is_new then
		lock.up, lock.lost, lock.floor = now, now, 0
		run('HSET', STATE, 'name', LOCK, 'v', VERSION)
		save_run(run)
		if lock.had_slots then
			run('HSET', STATE, 's:', int(now + call('PTTL', LOCK))) -- see knows_holders
		end
		lock.is_new = false
	end
end

-- Makes id an owner, for ttl ms at first; see `enter`, which came before.
-- entry: its first one in `holds`. unheard: a ticket that it may not have heard, as text, or `-`. period: as
-- in the record of a waiter. Returns the token, as text.
local function take(id, mode, entry, lease, ttl, by, waited, unheard, period)
	local slot = match(mode, '^=(.*)$')
	set_ttl(id, ttl)
	introduce(call)
	lock.token, lock.grants = math.max(now, (lock.token or 0) + 1), lock.grants + 1
	lock.owner, lock.count, lock.ours_saved = id, 1, lock.ours
	local token = int(lock.token)
	local record_of_hold = new_hold(token, ttl, lease, waited, unheard, mode, entry, by)
	lock.hold = read_hold(id, record_of_hold)
	if string.sub(entry, 1, 1) == 'w' then
		-- written down before it is started, so that no start is missed
		lock.started, lock.before = now, lock.started
	end
	local _, is_ok = read_period(period)
	if lock.once and not is_ok then
		call('HDEL', STATE, 'once')
	elseif is_ok and lock.grants == 1 then
		call('HSET', STATE, 'once', 'ok')
	end
	lock.once = is_ok and (lock.once or lock.grants == 1)
	call('HSET', STATE, 'token', token, 'holder', lock.field, 'h:' .. id, record_of_hold,
		'n:granted', lock.grants, 'ours', lock.ours,
		'started', started_text(lock.started, lock.before, lock.recall))
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	if lock.turn then
		call('HDEL', STATE, 'turn')
		lock.turn = nil
	end
	log_event('granted', stamp, id, token, by, waited, nil, nil, nil, slot)
	return token
end

-- A job with this period wants to find its last start, or the last success, in our hash. `status` shows for
-- another period when the last start was, but nobody looks for a success after it.
local function remember(period)
	local ms, is_ok = read_period(period)
	local recall = ms and (lock.started or now) + (is_ok and 1 or 2) * ms
	if recall and recall > (lock.recall or 0) then
		set_started(lock.started, lock.before, recall)
	end
end

-- Writes what is to be known of the caller's request. answer: see read_request; without one, the last stays.
local function mark_request(request, strays, answer)
	local before = lock.request
	lock.request = {
		made = now, strays = math.max(strays, before and before.strays or 0),
		answer = answer or before and before.answer or '-',
	}
	call('HDEL', STATE, 'r:' .. request) -- after it a server out of memory takes the next
	note('HSET', STATE, 'r:' .. request, request_text(lock.request))
	lock.has_marks = true
end

-- Whether this is a late copy of a request: a newer one of the same process said that it left more requests
-- under way.
local function is_late(request, strays)
	local newest = lock.request and lock.request.strays or 0
	if strays > newest then
		mark_request(request, strays)
		touch()
	end
	return strays < newest
end

-- Whether the log says that this owner, or waiter, has 'released' or 'left'.
local function has_ended(owner, event)
	for _, entry in ipairs(note('XREVRANGE', LOG, '+', '-', 'COUNT', LOG_LENGTH) or {}) do
		local fields = entry[2]
		if fields[2] == event and fields[6] == owner then
			return true
		end
	end
	return false
end

-- The owner was handed the lock and hangs: it has missed its turn. The waiter behind it was told when that
-- turn would end. If there is room for that waiter, its own turn began then. time: when that was, ms.
local has_missed = false
local function notice_missed_turn(time)
	local head = call('LINDEX', QUEUE, 0)
	has_missed = true
	if head and known(head) and fit(want_of(head)) then
		lock.turn, lock.turned = head, math.min(time, now)
		note('HSET', STATE, 'turn', head .. ' ' .. int(lock.turned))
	end
end

-- A hold is over, and no script of ours has seen its end.
local function end_unnoticed(hold, event, time)
	local is_missed = event == 'expired' and is_untaken(hold)
	end_hold(hold, event, time, nil, nil, event == 'forced' and 'gone' or event)
	if is_missed and (not lock.field or MODES[lock.field]) then
		notice_missed_turn(time)
	end
end

local ENDS_MOST = 20 -- so many ends of several holders are noticed by one script

-- With several holders: ends the holds whose leases have ended, so many at most.
local function notice_ends_of_some(most)
	for _, id in ipairs(call('ZRANGE', HOLDERS, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
		local hold = read_hold(id, call('HGET', STATE, 'h:' .. id))
		call('ZREM', HOLDERS, id)
		if hold then
			end_unnoticed(hold, hold.state == 'kept' and 'released' or 'expired', number(hold.ends) or now)
		end
	end
end

-- There were several holders, and our keys know none of them any more. What this script does not find is
-- forgotten later, without an event.
local function notice_ends_of_all()
	note('DEL', HOLDERS)
	for _, hold in ipairs(holds_left()) do
		end_unnoticed(hold, unnoticed_end(hold))
	end
	call('HDEL', STATE, 'holder')
end

-- The caller may have had one of so many holds that those above left it: it is over before the caller gets
-- another one.
local function notice_own_end()
	local mine = lock.mine
	if not mine or mine.mode == 'x' or mine.state ~= 'held' and mine.state ~= 'kept' or
		MODES[lock.field] and (end_of(call('ZSCORE', HOLDERS, mine.id)) or 0) > now then
		return
	end
	mine = read_hold(mine.id, call('HGET', STATE, 'h:' .. mine.id)) -- as it is by now
	if mine and (mine.state == 'held' or mine.state == 'kept') then
		note('ZREM', HOLDERS, mine.id)
		end_unnoticed(mine, unnoticed_end(mine))
	end
end

local function notice_end()
	if lock.turn and not fit(want_of(lock.turn)) then
		call('HDEL', STATE, 'turn') -- taken, or snatched away by a plain lock
		lock.turn = nil
	end
	if lock.hold and lock.hold.id ~= lock.owner then
		end_unnoticed(lock.hold, unnoticed_end(lock.hold))
	end
	if MODES[lock.field] then
		notice_ends_of_some(ENDS_MOST)
		if call('ZCARD', HOLDERS) == 0 then -- all leases end just now, or the key was deleted
			call('DEL', LOCK)
			lock.field, lock.mode, lock.slots = nil, nil, nil
			notice_ends_of_all()
		end
	elseif lock.were_many then
		notice_ends_of_all()
	end
	notice_own_end()
end

-- Whether the sorted set of several holders is at another node: in a cluster whose slot moves, the node that
-- gets the slot shows a key that has not come yet as empty. A caller that declares this key is refused there.
local function holders_are_elsewhere()
	return MODES[lock.field] and not KEYS[6] and call('ZCARD', HOLDERS) == 0 and
		match(call('INFO', 'cluster'), 'cluster_enabled:1')
end

-- The server keeps the moment when a lease ends. If its clock was ahead and was set right, the lease would go
-- on for as long as the clock was ahead. Redisson's waiter at the head sleeps until the end that it saw.
local function cut_lease(id, hold, ttl)
	if not is_too_long(hold, ttl) then
		return
	end
	local back, most, head = set_back_by(hold), most_left(hold), call('LINDEX', QUEUE, 0)
	set_ttl(id, most)
	hold.since, hold.ends = int(number(hold.since) - back), int(now + most)
	hold.keep = number(hold.keep) and int(math.max(0, number(hold.keep) - back)) or '-'
	call('HSET', STATE, 'h:' .. id, hold_text(hold))
	if head and not known(head) then
		publish(call, channel(head), '0')
	end
end

-- The same for the holder, or for several of them; leases of less than 30 s are over soon.
local function cut_leases()
	if lock.mode == 'x' and is_known() then
		cut_lease(lock.owner, lock.hold, call('PTTL', LOCK))
	elseif MODES[lock.field] then
		local found = call('ZRANGE', HOLDERS, '+inf', int(now + OUR_SCORE_MS), 'BYSCORE', 'REV', 'LIMIT', 0,
			ENDS_MOST, 'WITHSCORES')
		for i = 1, #found, 2 do
			local id = found[i]
			local hold = lock.hold and lock.hold.id == id and lock.hold or
				read_hold(id, call('HGET', STATE, 'h:' .. id))
			cut_lease(id, hold, end_of(found[i + 1]) - now)
		end
	end
end

-- Each script that changes something begins so. late: what it answers to a late copy. Returns the answer of a
-- script that may change nothing.
local function begin(id, request, strays, late)
	read_lock(id, request)
	if lock.refusal then
		return lock.refusal
	elseif holders_are_elsewhere() then
		return redis.error_reply('TRYAGAIN the holders of this lock are at another node')
	elseif is_late(request, strays) then
		return {late}
	end
	notice_end()
	cut_leases()
end

-- Raises the time to live of the held lock to the lease, and never lowers it. Returns it, ms.
local function extend(lease)
	local ttl = ttl_of_hold()
	if ttl < lease then
		set_ttl(lock.owner, lease)
		ttl = lease
	end
	if lock.hold then
		lock.hold.ends = int(now + ttl)
		if lease > (longest_lease(lock.hold) or MOST) then
			lock.hold.longest = '/' .. int(lease)
		end
		note('HSET', STATE, 'h:' .. lock.owner, hold_text(lock.hold))
	elseif lock.had_slots and not lock.is_new then
		note('HSET', STATE, 's:', int(now + call('PTTL', LOCK))) -- see knows_holders
	end
	return ttl
end
