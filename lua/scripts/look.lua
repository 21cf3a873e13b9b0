-- look: the lock as it is, for people. Changes nothing.
--
-- ARGV  2 what    'status', 'queue', 'view' or 'log'
--       with 'view':
--       3 id      of the waiter
--       with 'log':
--       3 after   id of an entry: only what came after it; or ''
--       4 since   only what was written so many ms ago or later; or '@' and the ms since the epoch; or ''
--       5 now     '1': also who holds and waits, else '0'
--
-- status returns
--         {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
--          present waiters, now ms, NAME as it is spelled,
--          ms that the longest of ours has waited or -1, grants, expiries, breaks by force, losses,
--          1 when it is held for the rest of a --min-hold only else 0, last start of a COMMAND ms or '',
--          mode, holders, number of holders, slots, when a COMMAND last ended with 0 ms or '',
--          1 when it was taken by hand else 0, 1 when a lease is longer than its hold may have else 0}
--          owner, count, ttl, token, by, since, ours, kept and by hand: see `first_holder` in holds.lua
--          mode     x: one holds the lock, alone; s: shared holds; =: holds of slots; '': it is free
--          holders  up to 1,000, in the order of their grants: {{owner, hold count, ttl ms, token or '', by,
--                   held since ms or '', 1 when ours else 0, 1 when kept else 0, slot or '', 1 when by hand
--                   else 0}...}
--          slots    how many slots the lock has: the count of its holders, else the largest number that a
--                   present waiter wants or that holders have
--
-- queue returns a list of
--         {id, waiting ms or '', by, 1 when ours else 0, 1 when present else 0, want: x, s, #N or =A,B}
--
-- view, for a waiter on a terminal, returns {'view', place or 0, waiters, HOLDER...}: see `about` in
-- holds.lua
--
-- log, for what happened to the lock lately, returns {'log', now ms, entries, holder or '', waiters, holds}
--         entries  {{id, {field, value...}}...}, newest first
--         holder   see `first_holder` in holds.lua
--         waiters  who is present, first is next: {{since ms or '', by}...}
--         holds    those whose end nobody has noticed: {{owner, token, since, until, waited, by, mode,
--                  slot or ''}...}; mode is x, s or =

local id, request, strays, late = '', false, 0, {}

-- include base.lua ends.lua grant.lua holds.lua jobs.lua waiters.lua

-- All holds in the order of their grants, so many as one script can look at: those that go on, with what is
-- left of their leases as `ttl`, and those whose end nobody has noticed.
local function all_holds()
	local ids, found = owners(MANY, '-inf'), lock.holder and lock.holder ~= lock.field and holds_left() or {}
	for i = 1, #ids, 2 do
		local ends = end_of(ids[i + 1])
		local hold = find_hold(ids[i]) or read_hold(ids[i], call('HGET', STATE, 'h:' .. ids[i]))
		if hold then
			hold.ttl = not ends and -1 or ends > now and ends - now or nil
			found[#found + 1] = hold
		end
	end
	table.sort(found, function(a, b)
		local one, other = a.token or MOST, b.token or MOST
		return one < other or one == other and a.id < b.id
	end)
	return found
end

local function bit(is_so)
	return is_so and 1 or 0
end

-- A number as text, or ''.
local function shown(value)
	return value and int(value) or ''
end

local function status()
	local rows, first, is_long = {}, {'', 0, lock_ttl(), '', '', '', 0, 0, '', 0}, false
	local largest, named = 0, 0 -- of the slots that are taken
	local events, first_hold = call('HMGET', STATE, 'n:expired', 'n:forced', 'n:lost'), first_holder()
	for i = 1, #events do
		events[i] = number(events[i]) or 0
	end
	for _, hold in ipairs(all_holds()) do
		if hold.ttl then
			rows[#rows + 1] = {hold.id, hold.count, hold.ttl, shown(hold.token), by_of(hold), shown(hold.since),
				bit(hold.token), bit(hold.state == 'kept'), match(hold.mode, '^=(.+)$') or '',
				bit(is_by_hand(hold))}
			first = hold == first_hold and rows[#rows] or first
			is_long = is_long or too_long(hold, hold.ttl)
			largest = math.max(largest, number(match(hold.mode, '^=(%d+)$')) or 0)
			named = named + bit(match(hold.mode, '^=.*%D'))
		elseif hold.state == 'held' and (hold.ends or now) <= now + CLOCK_SLACK_MS then
			events[1] = events[1] + 1 -- the next script notices just that
		end
	end
	local waiting, longest, slots = 0, -1, math.max(largest, named)
	for _, waiter in ipairs(everybody(MOST)) do
		if waiter.is_here then
			waiting = waiting + 1
			longest = math.max(longest, waiter.ticket and waited_by(waiter.id, waiter.ticket) or -1)
			local want = waiter.record and waiter.record.want or 'x'
			slots = math.max(slots, count_of(want) or select(2, string.gsub((string.gsub(want, '^=', ',')), ',', '')))
		end
	end
	return {first[1], first[2], first[3], first[4], first[5], first[6], first[7], waiting, stamp,
		lock.spelled or LOCK, longest, lock.grants, events[1], events[2], events[3], first[8],
		shown(numbers(lock.start)), lock.mode or '', rows, select(5, about()), lock.slots or slots,
		shown(select(2, numbers(lock.ok))), first[10], bit(is_long)}
end

local what, is_whole, since = ARGV[2], ARGV[5] == '1', ARGV[4]
local PLACES = 1000       -- view tells so many; behind them one is far away
local MOST_ENTRIES = 2000 -- twice the length of a log; more are no log of ours
local rows, going_on = {}, {}
if what == 'status' then
	return status()
elseif what == 'queue' then
	for i, waiter in ipairs(everybody(MOST)) do
		local known = waiter.record or {by = '', want = 'x'}
		rows[i] = {waiter.id, shown(waiter.ticket and waited_by(waiter.id, waiter.ticket)), known.by,
			bit(waiter.ticket), bit(waiter.is_here), known.want}
	end
	return rows
elseif lock.spelled then
	return refusal
elseif what == 'view' then
	local place, waiting, all = 0, math.max(0, call('ZCARD', OURS) - PLACES), in_order(PLACES)
	see(all)
	for _, waiter in ipairs(all) do
		if waiter.id == ARGV[3] or waiter.is_here then
			waiting = waiting + 1
			place = waiter.id == ARGV[3] and waiting or place
		end
	end
	return {'view', place, waiting, about()}
end
local from = tonumber(since) and int(math.max(0, now - tonumber(since))) or match(since, '^@(%d+)$') or '-'
local first, entries = is_whole and first_holder(),
	call('XREVRANGE', LOG, '+', ARGV[3] ~= '' and '(' .. ARGV[3] or from, 'COUNT', MOST_ENTRIES)
for _, waiter in ipairs(is_whole and everybody(MANY) or {}) do
	if waiter.is_here then
		rows[#rows + 1] = {shown(waiter.ticket and waits_since(waiter.id, waiter.ticket)),
			waiter.record and waiter.record.by or ''}
	end
end
for _, hold in ipairs(is_whole and all_holds() or {}) do
	if hold.since then
		going_on[#going_on + 1] = {hold.id, int(hold.token), int(hold.since), int(hold.ends or now),
			shown(hold.waited), by_of(hold), string.sub(hold.mode, 1, 1), match(hold.mode, '^=(.*)$') or ''}
	end
end
return {'log', stamp, entries, first and first.id or '', rows, going_on}
