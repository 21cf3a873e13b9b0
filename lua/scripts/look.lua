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
--          1 when it was taken by hand else 0, 1 when only --once-ok has taken it else 0,
--          1 when a lease is longer than its hold may have else 0}
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
-- view, for a waiter on a terminal, returns
--         {'view', place or 0, waiters, HOLDER...}
--          HOLDER...: see `about` in holds.lua
--
-- log, for what happened to the lock lately, returns {'log', now ms, entries, holder or '', waiters, holds}
--         entries  {{id, {field, value...}}...}, newest first
--         holder   see `first_holder` in holds.lua
--         waiters  who is present, first is next: {{since ms or '', by}...}
--         holds    those whose end nobody has noticed: {{owner, token, since, until, waited, by, mode,
--                  slot or ''}...}; mode is x, s or =

-- include base.lua

local what = ARGV[2]

local refusal = lacking and lacking('log', what == 'log' and 'XREVRANGE2' or '')
if refusal then
	return refusal
end

-- include ends.lua grant.lua holds.lua jobs.lua waiters.lua

-- All holds in the order of their grants, so many as one script can look at: those that go on, with what is
-- left of their leases as `ttl`, and those whose end nobody has noticed.
local function all_holds()
	local ids, found = owners(MANY, '-inf'), {}
	for i = 1, #ids, 2 do
		local ends, id = end_of(ids[i + 1]), ids[i]
		local hold = find_hold(id) or read_hold(id, call('HGET', STATE, 'h:' .. id))
		if hold then
			hold.ttl = not ends and -1 or ends > now and ends - now or nil
			found[#found + 1] = hold
		end
	end
	for _, hold in ipairs(lock.holder and lock.holder ~= lock.field and holds_left() or {}) do
		found[#found + 1] = hold
	end
	table.sort(found, function(a, b)
		local one, other = a.token or MOST, b.token or MOST
		return one < other or one == other and a.id < b.id
	end)
	return found
end

-- ---- queue ----

local function queue()
	local rows = everybody(MOST)
	for i, waiter in ipairs(rows) do
		local known = waiter.record or {by = '', want = 'x'}
		rows[i] = {waiter.id, waiter.ticket and int(waited_by(waiter.id, waiter.ticket)) or '', known.by,
			waiter.ticket and 1 or 0, waiter.is_here and 1 or 0, known.want}
	end
	return rows
end

-- ---- status ----

-- How many slots this waiter wants one of.
local function slots_wanted(want)
	local _, commas = string.gsub(match(want, '^=(.*)$') or '', ',', '')
	return count_of(want) or string.sub(want, 1, 1) == '=' and commas + 1 or 0
end

local function status()
	local rows, first, is_long = {}, {'', 0, lock_ttl(), '', '', '', 0, 0, '', 0}, 0
	local largest, named = 0, 0 -- of the slots that are taken
	local events = call('HMGET', STATE, 'n:granted', 'n:expired', 'n:forced', 'n:lost')
	for i = 1, #events do
		events[i] = number(events[i]) or 0
	end
	local first_hold = first_holder()
	for _, hold in ipairs(all_holds()) do
		if hold.ttl then
			local is_known = hold.since ~= nil
			rows[#rows + 1] = {hold.id, hold.count, hold.ttl, is_known and int(hold.token) or '',
				is_known and by_of(hold) or '', is_known and int(hold.since) or '', is_known and 1 or 0,
				hold.state == 'kept' and 1 or 0, is_known and match(hold.mode, '^=(.+)$') or '',
				is_by_hand(hold) and 1 or 0}
			first = hold == first_hold and rows[#rows] or first
			is_long = too_long(hold, hold.ttl) and 1 or is_long
			largest = math.max(largest, number(match(hold.mode, '^=(%d+)$')) or 0)
			named = named + (match(hold.mode, '^=.*%D') and 1 or 0)
		elseif hold.state == 'held' and (hold.ends or now) <= now + CLOCK_SLACK_MS then
			events[2] = events[2] + 1 -- the next script notices just that
		end
	end
	local waiting, longest, slots = 0, -1, math.max(largest, named)
	for _, waiter in ipairs(everybody(MOST)) do
		if waiter.is_here then
			waiting = waiting + 1
			longest = math.max(longest, waiter.ticket and waited_by(waiter.id, waiter.ticket) or -1)
			slots = math.max(slots, waiter.record and slots_wanted(waiter.record.want) or 0)
		end
	end
	local runs, _, _, _, _, holders = lock.runs, about()
	return {first[1], first[2], first[3], first[4], first[5], first[6], first[7], waiting, stamp,
		lock.spelled or LOCK, longest, events[1], events[2], events[3], events[4], first[8],
		runs.last and int(runs.last) or '', lock.mode or '', rows, holders, lock.slots or slots,
		runs.ok_ended and int(runs.ok_ended) or '', first[10], runs.once == 'ok' and 1 or 0, is_long}
end

-- ---- view ----

local PLACES = 1000      -- are told; behind them one is far away
local PRESENCE = 200     -- are looked at; behind them each is taken for present

local function view(id)
	local place, waiting, all = 0, 0, in_order(PLACES)
	see({unpack(all, 1, math.min(#all, PRESENCE))})
	for i, waiter in ipairs(all) do
		if i > PRESENCE or waiter.id == id or waiter.is_here then
			waiting = waiting + 1
			place = waiter.id == id and waiting or place
		end
	end
	waiting = waiting + math.max(0, call('ZCARD', OURS) - PLACES)
	return {'view', place, waiting, about()}
end

-- ---- log ----

local MOST_ENTRIES = 2000 -- twice its length; more are no log of ours

local function entries_of(after, since)
	local time, ago = number(match(since, '^@(%d+)$')), tonumber(since)
	local first = after ~= '' and '(' .. after or time and int(time) or ago and int(math.max(0, now - ago)) or '-'
	return call('XREVRANGE', LOG, '+', first, 'COUNT', MOST_ENTRIES)
end

local function log(after, since)
	local first = first_holder()
	local answer = {'log', stamp, entries_of(after, since), first and first.id or '', {}, {}}
	for _, waiter in ipairs(everybody(MANY)) do
		if waiter.is_here then
			table.insert(answer[5], {waiter.ticket and int(waits_since(waiter.id, waiter.ticket)) or '',
				waiter.record and waiter.record.by or ''})
		end
	end
	for _, hold in ipairs(all_holds()) do
		if hold.since then
			table.insert(answer[6], {hold.id, int(hold.token), int(hold.since), int(hold.ends or now),
				hold.waited and int(hold.waited) or '', by_of(hold), string.sub(hold.mode, 1, 1),
				match(hold.mode, '^=(.*)$') or ''})
		end
	end
	return answer
end

if what == 'log' and ARGV[5] ~= '1' then
	-- the history is told also when somebody has put something else in the lock's place
	local name = call('HGET', STATE, 'name')
	return name and name ~= LOCK and {'spelled', name} or
		{'log', stamp, entries_of(ARGV[3], ARGV[4]), '', {}, {}}
end
refusal = read_lock('')
if refusal and (refusal.err or lock.spelled and (what == 'view' or what == 'log')) then
	return refusal
elseif what == 'queue' then
	return queue()
elseif what == 'view' then
	return view(ARGV[3])
elseif what == 'log' then
	return log(ARGV[3], ARGV[4])
end
return status()
