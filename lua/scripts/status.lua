-- status: one lock, as it is. Changes nothing.
--
-- Returns {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
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

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua log_event.lua more_records.lua lock.lua
-- include publish.lua hold_end.lua holds.lua all_holders.lua

read_lock('', '')
if lock.refusal and lock.refusal.err then
	return lock.refusal
end

local too_long = 0

-- The row of the holder that the script is about, whose lease ends then (ms).
local function row_of(ends)
	if is_known() and is_too_long(lock.hold, ends - now) then
		too_long = 1
	end
	local hold = is_known() and lock.hold or {token = '', by = '', since = '', mode = '', holds = ''}
	return {lock.owner, lock.count, ends - now, hold.token, hold.by, hold.since, is_known() and 1 or 0,
		is_known() and is_kept() and 1 or 0, match(hold.mode, '^=(.*)$') or '', is_by_hand(hold) and 1 or 0}
end

local rows, first, expired = {}, {'', 0, call('PTTL', LOCK), '', '', '', 0, 0, '', 0}, 0
if MODES[lock.field] then
	for _, holder in ipairs(holders_from('-inf')) do
		if select_hold(holder.id, holder.hold) then
			rows[#rows + 1] = row_of(holder.ends)
		elseif holder.hold and holder.hold.state == 'held' then
			expired = expired + 1
		end
	end
	local id, ends = first_holder()
	if id and select_hold(id) then
		first = row_of(ends)
	end
elseif lock.owner then
	first = row_of(now + first[3])
	rows = {first}
end

-- How many slots this waiter wants one of.
local function slots_wanted(waiter)
	local want = waiter and waiter.want or ''
	local _, commas = string.gsub(match(want, '^=(.*)$') or '', ',', '')
	return count_of(want) or string.sub(want, 1, 1) == '=' and commas + 1 or 0
end

-- How many slots there must be for these holders.
local function slots_held(holders)
	local largest, named = 0, 0
	for _, row in ipairs(holders) do
		local slot = row[9]
		largest = math.max(largest, number(match(slot, '^%d+$')) or 0)
		named = named + (slot ~= '' and not match(slot, '^%d+$') and 1 or 0)
	end
	return math.max(largest, named)
end

local waiting, longest, slots = 0, -1, 0
for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
	if present(id) then
		waiting = waiting + 1
		local waiter = known(id)
		longest = math.max(longest, waiter and waited_by(id, waiter) or -1)
		slots = math.max(slots, slots_wanted(waiter))
	end
end

-- How often there was such an event. A lease whose end nobody has noticed counts: the next script notices
-- just that.
local events = call('HMGET', STATE, 'n:granted', 'n:expired', 'n:forced', 'n:lost')
for i = 1, #events do
	events[i] = number(events[i]) or 0
end
local hold = lock.hold
if hold and hold.id ~= lock.owner and hold.since ~= '-' and unnoticed_end(hold) == 'expired' then
	expired = 1
end

slots = lock.slots or math.max(slots, slots_held(rows))
local _, _, _, _, holders = about()
local owner, count, ttl, token, by, since, is_ours, is_kept_now, _, by_hand = unpack(first)
return {owner, count, ttl, token, by, since, is_ours, waiting, stamp, lock.spelled or LOCK,
	longest, events[1], events[2] + expired, events[3], events[4], is_kept_now,
	lock.started and int(lock.started) or '', lock.mode or '', rows,
	holders, slots, lock.ok_ended and int(lock.ok_ended) or '', by_hand,
	lock.once and 1 or 0, too_long}
