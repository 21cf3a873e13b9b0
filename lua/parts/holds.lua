-- The holders.

-- When a lease ends (ms), by its score among the holders; nil if there is none.
local function end_of(score)
	score = tonumber(score or nil)
	return score and math.max(0, math.min(math.floor(score), now + LONGEST_MS))
end

local function has_entry(hold, entry)
	return string.find(hold.holds, ',' .. entry .. ',', 1, true) ~= nil
end

local function entry_of(hold, request)
	local at = string.find(hold.holds, request .. ',', 1, true)
	local entry = at and string.sub(hold.holds, at - 1, at - 1) .. request
	return entry and has_entry(hold, entry) and entry or nil
end

local function count_entries(hold)
	return select(2, string.gsub(hold.holds, ',', '')) - 1
end

-- The owners that hold, each followed by when its lease ends, ms; the first that ends first. Of an exclusive
-- one nobody may know the end. from: '-inf' for those, too, whose end nobody has noticed.
local function owners(most, from)
	if MODES[lock.field] then
		return call('ZRANGE', HOLDERS, from or '(' .. stamp, '+inf', 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
	end
	return {lock.field, lock.field and lock_ttl() >= 0 and now + math.max(1, lock_ttl()) or nil}
end

-- The hold of this owner, or nil if it holds nothing now. Of one without a record only the mode is known, and
-- `count`: how many holds there are in this one.
local function find_hold(owner)
	if holds[owner] ~= nil then
		return holds[owner] or nil
	end
	local ends = lock.mode and lock.mode ~= 'x' and end_of(call('ZSCORE', HOLDERS, owner))
	holds[owner] = false
	if lock.field ~= owner and (ends or 0) <= now then
		return nil
	end
	local hold = read_hold(owner, owner == id and (my_text or '') or call('HGET', STATE, 'h:' .. owner))
	if hold and (string.sub(hold.mode, 1, 1) ~= lock.mode or lock.mode == 'x' and lock.holder ~= owner) then
		hold = nil -- that of an earlier hold
	end
	hold = hold or {id = owner, state = 'held', mode = lock.mode, holds = ',', notes = '-', by = ''}
	hold.count = lock.mode == 'x' and number(lock.value) or count_entries(hold)
	if lock.mode ~= 'x' and not hold.since and not entry_of(hold, owner) then
		hold.count = hold.count + 1 -- the one that our hash forgot
	end
	hold.count = math.max(1, hold.count)
	holds[owner] = hold
	return hold
end

local function save_hold(hold)
	call('HSET', STATE, 'holder', lock.field, 'h:' .. hold.id, hold_text(hold))
end

-- Taken by hand, and no process of ours looks after it.
local function is_by_hand(hold)
	return hold.state == 'held' and match(hold.holds, '^,h') ~= nil and not match(hold.holds, ',[^h]')
end

-- What is left of the lease, ms; -1: the key has no time to live.
local function ttl_of(hold)
	if lock.mode == 'x' then
		return lock_ttl()
	end
	return (end_of(call('ZSCORE', HOLDERS, hold.id)) or now) - now
end

-- Gives a hold this count, and puts `other`, if there is one, in the place of one entry in `holds`.
local function change_entries(hold, count, entry, other)
	local first, last = string.find(hold.holds, ',' .. entry .. ',', 1, true)
	hold.count = count
	if first then
		hold.holds = string.sub(hold.holds, 1, first) .. (other and other .. ',' or '') ..
			string.sub(hold.holds, last + 1)
		save_hold(hold) -- the first to be refused by a server out of memory
	end
	if lock.mode == 'x' then
		call('HSET', LOCK, hold.id, count) -- beside other holders only the record says that
	end
end

-- Raises the lease of a hold, and never lowers it. Returns what is left of it, ms.
local function extend(hold, lease)
	local ttl = ttl_of(hold)
	if ttl < lease then
		set_ttl(hold, lease)
		ttl = lease
	end
	if hold.token then
		hold.ends, hold.longest = now + ttl, math.max(lease, hold.longest or 0)
		note('HSET', STATE, 'h:' .. hold.id, hold_text(hold))
	end
	return ttl
end

-- If the server's clock was ahead and was set right, a lease would go on for as long as it was ahead. Returns
-- how long this hold may go on from now, if what is left of its lease (ttl) is more than that.
local function too_long(hold, ttl)
	local keep = hold.keep and hold.since and hold.keep - hold.since or 0
	local most = math.max(1, keep, hold.state == 'held' and math.max(hold.lease or MOST, hold.longest or 0) or 0)
	return hold.since and ttl > most + CLOCK_SLACK_MS and most
end

-- ---- Who fits: ../README.md has the modes and wants ----

-- The first of these slots that is free, as a mode; or nil, and in how many ms the first lease of them
-- ends. Our hash, if somebody deleted it, must know again which slots all holders have, or their leases
-- must have ended.
local function free_slot(want)
	local _, _, known_at = numbers(lock.lost)
	local is_known, holders, free, soonest = not lock.is_new and (known_at or 0) <= now, 0, nil, MOST
	local count, names = count_of(want), {}
	for name in string.gmatch(count and '' or string.sub(want, 2), '[^,]+') do
		names[#names + 1] = name
	end
	count = count or #names
	for first = 1, count, CHUNK do
		local fields = {}
		for i = first, math.min(count, first + CHUNK - 1) do
			fields[#fields + 1] = 's:' .. (names[i] or i)
		end
		local ids = call('HMGET', STATE, unpack(fields))
		for i, owner in ipairs(ids) do
			if not owner then
				free, ids[i] = free or first + i - 1, '' -- nobody's id
			end
		end
		for i, score in ipairs(free and is_known and {} or call('ZMSCORE', HOLDERS, unpack(ids))) do
			local ends = end_of(score) or 0
			if ends > now then
				holders, soonest = holders + 1, math.min(soonest, ends)
			else
				free = free or first + i - 1 -- nobody has noticed the end
			end
		end
		if free and is_known then
			break
		end
	end
	if free and (is_known or not lock.is_new and holders == call('ZCARD', HOLDERS)) then
		return '=' .. (names[free] or free)
	end
	return nil, math.max(1, is_known and soonest - now or lock_ttl())
end

-- Whether a hold with this want fits beside those that there are; slots of different counts never do.
-- Returns its mode; or nil, and in how many ms it may fit at the earliest (-1: nobody knows).
local function fit(want)
	local count, is_slot = count_of(want), match(want, '^=[^,]') or count_of(want)
	if not lock.field then
		return match(want, '^=[^,]+') or count and '=1' or want == 's' and want or 'x'
	elseif lock.mode == '=' and is_slot and (not (count and lock.slots) or count == lock.slots) then
		return free_slot(want)
	end
	return want == 's' and lock.mode == want and want or nil, lock_ttl()
end

-- Redisson's waiter at the head sleeps until the end of the lock that it saw when it asked.
local function tell_redisson()
	local head = call('LINDEX', LIST, 0)
	if head and not match(head, '^fairlock:%d+$') then
		publish(channel(head), '0')
	end
end

-- Lets both keys live until the last of several leases ends.
function set_last_end()
	local last, before = end_of(call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]) or now, lock_ttl()
	call('PEXPIREAT', LOCK, int(last))
	call('PEXPIREAT', HOLDERS, int(last))
	lock.ttl = last - now
	if lock.ttl < before - CLOCK_SLACK_MS then
		tell_redisson()
	end
end

-- Since when the lock is free again that a waiter was handed, and did not renew: it hangs.
local missed_at

local has_ended = false -- a hold has, and the lock was not passed on since

-- A hold with this token was broken: it is not taken up after an earlier loss of data.
local function forget_loss(token)
	local floor, at, known_at = numbers(lock.lost)
	if floor and token > floor then
		save('lost', token, at, known_at)
	end
end

-- The keys know nothing of this hold any more: its lease has ended, or somebody deleted the key. One that has
-- not renewed since it was handed the lock hangs.
local function end_unnoticed(hold)
	local ends, event = math.min(hold.ends or now, now), hold.state == 'kept' and 'released' or 'expired'
	if (hold.ends or now) > now + CLOCK_SLACK_MS then
		event = 'forced'
		forget_loss(hold.token or 0)
	elseif hold.state == 'held' and hold.since and hold.ends and hold.ends - hold.since < (hold.lease or 0) then
		missed_at = ends
	end
	forget_hold(hold, event, ends)
	has_ended = true
end

-- Of several holders.
local function expire_some(most)
	for _, id in ipairs(call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, most)) do
		local hold = read_hold(id, call('HGET', STATE, 'h:' .. id))
		call('ZREM', HOLDERS, id)
		if hold then
			end_unnoticed(hold)
		end
	end
end

-- The lock is free with the last hold. The arguments are as for forget_hold.
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
		else
			set_last_end()
		end
	end
	forget_hold(hold, event, now, status, cause, actor)
end

-- The records of the holds that `holder` says, all of which are over; of several it may miss some: one script
-- looks through about a thousand fields.
local function holds_left()
	local left, cursor, pages = {}, MODES[lock.holder] and '0', 0
	if not cursor then
		return {read_hold(lock.holder, call('HGET', STATE, 'h:' .. lock.holder))}
	end
	repeat
		local page = call('HSCAN', STATE, cursor, 'MATCH', 'h:*', 'COUNT', 200)
		cursor, pages = page[1], pages + 1
		for i = 1, #page[2], 2 do
			local hold = read_hold(string.sub(page[2][i], 3), page[2][i + 1])
			left[#left + 1] = hold and hold.mode ~= 'x' and hold or nil
		end
	until cursor == '0' or pages == 5
	table.sort(left, function(one, other)
		return (one.ends or 0) < (other.ends or 0)
	end)
	return left
end

local function cut_lease(hold, ttl)
	local most = hold and too_long(hold, ttl)
	if most then
		set_ttl(hold, most)
		call('HSET', STATE, 'h:' .. hold.id, hold_text(hold))
		tell_redisson()
	end
end

-- ---- For people ----

-- The holder that people see first: of several the one whose lease ends first, and none that has given its
-- hold back if there is another. Returns its hold, and when the first lease ends (ms), or nil.
local function first_holder()
	local found, first = owners(20), nil
	for i = 1, #found, 2 do
		local hold = find_hold(found[i])
		if not first or hold and first.state == 'kept' and hold.state ~= 'kept' then
			first = hold
		end
	end
	return first, end_of(found[2])
end

-- HOLDER..., of the first one: its owner id, its description, and for how many ms it has held the lock; '',
-- '' or -1 for what is unknown, and if the lock is free. Of a kept hold, which nobody holds: who held it,
-- and in place of the time a negative number, until when (ms since the epoch) it is kept. Then how the lock
-- is held: x, s, =, =N of N counted slots, or '' if it is free; the number of holders; in how many ms the
-- first lease ends, -1 if nobody knows; and '1' if the first holder took the lock by hand, else '0'.
local function about()
	local hold, ends = first_holder()
	local held, holders = hold and hold.since and math.max(0, now - hold.since) or -1, lock.field and 1 or 0
	if hold and hold.state == 'kept' then
		held = -(hold.ends or 1)
	end
	if MODES[lock.field] then -- a hold whose lease has ended is none, though no script has noticed it
		holders = call('ZCARD', HOLDERS) - #call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE')
	end
	return hold and hold.id or '', hold and by_of(hold) or '', held, (lock.mode or '') .. (lock.slots or ''),
		holders, ends and ends - now or -1, hold and is_by_hand(hold) and '1' or '0'
end
