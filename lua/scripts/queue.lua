-- queue: who waits, in order. Changes nothing.
--
-- Returns a list of {id, waiting ms or '', by, 1 when ours else 0, 1 when present else 0}

-- include hold_end.lua
-- include holds.lua

local queue = {}
for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
	local ticket = known(id)
	local waiting = ticket and int(math.max(0, now - math.floor(ticket / 1000))) or ''
	queue[#queue + 1] = {
		id, waiting, call('HGET', STATE, 'd:' .. id) or '', ticket and 1 or 0, present(id) and 1 or 0,
	}
end
return queue
