-- queue: who waits, in order. Changes nothing.
--
-- Returns a list of {id, waiting ms or '', by, 1 when ours else 0, 1 when present else 0,
--                    want: x, s, #N or =A,B; see waiter_record.lua}

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua log_event.lua more_records.lua lock.lua
-- include publish.lua hold_end.lua holds.lua

local queue, ids = {}, call('LRANGE', QUEUE, 0, -1)
lock = {}
if ids[1] then
	lock.newest, lock.newest_since = read_newest(call('HGET', STATE, 'newest'))
end
for _, id in ipairs(ids) do
	local waiter = known(id)
	queue[#queue + 1] = {
		id, waiter and int(waited_by(id, waiter)) or '', waiter and waiter.by or '', waiter and 1 or 0,
		present(id) and 1 or 0, waiter and waiter.want or 'x',
	}
end
return queue
