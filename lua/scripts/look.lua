-- look: the lock as it is, for people. Changes nothing.
--
-- ARGV  2 what    'status', 'queue' or 'view'
--       3 id      with 'view': of the waiter
--       4 known   with 'view': token of the hold whose usual length the caller has been told, or ''
--
-- status returns
--         {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
--          present waiters, now ms, NAME as it is spelled,
--          ms that the longest of ours has waited or -1, grants, expiries, breaks by force, losses,
--          1 when it is held for the rest of a --min-hold only else 0, last start of a COMMAND ms or '',
--          mode, holders, number of holders, slots, when a COMMAND last ended with 0 ms or '',
--          1 when it was taken by hand else 0, 1 when only --once-ok has taken it else 0,
--          1 when a lease is longer than its hold may have else 0}
--          of several holders: owner, count, ttl, token, by, since, ours, kept and by hand of the one whose
--          lease ends first
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
--         {'view', place or 0, waiters, owner or '', by, held, token or '', usual, mode, holders, next,
--          by hand}
--          of several holders: owner, by, held and token of the one whose lease ends first; of one that has
--          given its hold back only if the next ones have, too
--          usual  of holds that were given back lately: {how many of the holder's user and command, the
--                 median of their lengths in ms, how many of all, their median}; {} when it is known
--          the others: see `about` in holds.lua
--         {'spelled', name}        another spelling of this name is in use

-- include base.lua

local what, id, known_token = ARGV[2], ARGV[3] or '', ARGV[4]

if lacking then
	local refusal = lacking('log', what == 'view' and 'XREVRANGE2' or '')
	if refusal then
		return refusal
	end
end

-- include holds.lua jobs.lua waiters.lua

read_lock(id)
if lock.refusal and lock.refusal.err then
	return lock.refusal
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

local too_long = 0

local function row_of(hold, ttl)
	if is_too_long(hold, ttl) then
		too_long = 1
	end
	local is_known = hold.since ~= nil
	return {hold.id, hold.count, ttl, is_known and int(hold.token) or '', is_known and by_of(hold) or '',
		is_known and int(hold.since) or '', is_known and 1 or 0, hold.state == 'kept' and 1 or 0,
		is_known and match(hold.mode, '^=(.+)$') or '', is_by_hand(hold) and 1 or 0}
end

-- Several holders whose leases go on, in the order of their grants; and how many have ended, and nobody has
-- noticed.
local function several()
	local found, fields, expired = {}, {}, 0
	local ends = call('ZRANGE', HOLDERS, '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, MANY, 'WITHSCORES')
	for i = 1, #ends, 2 do
		fields[#fields + 1] = 'h:' .. ends[i]
	end
	for i, text in ipairs(fields[1] and call('HMGET', STATE, unpack(fields)) or {}) do
		local owner, its_end = ends[2 * i - 1], end_of(ends[2 * i])
		texts[owner] = text or ''
		if its_end > now then
			found[#found + 1] = {hold = find_hold(owner), ttl = its_end - now}
		elseif match(text or '', '^held') then
			expired = expired + 1
		end
	end
	table.sort(found, function(a, b)
		local one, other = a.hold.token or MOST, b.hold.token or MOST
		return one < other or one == other and a.hold.id < b.hold.id
	end)
	return found, expired
end

-- How many slots this waiter wants one of.
local function slots_wanted(want)
	local _, commas = string.gsub(match(want, '^=(.*)$') or '', ',', '')
	return count_of(want) or string.sub(want, 1, 1) == '=' and commas + 1 or 0
end

-- How many slots there must be for these holders.
local function slots_held(rows)
	local largest, named = 0, 0
	for _, row in ipairs(rows) do
		local slot = row[9]
		largest = math.max(largest, number(match(slot, '^%d+$')) or 0)
		named = named + (slot ~= '' and not match(slot, '^%d+$') and 1 or 0)
	end
	return math.max(largest, named)
end

local function status()
	local rows, first, expired = {}, {'', 0, call('PTTL', LOCK), '', '', '', 0, 0, '', 0}, 0
	if MODES[lock.field] then
		local all
		all, expired = several()
		for i, one in ipairs(all) do
			rows[i] = row_of(one.hold, one.ttl)
		end
		local hold, ends = first_holder()
		first = hold and row_of(hold, ends - now) or first
	elseif lock.field then
		first = row_of(find_hold(lock.field), first[3])
		rows = {first}
	end
	local before = lock.holder and lock.holder ~= lock.field and not MODES[lock.holder] and
		read_hold(lock.holder, call('HGET', STATE, 'h:' .. lock.holder))
	if before and before.state == 'held' and (before.ends or now) <= now + CLOCK_SLACK_MS then
		expired = 1 -- the next script notices just that
	end

	local waiting, longest, slots = 0, -1, 0
	for _, waiter in ipairs(everybody(MOST)) do
		if waiter.is_here then
			waiting = waiting + 1
			longest = math.max(longest, waiter.ticket and waited_by(waiter.id, waiter.ticket) or -1)
			slots = math.max(slots, waiter.record and slots_wanted(waiter.record.want) or 0)
		end
	end

	local events = call('HMGET', STATE, 'n:granted', 'n:expired', 'n:forced', 'n:lost')
	for i = 1, #events do
		events[i] = number(events[i]) or 0
	end
	local runs, _, _, _, _, holders = lock.runs, about()
	return {first[1], first[2], first[3], first[4], first[5], first[6], first[7], waiting, stamp,
		lock.spelled or LOCK, longest, events[1], events[2] + expired, events[3], events[4], first[8],
		maybe(runs.last) or '', lock.mode or '', rows, holders,
		lock.slots or math.max(slots, slots_held(rows)), maybe(runs.ok_ended) or '', first[10],
		runs.once == 'ok' and 1 or 0, too_long}
end

-- ---- view ----

local PLACES = 1000      -- are told; behind them one is far away
local PRESENCE = 200     -- are looked at; behind them each is taken for present
local ENTRIES = 150      -- of the log are looked at
local SAMPLES = 20       -- of them are enough

-- User and command, from wherever they run and for whatever reason.
local function job(by)
	return match(by, '^[^\t]*\t[^\t]*\t([^\t]*\t[^\t]*)') or by
end

local function add(samples, held)
	if #samples < SAMPLES then
		samples[#samples + 1] = held
	end
end

local function median(samples)
	table.sort(samples)
	return samples[math.ceil(#samples / 2)] or 0
end

local function usual(by)
	local of_job, of_all = {}, {}
	for _, entry in ipairs(call('XREVRANGE', LOG, '+', '-', 'COUNT', ENTRIES)) do
		local fields = {}
		for i = 1, #entry[2] - 1, 2 do
			fields[entry[2][i]] = entry[2][i + 1]
		end
		local held = fields.event == 'released' and number(fields.held)
		if held then
			add(of_all, held)
			if job(fields.by or '') == job(by) then
				add(of_job, held)
			end
		end
	end
	return {#of_job, median(of_job), #of_all, median(of_all)}
end

local function view()
	local place, waiting, all, ids = 0, 0, in_order(PLACES), {}
	for i = 1, math.min(#all, PRESENCE) do
		ids[i] = all[i].id
	end
	local here = present_of(ids)
	for i, waiter in ipairs(all) do
		if i > PRESENCE or waiter.id == id or here[waiter.id] then
			waiting = waiting + 1
			place = waiter.id == id and waiting or place
		end
	end
	if #all >= PLACES then
		waiting = waiting + math.max(0, call('ZCARD', OURS) - PLACES)
	end
	local hold = first_holder(true)
	local token = hold and hold.since and int(hold.token) or ''
	local owner, by, held, mode, holders, next_end, by_hand = about()
	return {'view', place, waiting, owner, by, held, token,
		token ~= '' and token ~= known_token and usual(by) or {}, mode, holders, next_end, by_hand}
end

if what == 'queue' then
	return queue()
elseif what == 'view' then
	return lock.spelled and {'spelled', lock.spelled} or view()
end
return status()
