-- The waiters, as they are: records, presence, order. Changes nothing.

-- Whether a waiter is subscribed to its channel, plainly or sharded. tell() uses the way that was found:
-- nobody else listens there.
local ways = {}
local function present(whose)
	local name = channel(whose)
	ways[whose] = call('PUBSUB', 'NUMSUB', name)[2] > 0 and 'PUBLISH' or
		SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] > 0 and 'SPUBLISH' or nil
	return ways[whose] ~= nil
end

-- A waiter, in the field `w:REQUEST`; its ticket is its score in the sorted set:
--   seen     ms: its last sign of life
--   lease    ms: that it wants
--   secret   of its last question; `-`: the lock cannot be handed to it
--   kind     as in the `holds` of a hold
--   period   as acquire has it; `-`: none
--   want     see ../README.md
--   owner    of a new grant; `-`: the request itself
--   by       as of a hold
local function read_waiter(text)
	local seen, lease, secret, kind, period, want, owner, by = match(text or '',
		'^(%d+) (%d+) (%S+) (%l) (o?k?[%d-]%d*) (%S+) (%S+) (.*)$')
	seen, lease = number(seen), number(lease)
	return seen and lease and lease > 0 and lease <= LONGEST_MS and {
		seen = math.min(seen, now), lease = lease, secret = secret, kind = kind, period = period, want = want,
		owner = owner, by = by,
	} or nil
end

-- Looks at many waiters, each a table with its `id`: gets `is_here`, as `present` has it, and, if is_whole,
-- the `record` of those of ours who have one. Returns how many are here.
local function see(some, is_whole)
	local count = 0
	for first = 1, #some, MANY do
		local names, fields = {}, {}
		for i = first, math.min(#some, first + MANY - 1) do
			names[#names + 1], fields[#fields + 1] = channel(some[i].id), 'w:' .. some[i].id
		end
		local plain = call('PUBSUB', 'NUMSUB', unpack(names))
		local sharded = SHARDED and call('PUBSUB', 'SHARDNUMSUB', unpack(names))
		local records = is_whole and call('HMGET', STATE, unpack(fields))
		for i = 1, #names do
			local waiter = some[first + i - 1]
			waiter.is_here = plain[2 * i] > 0 or sharded and sharded[2 * i] > 0
			waiter.record = records and waiter.ticket and read_waiter(records[i])
			count = count + (waiter.is_here and 1 or 0)
		end
	end
	return count
end

-- id → record, or false for one without
local waiters = {}
local function waiter_of(whose)
	if waiters[whose] == nil then
		waiters[whose] = read_waiter(call('HGET', STATE, 'w:' .. whose)) or false
	end
	return waiters[whose] or nil
end

local function marker_of(listed)
	return listed and string.byte(listed) == 102 and number(match(listed, '^fairlock:(%d+)$')) or nil -- `f`
end

-- All who wait, in order: tables of `id`, and `ticket` if it is ours; so many of ours at most. One of
-- Redisson's stands behind those of ours that are older than the next marker.
local function in_order(most)
	local ours, ids = call('ZRANGE', OURS, 0, most - 1, 'WITHSCORES'), call('LRANGE', LIST, 0, -1)
	local found, next_one, following = {}, 1, {[#ids] = MOST}

	local function add_ours(before)
		while ours[next_one] and tonumber(ours[next_one + 1]) < before do
			found[#found + 1] = {id = ours[next_one], ticket = tonumber(ours[next_one + 1])}
			next_one = next_one + 2
		end
	end

	for i = #ids, 2, -1 do
		following[i - 1] = marker_of(ids[i]) or following[i]
	end
	for i, other in ipairs(ids) do
		if not marker_of(other) then
			add_ours(following[i])
			found[#found + 1] = {id = other}
		end
	end
	add_ours(MOST)
	return found
end

local function everybody(most)
	local all = in_order(most)
	see(all, true)
	return all
end
