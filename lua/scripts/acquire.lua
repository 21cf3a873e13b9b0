-- acquire: takes the lock, goes in again, or queues for it; the one request of a waiter,
-- also as its sign of life and to come back after a connection was lost. May be sent twice.
--
-- ARGV  2 id       the owner id of a new grant, until then the id in the queue
--       3 request  identifies the asking process in all of its requests
--       4 kind     'w' for wrap, 'v' for a wrap of several locks that does not have all of them yet, 'a' for
--                  acquire --while-pid, 'h' for acquire by hand
--       5 lease    ms
--       6 mode     'wait', or 'try': do not queue
--       7 ticket   from an earlier reply, or ''
--       8 again    '1' when an earlier copy of this request may have arrived, or the connection is a
--                  new one, else '0'
--       9 limit    do not join behind so many present waiters, or ''
--      10 by       host, pid, user and command of the caller, and perhaps a reason, separated by tabs
--      11 period   MS: do not run if a COMMAND was started less than nine tenths of so many ms ago;
--                  okMS: nor if one ended with 0 that was started then, or ended since the caller began to
--                  wait; or ''
--      12 strays   how many requests this process has left under way on connections that are no more
--      13 secret   hexadecimal digits: the caller takes the message `granted` with this secret for a grant;
--                  or '': the caller is told its turn
--      14 want     x: the lock alone; s: a shared hold; #N: one of the slots 1 to N; =A,B: one of these slots
--      15 newest   the caller takes over the place of the waiter that asked so before, which waits no more:
--                  since when it waits by the server's clock, ms; before its first reply -MS, since it has
--                  been asking for MS; else ''
--      16...       owner ids that the caller inherited, any of which may hold the lock already
--
-- Returns {'granted', owner, token, ttl ms, waited ms, hold count, mode}
--         {'queued', ticket, ask again in ms at the latest, 1 when first else 0, ttl of the lock in ms,
--          now ms}
--         {'busy', HOLDER...}       mode 'try', or held back after a restart
--         {'full', waiters, HOLDER...}
--         {'ran', ms ago, HOLDER...}  a COMMAND was started too short a time ago; the waiter has left
--         {'ran ok', ms ago}        a COMMAND ended with 0 then, so the caller need not run; it has left
--         {'removed', HOLDER...}    somebody took the waiter out of the queue
--         {'superseded', by, HOLDER...}  a newer one with `newest` has come since; by: who that is, or ''
--         {'other', mode}           the inherited owner has a hold of another mode, or another slot
--         {'removed'}               this is a late copy, or all of it was given back
--         {'spelled', name}         another spelling of this name is in use
--         {'version', theirs, ours} the lock is in use by another version of this protocol
--         HOLDER...: owner, by, held, mode, holders, next, by hand, as `view` returns them; busy: '', '', -1,
--         '', 0, -1 and 0 if the lock is free, and others asked first

local id, request, kind, lease, mode = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local ticket, again, limit, by = tonumber(ARGV[7]), ARGV[8] == '1', tonumber(ARGV[9]), ARGV[10]
local period, strays, secret = ARGV[11] or '', tonumber(ARGV[12]) or 0, ARGV[13] or ''
local want, newest = ARGV[14] or 'x', tonumber(ARGV[15] or '')
local entry = kind .. request -- of `holds`

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

-- include new_hold.lua log_event.lua

-- The usual case: the lock is free, nobody waits, no hold has ended unnoticed, and our hash knows nothing of
-- the caller.
if want == 'x' and not (ticket or again or newest) and period == '' and strays == 0 and
	#call('HGETALL', LOCK) == 0 and call('LLEN', QUEUE) == 0 and call('ZCARD', TIMEOUTS) == 0 then
	local name, version, token, grants, started, ours, back, turn, holder, hold, waiter, earlier =
		unpack(call('HMGET', STATE, 'name', 'v', 'token', 'n:granted', 'started', 'ours', 'back', 'turn', 'holder',
			'h:' .. id, 'w:' .. id, 'r:' .. request))
	local last_token, count = tonumber(token or nil), tonumber(grants or nil)
	local last_start = match(started or '', '^([%d-]+) [%d-]+ %-$')
	if name == LOCK and version == VERSION and ours == '0' and last_start and
		not (turn or holder or hold or waiter or earlier) and last_token and last_token < MOST and
		count and count < MOST and now >= (tonumber(back or 0) or MOST) then
		token = format('%.0f', math.max(now, last_token + 1))
		if kind == 'w' then
			started = stamp .. ' ' .. last_start .. ' -'
		end
		call('HSET', LOCK, id, 1)
		call('PEXPIRE', LOCK, lease)
		call('HSET', STATE, 'token', token, 'holder', id, 'h:' .. id,
			new_hold(token, lease, lease, 0, '-', 'x', entry, by),
			'n:granted', format('%.0f', count + 1), 'started', started)
		call('PEXPIRE', STATE, lease + 86400000)
		log_event('granted', stamp, id, token, by, 0)
		return {'granted', id, token, lease, 0, 1, 'x'}
	end
end

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua more_records.lua lock.lua
-- in a function from here on
-- include publish.lua hold_end.lua holds.lua holds_left.lua capacity.lua changes.lua
-- include patience.lua queue_head.lua pass_on.lua queue_order.lua supersede.lua

local refused = begin(id, request, strays, 'removed')
if refused then
	return refused
end

local once_ms, once_ok = read_period(period)

local function too_soon()
	introduce(note)
	remember(period)
	settle()
	return {'ran', math.max(0, now - lock.started), about()}
end

-- The caller need not run: it leaves the queue, if it is there. It is answered the same again, also if it has
-- not heard its ticket.
local function ran_ok()
	introduce(note)
	remember(period)
	if known(id) or call('ZSCORE', TIMEOUTS, id) then
		local was_first = call('LINDEX', QUEUE, 0) == id
		drop(id, was_first and 0 or nil, true)
		record('left', stamp, id, nil, by, ticket and waited_by(id, {ticket = ticket}))
		if was_first or not lock.field then
			pass_on()
		end
	end
	settle()
	return {'ran ok', math.max(0, now - lock.ok_ended)}
end

-- Whether the slot of this mode is among those that are wanted.
local function is_among(mode, want)
	for _, name in ipairs(slots_of(want)) do
		if mode == '=' .. name then
			return true
		end
	end
	return false
end

-- The owner goes in again; a repeated request changes nothing. The lease is never shortened.
local function reenter()
	local mode = lock.hold and lock.hold.mode or lock.mode
	if mode ~= 'x' and mode ~= want and not is_among(mode, want) then
		return {'other', mode}
	end
	if not lock.token then
		-- our hash was lost: a token that nobody has had
		lock.token = now
		introduce(call)
		call('HSET', STATE, 'token', now)
	end
	if not has_hold(entry) then
		-- beside others, only our hash knows how many holds the owner has
		lock.count = (lock.mode == 'x' or lock.hold) and lock.count + 1 or 1
		add_hold(entry)
		set_count(lock.count)
	end
	local ttl = extend(lease)
	settle()
	return {'granted', lock.owner, lock.hold.token, ttl, number(lock.hold.waited) or 0, lock.count, mode}
end

-- is_first: the caller stands at the head of the queue. It is taken out first: after a deletion a server out
-- of memory accepts the rest, too.
local function grant(is_first, mode)
	local waiter = not lock.empty and known(id)
	local since = ticket or waiter and waiter.ticket or now_us
	if waiter then
		drop(id, is_first and 0 or nil)
	end
	local waited = waited_by(id, {ticket = since})
	enter(call, mode, id, want)
	local token = take(id, mode, entry, lease, lease, by, waited, '-', period)
	remember(period)
	if newest then
		become_newest()
	end
	pass_on()
	settle()
	return {'granted', id, token, lease, waited, 1, mode}
end

local function count_present(most)
	local count, index, other = 0, 0, call('LINDEX', QUEUE, 0)
	while other and count < most do
		count, index = count + (present(other) and 1 or 0), index + 1
		other = call('LINDEX', QUEUE, index)
	end
	return count
end

-- Queues the caller; or takes its sign of life, and renews its place.
local function join()
	local newcomer = not ticket and not again
	if not lock.run or not ticket and lock.ours == 0 then
		check_run(false)
	end
	lock.empty = false
	introduce(call)
	if once_ok then
		remember(period) -- a COMMAND that ends with 0 looks for those who ask
	end
	if newest then
		become_newest()
	end
	ticket = ticket or math.max(now_us, (lock.ticket or 0) + 1)
	if ticket > (lock.ticket or 0) then -- after a loss of data, a waiter brings a larger one than we know
		lock.ticket = ticket
		call('HSET', STATE, 'ticket', int(ticket))
	end
	local is_new = not known(id)
	local waiter = {
		state = ARGV[7] == '' and 'new' or 'waits', ticket = ticket, seen = now, lease = ARGV[5],
		secret = secret ~= '' and secret or '-', kind = kind, period = once_ms and period or '-', want = want,
		by = by,
	}
	call('HSET', STATE, 'w:' .. id, waiter_text(waiter))
	waiters[id] = waiter
	if is_new or lock.ours == 0 then
		lock.ours = lock.ours + 1
		call('HSET', STATE, 'ours', lock.ours)
		lock.ours_saved = lock.ours
	end
	local has_score = call('ZSCORE', TIMEOUTS, id)
	if newcomer and is_new and not has_score then
		lock.length = call('RPUSH', QUEUE, id) -- looking through a long queue would take long
	elseif not has_score then
		call('LREM', QUEUE, 0, id) -- a list without the score is not ours to trust
		place(id, ticket)
	end
	give_score(id)
end

-- Whether only Redisson's waiters stand before the caller. No script tells them when a lease ends, and not
-- all of them ask then: so the first of ours asks.
local function is_first_of_ours()
	for index = 0, LOOK_BEHIND do -- mostly the first one is ours
		local other = call('LINDEX', QUEUE, index)
		if not other or other == id or known(other) then
			return other == id
		end
	end
end

-- Whether one or two others stand between the caller and the first.
local function is_near()
	return call('LINDEX', QUEUE, 1) == id or call('LINDEX', QUEUE, 2) == id or call('LINDEX', QUEUE, 3) == id
end

-- Whether the lease that ends in so many ms is that of an owner which was handed the lock, and has not
-- renewed it yet.
local function is_untaken_until(ms)
	local hold = lock.hold
	if MODES[lock.field] then
		local owner = call('ZRANGE', HOLDERS, now + ms, now + ms, 'BYSCORE', 'LIMIT', 0, 1)[1]
		hold = owner and read_hold(owner, call('HGET', STATE, 'h:' .. owner))
	end
	return hold and is_untaken(hold)
end

-- When a waiter must ask again at the latest if nobody tells it anything. ms: in how many ms there may be
-- room for the first; nil: there is.
local function ask_in(first, ms)
	if not ms and first ~= id then
		return see_in(first)
	elseif first ~= id and ms >= 0 and is_untaken_until(ms) and is_near() then
		-- both the owner and the first may hang
		return math.min(turn_ends(first, now + ms) - now + 1, SIGN_OF_LIFE_MS)
	elseif first ~= id and (ms < 0 or not is_first_of_ours()) then
		return SIGN_OF_LIFE_MS
	elseif not ms then
		return math.max(1, lock.back - now)
	elseif ms == -1 then
		return TURN_MS -- nobody knows when such a lock ends
	end
	return math.min(ms + 1, SIGN_OF_LIFE_MS)
end

local function queued()
	local first = passed_over == 0 and first_waiter(id)
	if passed_over > 0 or first ~= id and fit(want_of(first)) then
		first = pass_on(id)
	end
	local room, ms = fit(want_of(first), true)
	if room and first == id and now >= lock.back then
		tell_turn(id) -- it asks at once; the second looks whether it has
	end
	settle(true)
	return {'queued', int(ticket), ask_in(first, ms), first == id and 1 or 0,
		lock.mode == 'x' and ms or call('PTTL', LOCK), now}
end

for i = 16, #ARGV do
	if select_holder(ARGV[i]) and not is_kept() then
		return reenter()
	end
end
if MODES[lock.field] then
	lock.owner, lock.hold, lock.count = nil, nil, nil
	select_hold(id, lock.mine)
end
if lock.owner == id and is_kept() then
	return {'removed'} -- all of it was given back
elseif lock.owner == id then
	return reenter()
end

if lock.waiter and lock.waiter.state == 'removed' and (ticket or again) then
	return {'removed', about()} -- a newcomer is another waiter with the same id
elseif lock.waiter and lock.waiter.state == 'superseded' and (ticket or again) then
	return {'superseded', lock.waiter.by, about()}
elseif ticket and ran(period) and not known(id) and has_ended(id, 'left') then
	return too_soon() -- it was answered so, and has not heard it
end
if again and not ticket then
	-- it has not heard its ticket; it may have been dropped since, or was handed the lock in vain
	ticket = lock.waiter and lock.waiter.ticket or lock.mine and number(lock.mine.unheard)
end
if is_outdated() then
	return {'superseded', newest_by(), about()}
end
local was_late = is_newest_again() -- an older one was back first
if ticket then
	notice_loss(ticket / 1000)
end
if ticket and again then
	check_run(true)
end

traceless = mode == 'try'
local was_amiss = check_queue()
local since = newest and newest ~= 0 and waits_from() or ticket and waits_since(id, {ticket = ticket})
if is_done(period, since) then
	return ran_ok()
end
if was_late then
	supersede()
end
local hold_mode = now >= lock.back and fit(want) or nil -- nil: there is no room now
-- Whether there is room, and the caller is the first in the queue: then its place needs no renewal.
local is_next = ticket and hold_mode and call('LINDEX', QUEUE, 0) == id and known(id)
if ticket and not is_next then
	join()
end
if not ticket and ran(period) then
	return too_soon()
end
if newest and not ticket and mode ~= 'try' and supersede() then
	join()
end
local first = is_next and id or first_waiter(id)
local is_free = hold_mode and now >= lock.back -- first_waiter may have noticed a restart
if is_free and first == id and ran(period) then
	-- this waiter stood behind the run that has just been
	drop(id, 0)
	record('left', stamp, id, nil, by, waited_by(id, {ticket = ticket}))
	pass_on()
	return too_soon()
end
if is_free and (not first or first == id) then
	return grant(first == id, hold_mode)
end
if mode == 'try' then
	if passed_over > 0 or was_amiss then
		settle()
	end
	return {'busy', about()}
end
if not ticket then
	if limit then
		local count = count_present(limit)
		if count >= limit then
			settle()
			return {'full', count, about()}
		end
	end
	local waiter = known(id)
	ticket = waiter and waiter.ticket
	join()
end
return queued()
