-- acquire: takes the lock, goes in again, or queues for it; the one request of a waiter,
-- also as its sign of life and to come back after a connection was lost. May be sent twice.
--
-- ARGV  2 id       the owner id of a new grant, until then the id in the queue
--       3 request  identifies the asking process in all of its requests
--       4 kind     'w' for wrap, 'a' for acquire
--       5 lease    ms
--       6 mode     'wait', or 'try': do not queue
--       7 ticket   from an earlier reply, or ''
--       8 again    '1' when an earlier copy of this request may have arrived, or the connection is a
--                  new one, else '0'
--       9 limit    do not join behind so many present waiters, or ''
--      10 by       host, pid, user and command of the caller, and perhaps a reason, separated by tabs
--      11 period   do not run if a COMMAND was started less than nine tenths of so many ms ago, or ''
--      12 strays   how many requests this process has left under way on connections that are no more
--      13 secret   hexadecimal digits, when the lock can be handed to the caller, which takes the message
--                  `granted` with this secret for a grant: a wrap whose request is its id, without a period
--                  and without replicas; else ''
--      14...       owner ids that the caller inherited, any of which may hold the lock already
--
-- Returns {'granted', owner, token, ttl ms, waited ms, hold count}
--         {'queued', ticket, ask again in ms at the latest, 1 when first else 0, ttl of the lock in ms,
--          now ms}
--         {'busy', owner, by, held} mode 'try', or held back after a restart
--         {'full', waiters, owner, by, held}
--         {'ran', ms ago, owner, by, held}  a COMMAND was started too short a time ago; the waiter has left
--         {'removed', owner, by, held}      somebody took the waiter out of the queue
--         {'removed'}               this is a late copy, or all of it was given back
--         {'spelled', name}         another spelling of this name is in use
--         {'version', theirs, ours} the lock is in use by another version of this protocol
--         owner, by, held: of the holder, as `view` returns them; busy: of the first waiter if the lock
--         is free

local id, hold, lease, mode = ARGV[2], ARGV[4] .. ARGV[3], tonumber(ARGV[5]), ARGV[6]
local ticket, again, limit, by = tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[9]), ARGV[10]
local period, strays = tonumber(ARGV[11]), tonumber(ARGV[12]) or 0

-- The client subscribes before it asks. A server that refuses that reads the request all the same.
local refusal
if denied then
	refusal = may_not_write() or denied(CHANNEL .. ':0', 'SUBSCRIBE')
elseif check and not (check('SUBSCRIBE', CHANNEL) and check('PUBLISH', CHANNEL, '0')) then
	refusal = redis.error_reply("NOPERM this user has no permissions to run 'PUBLISH " .. CHANNEL .. "'")
end
if refusal then
	return refusal
end
local owner, count, gone, copies = read_keys('x:' .. id, 'c:' .. ARGV[3])
if state.refusal then
	return state.refusal
end

-- The usual case: the lock is free, nobody waits, and no hold has ended unnoticed.
if state.empty and now >= state.back and
	not (owner or state.owner or ticket or again or state.forced or gone or copies or strays > 0 or period) then
	call('HSET', LOCK, id, 1)
	local token = take(id, hold, lease, lease, by, 0)
	touch()
	return {'granted', id, token, lease, 0, 1}
end

-- in a function from here on
-- include hold_end.lua
-- include holds.lua
-- include patience.lua
-- include queue_head.lua
-- include queue_order.lua

if is_late(ARGV[3], strays, copies) then
	return {'removed'}
end

-- Whether the last start is too short a time ago. A clock that was set back does not stop us for long.
local function ran()
	return period and state.started and math.abs(now - state.started) * 10 < period * 9
end

local function too_soon()
	remember(period)
	touch()
	return {'ran', math.max(0, now - state.started), about(owner)}
end

-- The owner goes in again; a repeated request changes nothing. The lease is never shortened.
local function reenter()
	if not state.token then
		-- our hash was lost: a token that nobody has had
		state.token = now
		introduce(call)
		call('HSET', STATE, 'token', now)
	end
	if not has_hold(hold) then
		add_hold(hold)
		count = count + 1
		call('HSET', LOCK, owner, count)
	end
	if call('PTTL', LOCK) < lease then
		call('PEXPIRE', LOCK, lease)
		note('HSET', STATE, 'until', now + lease)
	end
	settle()
	return {'granted', owner, int(state.token), call('PTTL', LOCK), state.waited or 0, count}
end

-- is_first: the caller stands at the head of the queue. What takes it out comes first: then a server out of
-- memory takes the rest, too.
local function grant(is_first)
	local queued_since = not state.empty and known(id)
	local since = ticket or queued_since or now_us
	if queued_since then
		drop(id, is_first and 0 or nil)
	end
	local waited = math.max(0, now - math.floor(since / 1000))
	call('HSET', LOCK, id, 1)
	local token = take(id, hold, lease, lease, by, waited)
	if period then
		remember(period)
	end
	announce(lease)
	settle()
	return {'granted', id, token, lease, waited, 1}
end

local function count_present(most)
	local count, index = 0, 0
	while count < most do
		local other = call('LINDEX', QUEUE, index)
		if not other then
			break
		end
		if present(other) then
			count = count + 1
		end
		index = index + 1
	end
	return count
end

-- Queues the caller, or renews its place: its sign of life.
local function join()
	local newcomer = not ticket and not again
	if not state.run or not ticket and state.ours == 0 then
		check_run(false)
	end
	state.empty = false
	introduce(call)
	if not ticket then
		ticket = math.max(now_us, (state.ticket or 0) + 1)
		call('HSET', STATE, 'ticket', ticket)
	end
	local new = call('HSET', STATE, 't:' .. id, int(ticket) .. ' ' .. stamp ..
		((ARGV[13] or '') ~= '' and ' ' .. lease .. ' ' .. ARGV[13] or '') .. (ARGV[7] == '' and ' unheard' or ''))
	tickets[id] = nil
	if new == 1 then
		state.ours = state.ours + 1
		call('HSET', STATE, 'd:' .. id, by, 'ours', int(state.ours))
	end
	if newcomer and new == 1 then
		state.length = call('RPUSH', QUEUE, id) -- looking through a long queue would take long
	elseif not call('ZSCORE', TIMEOUTS, id) then
		call('LREM', QUEUE, 0, id) -- a list without the score is not ours to trust
		place(id, ticket)
	end
	give_score(id)
	if new == 1 and not newcomer then
		call('HDEL', STATE, 'p:' .. id)
	end
end

-- Whether only Redisson's stand before the caller. Nobody tells those when a lease ends, and not all of
-- them look: so the first of ours does.
local function is_first_of_ours()
	for index = 0, LOOK_BEHIND do
		local other = call('LINDEX', QUEUE, index)
		if not other or other == id then
			return other == id
		elseif known(other) then
			return false
		end
	end
end

-- Whether one or two others stand between the caller and the first.
local function is_near()
	return call('LINDEX', QUEUE, 1) == id or call('LINDEX', QUEUE, 2) == id or call('LINDEX', QUEUE, 3) == id
end

-- When a waiter must ask again at the latest if nobody tells it anything.
local function ask_in(first, ttl)
	if ttl == -2 and first ~= id then
		return see_in(first)
	elseif first ~= id and ttl >= 0 and is_untaken() and is_near() then
		-- both the owner and the first may hang
		return math.min(turn_ends(first, now + ttl) - now + 1, SIGN_OF_LIFE_MS)
	elseif first ~= id and (ttl < 0 or not is_first_of_ours()) then
		return SIGN_OF_LIFE_MS
	elseif ttl == -2 then
		return math.max(1, state.back - now)
	elseif ttl == -1 then
		return TURN_MS -- nobody knows when such a lock ends
	end
	return math.min(ttl + 1, SIGN_OF_LIFE_MS)
end

local function queued()
	local ttl = call('PTTL', LOCK)
	local first
	if ttl == -2 then
		first = pass_on(id)
		ttl = call('PTTL', LOCK)
	elseif passed_over > 0 then
		first = announce(ttl, id)
	else
		first = first_waiter(false, id)
	end
	settle(true)
	return {'queued', int(ticket), ask_in(first, ttl), first == id and 1 or 0, ttl, now}
end

notice_end(owner)

for i = 14, #ARGV do
	if owner == ARGV[i] and not is_kept() then
		return reenter()
	end
end
if owner == id and is_kept() then
	return {'removed'} -- all of it was given back
elseif owner == id then
	return reenter()
end

if gone then
	return {'removed', about(owner)}
elseif ticket and ran() and not known(id) and has_ended(id, 'left') then
	return too_soon() -- it was answered so, and has not heard it
end
if again and not ticket then
	-- it has not heard its ticket; it may have been dropped since
	local kept = call('HGET', STATE, 'p:' .. id)
	ticket = known(id) or kept and number(string.match(kept, ' (%d+)$'))
end
if ticket then
	notice_loss(ticket / 1000)
end
if ticket and again then
	check_run(true)
end

traceless = mode == 'try'
local was_amiss = check_queue()
-- Whether the lock is free, and the caller the first in the queue: then its place needs no renewal.
local is_next = ticket and not owner and now >= state.back and call('LINDEX', QUEUE, 0) == id and known(id)
if ticket and not is_next then
	join()
end
if not ticket and ran() then
	return too_soon()
end
local first = is_next and id or first_waiter(not owner, id)
if not owner and now >= state.back and (not first or first == id) and ran() then
	-- this waiter stood behind the run that has just been
	drop(id, 0)
	record('left', now, id, nil, by, math.max(0, now - math.floor(ticket / 1000)))
	pass_on()
	settle()
	return too_soon()
end
if not owner and now >= state.back and (not first or first == id) then
	return grant(first == id)
end
if mode == 'try' then
	if passed_over > 0 or was_amiss then
		settle()
	end
	return {'busy', about(owner or first)}
end
if not ticket then
	if limit then
		local waiters = count_present(limit)
		if waiters >= limit then
			settle()
			return {'full', waiters, about(owner)}
		end
	end
	ticket = known(id)
	join()
end
return queued()
