-- status: one lock, as it is. Changes nothing.
--
-- Returns {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
--          present waiters, now ms, NAME as it is spelled,
--          ms that the longest of ours has waited or -1, grants, expiries, breaks by force, losses,
--          1 when it is held for the rest of a --min-hold only else 0, last start of a COMMAND ms or ''}

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua log_event.lua more_records.lua lock.lua
-- include publish.lua hold_end.lua holds.lua

read_lock('', '')
local _, by = about(lock.owner)
local is_ours = is_known()

-- Our waiters stand in the order of their tickets, so the first one has waited longest.
local waiting, first = 0, nil
for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
	if present(id) then
		waiting = waiting + 1
		first = first or known(id)
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
	events[2] = events[2] + 1
end

events[#events + 1] = is_ours and is_kept() and 1 or 0
events[#events + 1] = lock.started and int(lock.started) or ''

return {lock.owner or '', lock.count or 0, call('PTTL', LOCK), is_ours and lock.hold.token or '',
	by, is_ours and lock.hold.since or '', is_ours and 1 or 0,
	waiting, stamp, lock.spelled or LOCK, first and waited_by(first) or -1, unpack(events)}
