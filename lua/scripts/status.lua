-- status: one lock, as it is. Changes nothing.
--
-- Returns {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
--          present waiters, now ms, NAME as it is spelled,
--          ms that the longest of ours has waited or -1, grants, expiries, breaks by force, losses,
--          1 when it is held for the rest of a --min-hold only else 0, last start of a COMMAND ms or ''}

-- include hold_end.lua
-- include holds.lua

local owner, count = read_keys()
local ours = owner ~= nil and state.owner == owner

-- Those of ours stand in the order of their tickets.
local waiters, ticket = 0, nil
for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
	if present(id) then
		waiters = waiters + 1
		ticket = ticket or known(id)
	end
end
local waited = ticket and math.max(0, now - math.floor(ticket / 1000)) or -1

-- How often there was such an event. A lease whose end nobody has noticed counts: who does notices just that.
local events = call('HMGET', STATE, 'n:granted', 'n:expired', 'n:forced', 'n:lost')
for i = 1, #events do
	events[i] = number(events[i]) or 0
end
if unnoticed_end(owner) == 'expired' then
	events[2] = events[2] + 1
end

events[#events + 1] = ours and is_kept() and 1 or 0
events[#events + 1] = state.started and int(state.started) or ''

return {owner or '', count or 0, call('PTTL', LOCK), ours and int(state.token or 0) or '',
	ours and state.by or '', ours and state.since and int(state.since) or '', ours and 1 or 0,
	waiters, stamp, state.spelled or LOCK, waited, unpack(events)}
