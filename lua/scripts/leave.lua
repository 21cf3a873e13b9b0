-- leave: takes a waiter out of the queue. A grant that was made meanwhile is undone. May be sent twice.
--
-- ARGV  2 id
--       3 request   as for acquire
--       4 strays    as for acquire
--       5 mode      'own': the waiter itself leaves; 'remove': somebody else takes it out
--
-- Returns {'left', owner, by, held}  it is out; the holder as `view` has it, '' if that was the waiter itself
--         {'left'}     somebody else asked, and it was out already
--         {'late'}     this is a late copy
--         {'unknown'}  somebody else asked, and there is no such waiter
--         {'spelled', name}  another spelling of this name is in use
--         {'version', theirs, ours}  another version of this protocol

local id, request = ARGV[2], ARGV[3]
local by_other, strays = ARGV[5] == 'remove', tonumber(ARGV[4]) or 0

-- in a function from here on
-- include hold_end.lua
-- include holds.lua
-- include patience.lua
-- include queue_head.lua
-- include queue_order.lua

local refusal = denied and may_not_write()
if refusal then
	return refusal
end
local owner, count, copies = read_keys('c:' .. request)
if state.refusal then
	return state.refusal
elseif is_late(request, strays, copies) then
	return {'late'}
end
notice_end(owner)

local by = call('HGET', STATE, 'd:' .. id) or ''
local ticket = known(id)
local was_queued = call('ZSCORE', TIMEOUTS, id)
check_queue()
local was_first = call('LINDEX', QUEUE, 0) == id

local holder, about_holder, held = about(owner)
local kind = not by_other and (has_hold('w' .. request) and 'w' or has_hold('a' .. request) and 'a')

if by_other and not was_queued then
	settle()
	local remover = string.match(call('HGET', STATE, 'x:' .. id) or '', '^%d+ (.*)$')
	return {remover == request and 'left' or 'unknown'}
end
call('HDEL', STATE, 'p:' .. id)
if was_queued or ticket then
	drop(id)
	record('left', now, id, nil, by, ticket and math.max(0, now - math.floor(ticket / 1000)))
end
if by_other then
	introduce(note)
	note('HSET', STATE, 'x:' .. id, stamp .. ' ' .. request) -- it is to learn it
	tell(id, '0')
	state.marked = true
end

if owner and kind then
	if kind == 'w' and request == owner then
		forget_start()
	end
	if count > 1 then
		end_entry(kind .. request, '')
		call('HINCRBY', LOCK, owner, -1)
	else
		let_go(owner, 'released')
	end
elseif not owner then
	pass_on()
elseif was_first then
	announce(call('PTTL', LOCK))
end
settle()
if kind then
	return {'left', '', '', -1}
end
return {'left', holder, about_holder, held}
