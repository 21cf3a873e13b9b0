-- How a hold begins.

-- Says of a new hash which name it is for, in which version, and when it was made: a ticket or a token from
-- before that was given by a server that has lost its data since. If somebody has slots, until when they may
-- have them: see free_slot.
local function introduce()
	if lock.is_new then
		local known_at = lock.mode == '=' and int(now + lock_ttl()) or '-'
		lock.is_new, lock.run, lock.lost = false, '- ' .. stamp .. ' -', '0 ' .. stamp .. ' ' .. known_at
		call('HSET', STATE, 'name', LOCK, 'v', VERSION, 'run', lock.run, 'lost', lock.lost)
		call('PEXPIRE', STATE, STATE_TTL_MS) -- also if this script changes nothing else
	end
end

-- The field of key 1 for a hold.
local function field_of(mode, id)
	return mode == 'x' and id or mode == 's' and 'fairlock:shared' or 'fairlock:slots'
end

-- Gives the lease of a hold this time to live, ms. Returns whether several holders all end earlier than they
-- did.
local function set_ttl(hold, ttl)
	hold.ends = now + ttl
	if lock.mode == 'x' then
		call('PEXPIRE', LOCK, int(ttl))
		lock.ttl = ttl
		return false
	end
	call('ZADD', HOLDERS, int(now + ttl), hold.id)
	return set_last_end()
end

-- Writes a hold of this mode into key 1, and into the sorted set beside others. want: what the holder asked
-- for; a count in it is the value of key 1 until the lock is free. run: call, or note, with which it returns
-- false where the server refuses that.
local function enter(run, mode, id, want)
	local field, slots = field_of(mode, id), lock.slots or count_of(want)
	if mode ~= 'x' and lock.mode ~= string.sub(mode, 1, 1) and run('PTTL', HOLDERS) ~= -2 then
		run('DEL', HOLDERS) -- of holds that are over
	end
	if mode ~= 'x' and not run('ZADD', HOLDERS, stamp, id) or
		not run('HSET', LOCK, field, match(mode, '^=') and (slots or 0) or '1') then
		return false
	end
	lock.field, lock.value, lock.mode, lock.slots, lock.ttl = field, '1', string.sub(mode, 1, 1), slots, nil
	return true
end

-- A period. Returns its ms, and whether it is that of --once-ok; nil: there is none.
local function read_period(text)
	local ok, ms = match(text, '^(o?k?)(%d+)$')
	return number(ms), ok == 'ok'
end

-- A job with this period wants to find its last start, or the last success, in our hash. `status` shows for
-- another period when the last start was, but nobody looks for a success after it. Returns whether that is
-- news.
local function remember(period)
	local ms, is_ok = read_period(period)
	local recall = ms and (lock.runs.last or now) + (is_ok and 1 or 2) * ms or 0
	if recall > (lock.runs.recall or 0) then
		lock.runs.recall = recall
		return true
	end
end

-- Makes `id` a holder, for ttl ms at first, behind `enter`. entry: its first one in `holds`. period: of
-- --once-per or --once-ok, as acquire has it. Returns the hold.
local function take(id, mode, entry, lease, ttl, by, waited, period)
	introduce()
	lock.token, lock.grants, lock.holder = math.max(now, lock.token + 1), lock.grants + 1, lock.field
	local hold, runs = {
		id = id, state = 'held', token = lock.token, since = now, lease = lease, waited = waited, mode = mode,
		holds = ',' .. entry .. ',', notes = '-', by = by, count = 1,
	}, lock.runs
	local slot = match(mode, '^=(.*)$')
	set_ttl(hold, ttl)
	if string.sub(entry, 1, 1) == 'w' then
		-- written down before it is started, so that no start is missed
		runs.last, runs.whose, runs.before = now, lock.token, runs.last
	end
	runs.once = match(period, '^ok') and (runs.once == 'ok' or lock.grants == 1) and 'ok' or '-'
	remember(period)
	call('HSET', STATE, 'token', int(lock.token), 'holder', lock.field, 'h:' .. id, hold_text(hold),
		'n:granted', int(lock.grants), 'runs', runs_text(runs))
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	if lock.turn ~= '' then
		call('HDEL', STATE, 'turn')
		lock.turn = ''
	end
	holds[id] = hold
	record('granted', now, id, lock.token, by, waited, nil, nil, nil, slot)
	return hold
end
