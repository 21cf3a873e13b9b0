-- leave: takes a waiter out of the queue. A grant that was made meanwhile is undone. May be sent twice.
--
-- ARGV  2 id        the owner id of a grant; with 'remove': the waiter
--       3 request   as for acquire; with 'remove': of the caller
--       4 strays    as for acquire
--       5 mode      'own': the waiter itself leaves; 'remove': somebody else takes it out
--       6...        with 'own': owner ids that the caller inherited, as for acquire; with 'remove': by, the
--                   description of the caller
--
-- Returns {'left', HOLDER...}  it is out; see `about` in holds.lua
--         {'left'}     the same, and it had the lock by now
--         {'unknown'}  somebody else asked, and there is no such waiter

local id, request, strays, late = ARGV[2], ARGV[3], tonumber(ARGV[4]) or 0, {'late'}
local by_other = ARGV[5] == 'remove'
local leaving, remover = by_other and id or request, by_other and ARGV[6] ~= '' and ARGV[6] or nil

-- include base.lua
-- include ends.lua grant.lua holds.lua recover.lua jobs.lua waiters.lua queue.lua

begin(true)
local left = {'left', about()}
local ticket, at, hold, given = ticket_of(leaving), nil, nil, nil
for i, other in ipairs(list) do
	at = at or other == leaving and not marker_of(other) and i or nil -- one of Redisson's
end
for i = 5, by_other and 4 or #ARGV do -- the caller was granted the lock, or has gone into a hold
	hold = not given and find_hold(i == 5 and id or ARGV[i]) or hold
	given = given or hold and entry_of(hold, request)
end
if by_other and not ticket and not at then
	settle()
	return {'unknown'}
end

local was_first = at == 1 or ticket and find_oldest() == leaving
if ticket then
	local waiter = waiter_of(leaving)
	record('left', now, leaving, nil, waiter and waiter.by, waited_by(leaving, ticket), nil, nil, nil, nil,
		remover)
	end_wait(leaving, ticket)
elseif at then
	record('left', now, leaving, nil, nil, nil, nil, nil, nil, nil, remover)
	drop_entry(at)
end
if by_other then
	answer_for_good(left)
	if ticket then
		set_last_word(leaving, 'removed')
	end
	tell(leaving, '0') -- it asks, and so learns it
end

if given then
	if given == 'w' .. hold.id then
		forget_start(hold)
	end
	if hold.count > 1 then
		change_entries(hold, hold.count - 1, given)
	else
		end_hold(hold, 'released')
	end
	left = {'left'}
end
if given or was_first or not lock.field then
	pass_on()
end
settle(true)
return left
