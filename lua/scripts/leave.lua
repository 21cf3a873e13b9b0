-- leave: takes a waiter out of the queue. A grant that was made meanwhile is undone. May be sent twice.
--
-- ARGV  2 id
--       3 request   as for acquire
--       4 strays    as for acquire
--       5 mode      'own': the waiter itself leaves; 'remove': somebody else takes it out
--       6...        with 'own': owner ids that the caller inherited, as for acquire; with 'remove': by, the
--                   description of the caller
--
-- Returns {'left', owner, by, held, mode, holders, next, by hand}   it is out; the holder as `view` has it,
--              or none if that was the waiter itself
--         {'left'}     somebody else asked, and it was out already
--         {'late'}     this is a late copy
--         {'unknown'}  somebody else asked, and there is no such waiter
--         {'spelled', name}  another spelling of this name is in use
--         {'version', theirs, ours}  another version of this protocol

local id, request = ARGV[2], ARGV[3]
local by_other, strays = ARGV[5] == 'remove', tonumber(ARGV[4]) or 0

local refusal = denied and may_not_write()
if refusal then
	return refusal
end

-- in a function from here on
-- include base.lua hold_record.lua new_hold.lua log_event.lua waiter_record.lua more_records.lua lock.lua
-- in a function from here on
-- include publish.lua hold_end.lua holds.lua holds_left.lua capacity.lua changes.lua
-- include patience.lua queue_head.lua pass_on.lua let_go.lua queue_order.lua

local refused = begin(id, request, strays, 'late')
if refused then
	return refused
end

local waiter = known(id)
check_queue()
local was_queued = call('ZSCORE', TIMEOUTS, id)
local was_first = call('LINDEX', QUEUE, 0) == id

local left = {'left', about()}
local granted = not by_other and entry_of(request)
for i = 6, not by_other and MODES[lock.field] and #ARGV or 0 do
	if not granted and select_hold(ARGV[i]) then -- the caller may have gone into this hold
		granted = entry_of(request)
	end
end

local is_repeated = lock.request ~= nil and lock.request.answer == 'left ' .. id
if by_other and (is_repeated or not was_queued) then
	settle()
	return {is_repeated and 'left' or 'unknown'} -- another waiter with this id may wait by now
end
if was_queued or waiter then
	drop(id)
	record('left', stamp, id, nil, waiter and waiter.by, waiter and waited_by(id, waiter), nil, nil, nil, nil,
		by_other and ARGV[6] ~= '' and ARGV[6] or nil)
end
if not by_other then
	call('HDEL', STATE, 'w:' .. id) -- of one that was dropped, or removed
else
	mark_request(request, strays, 'left ' .. id)
	introduce(note)
	note('HSET', STATE, 'w:' .. id,
		note_to_waiter('removed', waiter and waiter.ticket or 0, waiter and waiter.by or ''))
	tell(id, '0')
end

if lock.owner and granted then
	if granted == 'w' .. lock.owner then
		forget_start()
	end
	if lock.count > 1 or request ~= lock.owner and lock.mode ~= 'x' and not is_known() then
		end_entry(granted) -- if our hash was lost, nobody knows how many holds the owner has
		set_count(lock.count - 1)
	else
		let_go('released')
	end
elseif was_first or not lock.field then
	pass_on()
end
settle()
if granted then
	return {'left', '', '', -1, '', 0, -1, '0'}
end
return left
