-- The holders, looked at closely: how many may hold the lock, holds whose end nobody has noticed, and what
-- people are told about them.

-- ---- One hold ----

-- Whether a hold was taken by hand, and no process of ours looks after it.
local function is_by_hand(hold)
	return hold.state == 'held' and match(hold.holds, '^,h') ~= nil and not match(hold.holds, ',[^h]')
end

-- Takes one entry out of `holds`, and puts another one in its place if there is one.
local function replace_entry(hold, entry, other)
	local first, last = string.find(hold.holds, ',' .. entry .. ',', 1, true)
	hold.holds = string.sub(hold.holds, 1, first) .. (other and other .. ',' or '') ..
		string.sub(hold.holds, last + 1)
	save_hold(hold)
end

-- Writes how many holds this one consists of. Beside other holders only its record says that.
local function set_count(hold, count)
	hold.count = count
	if lock.mode == 'x' then
		call('HSET', LOCK, hold.id, count)
	end
end

-- What is left of the lease, ms; -1: the key has no time to live.
local function ttl_of(hold)
	if lock.mode == 'x' then
		return call('PTTL', LOCK)
	end
	return (end_of(call('ZSCORE', HOLDERS, hold.id)) or now) - now
end

-- Raises the lease of a hold, and never lowers it. Returns what is left of it, ms.
local function extend(hold, lease)
	local ttl = ttl_of(hold)
	if ttl < lease then
		set_ttl(hold, lease)
		ttl = lease
	end
	if hold.token then
		hold.ends = now + ttl
		if lease > math.max(hold.lease or MOST, hold.longest or 0) then
			hold.longest = lease
		end
		note('HSET', STATE, 'h:' .. hold.id, hold_text(hold))
	end
	return ttl
end

-- ---- Who fits ----
--
-- A mode of a hold is `x`, exclusive; `s`, shared; or =SLOT. A waiter wants x, s, one of the slots 1 to N
-- (`#N`), or the first free one of some slots (`=A,B,C`).

local function slots_of(want)
	local names = {}
	for i = 1, math.min(count_of(want) or 0, MANY) do
		names[i] = i .. ''
	end
	for name in string.gmatch(match(want, '^=(.*)$') or '', '[^,]+') do
		names[#names + 1] = #names < MANY and name or nil
	end
	return names
end

-- Whether our hash knows which slots all holders have. If somebody has deleted only our hash, it does not
-- until each holder has told its slot with its next renewal, or its lease has ended.
local function knows_slots()
	local until_ms = number(match(lock.lost, '^%S+ %S+ (%d+)$'))
	if lock.is_new or (until_ms or 0) <= now then
		return not lock.is_new
	end
	local ids, fields = call('ZRANGE', HOLDERS, 0, MANY - 1), {}
	for i, id in ipairs(ids) do
		fields[i] = 'h:' .. id
	end
	for i, text in ipairs(ids[1] and call('HMGET', STATE, unpack(fields)) or {}) do
		if not read_hold(ids[i], text) then
			return false
		end
	end
	return true
end

-- The first of these slots that is free, as a mode; or nil, and in how many ms the first lease of them ends.
local function free_slot(names)
	if not knows_slots() then
		local ends = end_of(call('ZRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]) or now
		return nil, math.max(1, ends - now)
	end
	local taken, soonest = {}, nil
	for first = 1, #names, CHUNK do
		local fields = {}
		for i = first, math.min(#names, first + CHUNK - 1) do
			fields[#fields + 1] = 's:' .. names[i]
		end
		for i, owner in ipairs(call('HMGET', STATE, unpack(fields))) do
			if not owner then
				return '=' .. names[first + i - 1]
			end
			taken[#taken + 1] = owner
		end
	end
	for i, score in ipairs(call('ZMSCORE', HOLDERS, unpack(taken))) do
		local ends = end_of(score) or 0
		if ends <= now then
			return '=' .. names[i] -- nobody has noticed the end
		end
		soonest = math.min(soonest or ends, ends)
	end
	return nil, soonest - now
end

-- Whether a hold with this want fits beside those that there are. Slots of different counts never fit beside
-- each other: each process relies on its own count. Returns its mode; or nil, and in how many ms it may fit
-- at the earliest (-1: nobody knows).
local function fit(want)
	if not lock.field or lock.mode == want and want == 's' then
		local name = want ~= 'x' and want ~= 's' and slots_of(want)[1]
		return name and '=' .. name or want == 's' and want or 'x'
	elseif lock.mode == '=' then
		local names, count = slots_of(want), count_of(want)
		if names[1] and (not (count and lock.slots) or count == lock.slots) then
			return free_slot(names)
		end
	end
	return nil, call('PTTL', LOCK)
end

-- ---- Ends that nobody has noticed ----

-- Somebody broke the hold with this token: neither it nor an older one is taken up after an earlier loss of
-- data.
local function forget_loss(token)
	local floor, rest = match(lock.lost, '^(%d+)( .*)$')
	if floor and token > tonumber(floor) then
		lock.lost = int(token) .. rest
		call('HSET', STATE, 'lost', lock.lost)
	end
end

-- Ends a hold of which the keys know nothing any more: by its lease, or somebody deleted the key.
local function end_unnoticed(hold)
	if (hold.ends or now) > now + CLOCK_SLACK_MS then
		forget_loss(hold.token)
		forget_hold(hold, 'forced', now)
	else
		expire(hold)
	end
end

-- The records of several holders; the caller knows that all of them are over. It may miss some: one script
-- looks through about a thousand fields.
local function holds_left()
	local left, cursor, pages = {}, '0', 0
	repeat
		local page = call('HSCAN', STATE, cursor, 'MATCH', 'h:*', 'COUNT', 200)
		cursor, pages = page[1], pages + 1
		for i = 1, #page[2], 2 do
			local hold = read_hold(string.sub(page[2][i], 3), page[2][i + 1])
			if hold and hold.mode ~= 'x' then
				left[#left + 1] = hold
			end
		end
	until cursor == '0' or pages == 5
	table.sort(left, function(one, other)
		return (one.ends or 0) < (other.ends or 0)
	end)
	return left
end

-- How long a hold may go on from now, whatever its keys say; nil: nobody knows. The server keeps the moment
-- when a lease ends: if its clock was ahead and was set right, the lease would go on for as long as the clock
-- was ahead.
local function most_left(hold)
	local back = math.max(0, (hold.since or now) - now) -- so far was the clock set back, as far as it shows
	if not hold.since then
		return nil
	elseif hold.state == 'kept' then
		return math.max(1, (hold.ends or MOST) - back - now)
	end
	return hold.lease and math.max(1, hold.lease, hold.longest or 0, (hold.keep or 0) - back - now)
end

local function is_too_long(hold, ttl)
	local most = most_left(hold)
	return most ~= nil and ttl > most + CLOCK_SLACK_MS
end

local function cut_lease(hold, ttl)
	if is_too_long(hold, ttl) then
		local most, back = most_left(hold), math.max(0, hold.since - now)
		hold.since, hold.keep = hold.since - back, hold.keep and math.max(0, hold.keep - back)
		set_ttl(hold, most)
		call('HSET', STATE, 'h:' .. hold.id, hold_text(hold))
		tell_redisson()
	end
end

-- Notices what happened since the last script: no script runs at the moment when a lease ends or somebody
-- deletes the key. Of several holders, so many as one script can look at. owner: of the caller, which must
-- not have two holds.
local ENDS_MOST = 20
local function notice_ends(owner)
	local mine = read_hold(owner, texts[owner])
	if lock.holder and lock.holder ~= lock.field then
		local before = MODES[lock.holder] and holds_left() or
			{read_hold(lock.holder, call('HGET', STATE, 'h:' .. lock.holder))}
		if MODES[lock.holder] and not MODES[lock.field] then
			note('DEL', HOLDERS)
		end
		call('HDEL', STATE, 'holder', 'h:' .. lock.holder)
		lock.holder = nil
		for _, hold in ipairs(before) do
			end_unnoticed(hold)
		end
	elseif MODES[lock.field] then
		expire_some(ENDS_MOST)
		if mine and holds[owner] == nil and not find_hold(owner) then
			note('ZREM', HOLDERS, owner)
			end_unnoticed(mine)
		end
	end
	if MODES[lock.field] and call('ZCARD', HOLDERS) == 0 then -- all leases end just now, or the key was deleted
		call('DEL', LOCK)
		call('HDEL', STATE, 'holder')
		set_free()
		for _, hold in ipairs(holds_left()) do
			end_unnoticed(hold)
		end
	end
	if lock.mode == 'x' and find_hold(lock.field).since then
		cut_lease(find_hold(lock.field), call('PTTL', LOCK))
	elseif MODES[lock.field] then -- leases of less than 30 s are over soon
		local found = call('ZRANGE', HOLDERS, '+inf', int(now + 30000), 'BYSCORE', 'REV', 'LIMIT', 0, ENDS_MOST,
			'WITHSCORES')
		for i = 1, #found, 2 do
			local hold = find_hold(found[i])
			if hold then
				cut_lease(hold, end_of(found[i + 1]) - now)
			end
		end
	end
end

-- ---- For people ----

-- The holder that people see first: the only one, or of several the one whose lease ends first; with `living`
-- one that has given its hold back only if the next ones have, too. Returns its hold, and when the first
-- lease ends (ms), or nil.
local function first_holder(living)
	if lock.mode ~= 'x' then
		local found = MODES[lock.field] and
			call('ZRANGE', HOLDERS, '(' .. stamp, '+inf', 'BYSCORE', 'LIMIT', 0, 20, 'WITHSCORES') or {}
		local first
		for i = 1, #found, 2 do
			local hold = find_hold(found[i])
			if hold and not (living and hold.state == 'kept') then
				return hold, end_of(found[2])
			end
			first = first or hold
		end
		return first, end_of(found[2])
	end
	local ttl = call('PTTL', LOCK)
	return find_hold(lock.field), ttl >= 0 and now + ttl or nil
end

-- The first holder, for people. Returns its owner id, its description, and for how many ms it has held the
-- lock; '', '' or -1 for what is unknown, and if the lock is free. Of a kept hold, which nobody holds: who
-- held it, and in place of the time a negative number, until when (ms since the epoch) it is kept. Then how
-- the lock is held: x, s, =, =N of N counted slots, or '' if it is free; the number of holders; in how many
-- ms the lease of the first ends, -1 if nobody knows; and '1' if the first holder took the lock by hand, else
-- '0'.
local function about()
	local hold, ends = first_holder(true)
	local held, holders = -1, lock.field and 1 or 0
	if hold and hold.state == 'kept' then
		held = -(hold.ends or 1)
	elseif hold and hold.since then
		held = math.max(0, now - hold.since)
	end
	if MODES[lock.field] then -- a hold whose lease has ended is none, though no script has noticed it
		holders = call('ZCARD', HOLDERS) - #call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE')
	end
	return hold and hold.id or '', hold and by_of(hold) or '', held, (lock.mode or '') .. (lock.slots or ''),
		holders, ends and ends - now or -1, hold and is_by_hand(hold) and '1' or '0'
end
