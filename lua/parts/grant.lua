-- How a hold begins.

-- Says of a new hash what it is for, and when it was made: an older ticket or token was given by a server
-- that has lost its data since. If somebody has slots, until when they may have them: see free_slot.
local function introduce()
	if lock.is_new then
		local known_at = lock.mode == '=' and now + lock_ttl() or nil
		lock.is_new, lock.run, lock.lost = false, columns(3, nil, now), columns(3, 0, now, known_at)
		call('HSET', STATE, 'name', LOCK, 'v', VERSION, 'run', lock.run, 'lost', lock.lost)
		call('PEXPIRE', STATE, STATE_TTL_MS) -- also if this script changes nothing else
	end
end

local function forget_turn()
	if lock.turn ~= '' then
		lock.turn = ''
		call('HDEL', STATE, 'turn')
	end
end

local function set_ttl(hold, ttl)
	hold.ends = now + ttl
	if lock.mode == 'x' then
		call('PEXPIRE', LOCK, int(ttl))
		lock.ttl = ttl
	else
		call('ZADD', HOLDERS, int(hold.ends), hold.id)
		set_last_end()
	end
end

-- Writes a hold of this mode into key 1, and into the sorted set beside others. A count in its want is the
-- value of key 1 until the lock is free. run: call, or note, with which it returns false where the server
-- refuses that.
local function enter(run, mode, id, want)
	local kind, slots = string.sub(mode, 1, 1), lock.slots or count_of(want)
	local field = kind == 'x' and id or kind == 's' and 'fairlock:shared' or 'fairlock:slots'
	if mode ~= 'x' and lock.mode ~= kind and run('PTTL', HOLDERS) ~= -2 then
		run('DEL', HOLDERS) -- of holds that are over
	end
	if mode ~= 'x' and not run('ZADD', HOLDERS, stamp, id) or
		not run('HSET', LOCK, field, kind == '=' and (slots or 0) or '1') then
		return false
	end
	lock.field, lock.value, lock.mode, lock.slots, lock.ttl = field, '1', kind, slots, nil
	return true
end

-- Makes `id` a holder, for ttl ms at first, behind `enter`. entry: its first one in `holds`. period: of
-- --once-per or --once-ok, as acquire has it. Returns the hold.
local function take(id, mode, entry, lease, ttl, by, waited, period)
	introduce()
	lock.token, lock.grants, lock.holder = math.max(now, lock.token + 1), lock.grants + 1, lock.field
	local hold = {
		id = id, state = 'held', token = lock.token, since = now, lease = lease, waited = waited, mode = mode,
		holds = ',' .. entry .. ',', notes = '-', by = by, count = 1,
	}
	local slot = match(mode, '^=(.*)$')
	set_ttl(hold, ttl)
	if string.sub(entry, 1, 1) == 'w' then
		-- written down before it is started, so that no start is missed
		local last, recall = match(lock.start, '^(%S+) .* (%S+)$')
		lock.start = columns(4, now, lock.token, last, recall)
	end
	call('HSET', STATE, 'token', int(lock.token), 'holder', lock.field, 'h:' .. id, hold_text(hold),
		'n:granted', int(lock.grants), 'start', lock.start)
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	forget_turn()
	local newest, began, place = match(lock.newest, '^(%S+) (%d+) (%d+)$')
	if place and now - waited > place / 1000 then -- it was passed over: nobody takes over its place now
		lock.newest = columns(3, newest, began)
		call('HSET', STATE, 'newest', lock.newest)
	end
	if remember then -- else there is no period
		remember(period)
	end
	holds[id] = hold
	record('granted', now, id, lock.token, by, waited, nil, nil, nil, slot)
	return hold
end
