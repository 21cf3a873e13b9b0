-- The waiters, as they are: records, presence, order. Changes nothing.

-- ---- Presence ----

-- Whether a waiter is subscribed to its channel, plainly or sharded. tell() uses the way that was found:
-- nobody else listens there.
local ways = {}
local function present(id)
	local name = channel(id)
	ways[id] = call('PUBSUB', 'NUMSUB', name)[2] > 0 and 'PUBLISH' or
		SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] > 0 and 'SPUBLISH' or nil
	return ways[id] ~= nil
end

-- The same for many: id → true.
local function present_of(ids)
	local found = {}
	for first = 1, #ids, MANY do
		local names = {}
		for i = first, math.min(#ids, first + MANY - 1) do
			names[#names + 1] = channel(ids[i])
		end
		local plain = call('PUBSUB', 'NUMSUB', unpack(names))
		local sharded = SHARDED and call('PUBSUB', 'SHARDNUMSUB', unpack(names))
		for i = 1, #names do
			if plain[2 * i] > 0 or sharded and sharded[2 * i] > 0 then
				found[ids[first + i - 1]] = true
			end
		end
	end
	return found
end

-- ---- Records ----

-- A waiter, in the field `w:REQUEST`; its ticket is its score in the sorted set:
--   seen     ms: its last sign of life
--   lease    ms: that it wants
--   secret   of its last question; `-`: the lock cannot be handed to it
--   kind     as in the `holds` of a hold
--   period   as acquire has it; `-`: none
--   want     see holds.lua
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

-- The waiters that this script has looked at: id → record, or false for one without.
local waiters = {}
local function waiter_of(id)
	if waiters[id] == nil then
		waiters[id] = read_waiter(call('HGET', STATE, 'w:' .. id)) or false
	end
	return waiters[id] or nil
end

-- The ticket of a waiter, or nil if it does not wait.
local function ticket_of(id)
	return number(call('ZSCORE', OURS, id))
end

-- Reads the records of many in few calls.
local function look_up(ids)
	for first = 1, #ids, MANY do
		local fields = {}
		for i = first, math.min(#ids, first + MANY - 1) do
			fields[#fields + 1] = 'w:' .. ids[i]
		end
		for i, text in ipairs(call('HMGET', STATE, unpack(fields))) do
			waiters[ids[first + i - 1]] = read_waiter(text) or false
		end
	end
end

-- All who wait, in order, so many at most: tables of `id`, and `ticket` if it is ours. Ours stand where the
-- marker of their batch does; those that are older than all markers come first.
local function in_order(most)
	local ours, ids = call('ZRANGE', OURS, 0, most - 1, 'WITHSCORES'), call('LRANGE', LIST, 0, -1)
	local found, next_one = {}, 1

	local function add_ours(before)
		while ours[next_one] and tonumber(ours[next_one + 1]) < before do
			found[#found + 1] = {id = ours[next_one], ticket = tonumber(ours[next_one + 1])}
			next_one = next_one + 2
		end
	end

	local ends, following = {}, MOST -- of each batch: the ticket of the next marker
	for i = #ids, 1, -1 do
		ends[i] = following
		following = number(match(ids[i], '^fairlock:(%d+)$')) or following
	end
	add_ours(ids[1] and following or MOST)
	for i, id in ipairs(ids) do
		if match(id, '^fairlock:%d+$') then
			add_ours(ends[i])
		elseif #found < most then
			found[#found + 1] = {id = id}
		end
	end
	add_ours(MOST)
	return found
end

-- The same with `is_here`, and the `record` of those of ours who have one.
local function everybody(most)
	local all, ids = in_order(most), {}
	for i, waiter in ipairs(all) do
		ids[i] = waiter.id
	end
	look_up(ids)
	local here = present_of(ids)
	for _, waiter in ipairs(all) do
		waiter.is_here, waiter.record = here[waiter.id], waiter.ticket and waiter_of(waiter.id)
	end
	return all
end
