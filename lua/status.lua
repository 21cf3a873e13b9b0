-- status: one lock, as it is. Changes nothing.
--
-- Returns {owner or '', hold count, ttl ms, token or '', by, held since ms or '', 1 when ours else 0,
--          present waiters, now ms, NAME as it is spelled}

load_state()
local owner, count = holder()
local ours = owner ~= nil and state.owner == owner

local waiters = 0
for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
	if present(id) then
		waiters = waiters + 1
	end
end

return {owner or '', count or 0, call('PTTL', LOCK), ours and int(state.token or 0) or '',
	ours and state.by or '', ours and state.since and int(state.since) or '', ours and 1 or 0,
	waiters, int(now), state.name or LOCK}
