-- How many may hold the lock: whether a hold fits, and what key 1 and the holders' sorted set say of it.
-- For scripts beyond their usual case, behind holds.lua.
--
-- An exclusive hold is the field of its owner in key 1. Shared holds, and those of slots, have one field
-- there that is no owner id; the sorted set `HOLDERS` has each owner, with the end of its lease. Both keys
-- live until the last end.

-- The names of the slots of a want, in order; none for other wants.
local function slots_of(want)
	local names = {}
	for i = 1, math.min(count_of(want) or 0, MANY) do
		names[i] = int(i)
	end
	for name in string.gmatch(match(want, '^=(.*)$') or '', '[^,]+') do
		names[#names + 1] = #names < MANY and name or nil
	end
	return names
end

-- Whether our hash knows which slots all holders have. After somebody has deleted only our hash, it does not:
-- each holder tells its slot again when it renews. until_ms: the field `s:`, the time at which the last of
-- those leases ends; from then on the hash knows all.
local function knows_holders(until_ms)
	if lock.is_new or (number(until_ms or nil) or 0) <= now then
		return not lock.is_new
	end
	local fields = call('ZRANGE', HOLDERS, 0, MANY - 1)
	for i, id in ipairs(fields) do
		fields[i] = 'h:' .. id
	end
	for i, text in ipairs(#fields > 0 and call('HMGET', STATE, unpack(fields)) or {}) do
		if not read_hold(fields[i], text) then
			return false
		end
	end
	return true
end

-- The first of these slots that is free, as a mode; or nil, and in how many ms the first lease of them ends.
local function free_slot(names)
	local fields = {}
	for i, name in ipairs(names) do
		fields[i] = 's:' .. name
	end
	local owners = call('HMGET', STATE, 's:', unpack(fields))
	if not knows_holders(table.remove(owners, 1)) then
		local ends = end_of(call('ZRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]) or now
		return nil, math.max(1, ends - now)
	end
	local taken, first = {}, nil -- those before the first that nobody has
	while owners[#taken + 1] do
		taken[#taken + 1] = owners[#taken + 1]
	end
	for i, ends in ipairs(#taken > 0 and call('ZMSCORE', HOLDERS, unpack(taken)) or {}) do
		ends = end_of(ends) or 0
		if ends <= now then
			return '=' .. names[i] -- nobody has noticed the end
		end
		first = math.min(first or ends, ends)
	end
	if names[#taken + 1] then
		return '=' .. names[#taken + 1]
	end
	return nil, first - now
end

-- Whether a hold with this want fits beside those that there are. Slots of different counts never fit beside
-- each other: each process relies on its own count. Returns its mode, as in its record; or nil
-- and, if the caller wants to know, in how many ms it may fit at the earliest (-1: nobody knows).
local function fit(want, wants_ms)
	if not lock.field or lock.mode == want and want == 's' then
		local name = want ~= 'x' and want ~= 's' and slots_of(want)[1]
		return name and '=' .. name or want == 's' and want or 'x'
	elseif lock.mode == '=' then
		local names, count = slots_of(want), count_of(want)
		if names[1] and (not (count and lock.slots) or count == lock.slots) then
			return free_slot(names)
		end
	end
	return nil, wants_ms and (lock.ttl or call('PTTL', LOCK)) or nil
end

-- What a waiter wants; Redisson's want the lock alone.
local function want_of(id)
	local waiter = known(id)
	return waiter and waiter.want or 'x'
end

-- The field of key 1 for a hold.
local function field_of(mode, id)
	return mode == 'x' and id or mode == 's' and SHARED_HOLDS or SLOT_HOLDS
end

-- Lets both keys live until the last of the holders' leases ends. Returns whether that is earlier than it
-- was.
local function set_last_end()
	local last = end_of(call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]) or now
	local before = call('PTTL', LOCK)
	call('PEXPIREAT', LOCK, int(last))
	call('PEXPIREAT', HOLDERS, int(last))
	return last - now < before - CLOCK_SLACK_MS
end

-- Gives the lease of the hold of `id` this time to live, ms. Returns whether several holders all end earlier
-- now than they did.
local function set_ttl(id, ttl)
	if lock.mode == 'x' then
		call('PEXPIRE', LOCK, ttl)
		lock.ttl = ttl
		return false
	end
	call('PEXPIRE', HOLDERS, ttl) -- after it a server out of memory takes the rest
	call('ZADD', HOLDERS, int(now + ttl), id)
	return set_last_end()
end

-- Writes a hold of this mode into key 1, and into the sorted set beside others. want: what the holder asked
-- for; a count in it is the value of key 1 until the lock is free. run: call, or note, with which it returns
-- false where the server refuses that.
local function enter(run, mode, id, want)
	if mode ~= 'x' and not MODES[lock.field] and run('PTTL', HOLDERS) ~= -2 then
		run('DEL', HOLDERS) -- of holds that our hash forgot
	end
	local slots = lock.slots or count_of(want)
	local value = match(mode, '^=') and (slots or 0) or 1
	-- a server that takes the first takes the second
	if mode ~= 'x' and not run('ZADD', HOLDERS, stamp, id) or
		not run('HSET', LOCK, field_of(mode, id), value) then
		return false
	end
	lock.field, lock.mode, lock.slots = field_of(mode, id), string.sub(mode, 1, 1), slots
	return true
end

-- The time to live of the hold that the script works on, ms.
local function ttl_of_hold()
	if lock.mode == 'x' then
		return call('PTTL', LOCK)
	end
	return (end_of(call('ZSCORE', HOLDERS, lock.owner)) or now) - now
end

-- The owner has so many holds. With several holders, its record tells.
local function set_count(count)
	if lock.mode == 'x' then
		call('HSET', LOCK, lock.owner, count)
	end
end
