-- acquire: takes the lock, goes in again, or queues for it; the one request of a waiter, also as its sign of
-- life and to come back after a connection was lost. May be sent twice.
--
-- ARGV  2 id       the owner id of a new grant
--       3 request  identifies the asking process in all of its requests; the id in the queue
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
--      12 strays   how many requests this process has left under way: copies of them may come late
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
--          now ms, ticket of the marker on whose channel an unlock of Redisson's may be told, or ''}
--         {'busy', HOLDER...}       mode 'try', or held back after a restart
--         {'full', waiters, HOLDER...}
--         {'ran', ms ago, HOLDER...}  a COMMAND was started too short a time ago; the waiter has left
--         {'ran ok', ms ago}        a COMMAND ended with 0 then, so the caller need not run; it has left
--         {'removed', HOLDER...}    somebody took the waiter out of the queue; or this is a late copy
--         {'superseded', by, HOLDER...}  a newer one with `newest` has come since; by: who that is, or ''
--         {'other', mode}           the inherited owner has a hold of another mode, or another slot
--         {'spelled', name}         another spelling of this name is in use
--         {'version', theirs, ours} the lock is in use by another version of this protocol
--         HOLDER...: see `about` in holds.lua; busy: '', '', -1, '', 0, -1 and 0 if the lock is free, and
--         others asked first

-- include base.lua

local id, request, kind, lease = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local ticket, again, by = number(ARGV[7]), ARGV[8] == '1', ARGV[10]
local period, strays = ARGV[11] or '', tonumber(ARGV[12]) or 0
local want, newest = ARGV[14] or 'x', tonumber(ARGV[15] or '')
local entry = kind .. request -- of `holds`

-- The client subscribes before it asks. A server that refuses that reads the request all the same.
local refusal
if lacking then
	refusal = lacking() or lacking('channel', 'SUBSCRIBE')
elseif check and not (check('SUBSCRIBE', CHANNEL) and check('PUBLISH', CHANNEL, '0')) then
	refusal = redis.error_reply("NOPERM this user has no permissions to run 'PUBLISH " .. CHANNEL .. "'")
end
if refusal then
	return refusal
end

read_lock(id)
if lock.refusal then
	return lock.refusal
end
local late, word = is_late(request, strays)
local hold_mode, waited = 'x', 0 -- of the grant

if late then
	return {'removed'}
end

local function grant()
	enter(call, hold_mode, id, want)
	local hold = take(id, hold_mode, entry, lease, lease, by, waited, period)
	if pass_on then
		pass_on()
		settle(hold)
	else
		touch(hold)
	end
	return {'granted', id, int(hold.token), lease, waited, 1, hold_mode}
end

-- Usually nobody holds, nobody waits, no hold has ended unnoticed, and there is nothing to consider.
if not (word or lock.field or lock.holder or lock.is_queued or want ~= 'x' or ticket or again or newest or
	period ~= '' or match(lock.run, ' %d+$')) then
	return grant()
end

-- in a function from here on
-- include holds.lua recover.lua jobs.lua waiters.lua queue.lua

local limit, secret = tonumber(ARGV[9]), ARGV[13] or ''

local function too_soon()
	if remember(period) then
		save_runs()
	end
	settle()
	return {'ran', math.max(0, now - (lock.runs.last or now)), about()}
end

-- What this process was told, or is to be told, by its last word.
local function answer_again()
	local newer = match(word, '^superseded (.*)$')
	if newer then
		return {'superseded', newer, about()}
	elseif word == 'ran ok' then
		return {'ran ok', math.max(0, now - (lock.runs.ok_ended or now))}
	end
	return {'removed', about()}
end

-- Whether the slot of this mode is among those that are wanted.
local function is_wanted(slot_mode)
	for _, name in ipairs(slots_of(want)) do
		if slot_mode == '=' .. name then
			return true
		end
	end
	return false
end

-- The owner goes in again; a repeated request changes nothing. The lease is never shortened.
local function reenter(hold)
	if hold.mode ~= 'x' and hold.mode ~= want and not is_wanted(hold.mode) then
		return {'other', hold.mode}
	end
	if not has_entry(hold, entry) then
		introduce()
		if not hold.token then
			-- our hash was lost, or this is a hold of Redisson's
			if lock.token == 0 then
				lock.token = now -- one that nobody has had
				call('HSET', STATE, 'token', stamp)
			end
			hold.token = lock.token
		end
		hold.count = (lock.mode == 'x' or hold.holds ~= ',') and hold.count + 1 or 1
		hold.holds = hold.holds .. entry .. ','
		save_hold(hold) -- the first to be refused by a server out of memory
		set_count(hold, hold.count)
	end
	local ttl, place = extend(hold, lease), ticket_of(request)
	if place then -- another process of its owner was first
		end_wait(request, place)
		pass_on()
	end
	settle(hold)
	return {'granted', hold.id, int(hold.token), ttl, hold.waited or 0, hold.count, hold.mode}
end

-- ---- --supersede ----

-- Since when the caller waits, ms. Its ticket may be that of another one.
local function waits_from()
	if newest > 0 then
		return newest < MOST and newest or now
	end
	return math.max(0, now + newest)
end

local function become_newest(its_ticket)
	local other, since = read_newest()
	if newest then
		set_newest(request, other == request and since or waits_from(), its_ticket)
	end
end

-- Whether the caller began to wait later than the newest, or at the same time, and our hash does not know
-- it: data were lost. The newest was back first, or the hash is a copy from before the caller came.
local function is_newest_again(is_known)
	local other, since = read_newest()
	return newest and ticket and other and other ~= request and not is_known and
		newest + CLOCK_SLACK_MS >= since
end

-- Whether a newer one has come since. A caller with a ticket was here before the newest, but for the case
-- above. Any other caller comes for the first time: it is older if it has been asking for longer than the
-- newest has waited. If the newest began in the future, the clock was set back, and nobody knows which is
-- older. The caller counts as newer then, and if both began at the same time.
local function is_outdated(is_known)
	local other, since = read_newest()
	if not (newest and other) or other == request then
		return false
	elseif ticket then
		return not is_newest_again(is_known)
	end
	return waits_from() + CLOCK_SLACK_MS < since and since <= now
end

local function newest_by()
	local other = read_newest()
	local waiter, hold = waiter_of(other), find_hold(other)
	return waiter and waiter.by or hold and by_of(hold) or ''
end

-- For a newcomer, and one that is the newest again: gives it the place and the ticket of the newest waiter,
-- and takes that one out. Returns whether there was such a waiter.
local function supersede()
	local old, _, its_ticket = read_newest()
	local stands_at = old and old ~= request and ticket_of(old)
	its_ticket = stands_at or its_ticket
	if not its_ticket or old == request then
		return false
	end
	check_run(true)
	local its_by, its_time = waiter_of(old) and waiter_of(old).by, waited_by(old, its_ticket)
	call('ZADD', OURS, int(its_ticket), request) -- before the other goes, with whom the batch may
	become_newest(its_ticket)
	ticket = its_ticket
	put_first_marker()
	set_last_word(old, 'superseded ' .. by)
	if stands_at then -- else it seemed dead, and was passed over
		take_out({old}, its_ticket)
		record('superseded', stamp, old, nil, its_by, int(its_time), nil, nil, nil, nil, by)
	end
	tell(old, '0') -- it asks, and is answered so
	return true
end

-- ---- The queue ----

-- Whether so many waiters are present. Behind the first thousand each is taken for present.
local function is_full()
	local ids, count = {}, math.max(0, call('ZCARD', OURS) - MANY)
	for i, waiter in ipairs(in_order(MANY)) do
		ids[i] = waiter.id
	end
	for _ in pairs(present_of(ids)) do
		count = count + 1
	end
	return count >= limit
end

-- A newcomer's ticket is larger than the last one that was given, or brought, whatever the clock says.
local function new_ticket()
	local last = number(call('ZREVRANGE', OURS, 0, 0, 'WITHSCORES')[2]) or 0
	return math.max(now_us, lock.ticket + 1, last + 1)
end

-- The caller waits, or goes on waiting.
local function queue_up(is_newcomer)
	if not read_run() or is_newcomer and not find_oldest() then
		check_run(false) -- on which server process the waiters queue
	end
	introduce()
	if match(period, '^ok') and remember(period) then
		save_runs() -- a COMMAND that ends with 0 looks for those who ask
	end
	become_newest(ticket)
	if turn_of(request, ticket) then -- it does not hang: it asked, and there was no room any more
		lock.turn, turn = '', nil
		call('HDEL', STATE, 'turn')
	end
	local waiter = {stamp, ARGV[5], secret ~= '' and secret or '-', kind, period ~= '' and period or '-', want,
		id ~= request and id or '-', by}
	lock.ticket = math.max(lock.ticket, ticket)
	call('HSET', STATE, 'w:' .. request, table.concat(waiter, ' '), 'ticket', int(lock.ticket))
	waiters[request] = nil
	if is_newcomer then
		stand(request, ticket, true)
	end
end

-- Whether the lease that ends in so many ms is that of an owner which was handed the lock, and has not
-- renewed it yet.
local function is_untaken_until(ms)
	local owner = lock.field
	if MODES[owner] then
		owner = call('ZRANGE', HOLDERS, int(now + ms), int(now + ms), 'BYSCORE', 'LIMIT', 0, 1)[1]
	end
	return owner and find_hold(owner) and is_untaken(find_hold(owner))
end

-- When the caller must ask again at the latest if nobody tells it anything. rank: its place among ours, from
-- 0.
local function ask_in(first, first_ticket, rank)
	local is_first = first == request
	local waiter = first_ticket and waiter_of(first)
	local room, ms = fit(is_first and want or waiter and waiter.want or 'x')
	if is_stuck then
		return 1
	elseif is_first and now < back_at() then
		return math.max(1, back_at() - now)
	elseif room then
		return is_first and 1 or see_in(first, first_ticket or scores[first])
	elseif is_first and ms == -1 then
		return TURN_MS -- nobody knows when such a lock ends
	elseif ms >= 0 and rank == 0 and not first_ticket then
		return math.min(ms + 1, seen_dead_in(first), SIGN_OF_LIFE_MS)
	elseif ms >= 0 and (is_first or rank <= 3 and is_untaken_until(ms)) then
		return math.min(ms + 1, SIGN_OF_LIFE_MS)
	end
	return SIGN_OF_LIFE_MS
end

local refused = begin(id)
if refused then
	return refused
end
local inside = find_hold(id)
for i = 16, #ARGV do
	local hold = find_hold(ARGV[i])
	inside = hold and hold.state == 'held' and hold or inside
end
if word and not (inside and has_entry(inside, entry)) then
	return answer_again()
elseif inside and inside.state == 'kept' then
	return {'removed'} -- all of it was given back
elseif inside then
	return reenter(inside)
end

local is_waiting = ticket_of(request)
local brought = ticket
ticket = ticket or is_waiting -- it has not heard its ticket
if not ticket and read_newest() == request then
	ticket = select(3, read_newest()) -- and was passed over meanwhile
end
if is_outdated(is_waiting) then
	return {'superseded', newest_by(), about()}
end
local was_late = is_newest_again(is_waiting) -- an older one was back first
if brought then
	notice_loss(brought / 1000, brought > lock.ticket)
end
if brought and again then
	check_run(true)
end

local since = newest and newest ~= 0 and waits_from() or ticket and waits_since(request, ticket)
if is_done(period, since) then
	if remember(period) then
		save_runs()
	end
	if is_waiting then
		if not brought then -- a copy could not tell that it waited
			set_last_word(request, 'ran ok')
		end
		local was_first = find_oldest() == request
		record('left', stamp, request, nil, by, int(waited_by(request, is_waiting)))
		end_wait(request, is_waiting)
		if was_first or not lock.field then
			pass_on()
		end
	end
	settle()
	return {'ran ok', math.max(0, now - (lock.runs.ok_ended or now))}
elseif not ticket and ran(period) then
	return too_soon()
end
is_traceless = ARGV[6] == 'try'
local room = fit(want)
if is_traceless and not room then
	return {'busy', about()}
end
local has_left = false
if was_late or newest and not ticket and not is_traceless then
	has_left = supersede()
end
if not has_left and ticket and ticket ~= is_waiting then
	if is_waiting then -- a late copy of its first request had queued it anew
		take_out({request}, is_waiting)
	end
	stand(request, ticket)
end

local first, first_ticket = first_waiter(request)
if (not first or first == request) and fit(want) and now >= back_at() and ran(period) then
	-- this waiter stood behind the run that has just been
	record('left', stamp, request, nil, by, int(waited_by(request, ticket)))
	end_wait(request, ticket)
	pass_on()
	return too_soon()
end
local is_newcomer = not ticket
if is_newcomer and first or not fit(want) or now < back_at() or first and first ~= request then
	if is_traceless then
		if passed_over > 0 then
			settle()
		end
		return {'busy', about()}
	elseif is_newcomer and limit and is_full() then
		settle()
		return {'full', limit, about()}
	end
	ticket = ticket or new_ticket()
	queue_up(is_newcomer)
	local waiter = first_ticket and first ~= request and waiter_of(first)
	if passed_over > 0 or first and first ~= request and fit(waiter and waiter.want or 'x') then
		first, first_ticket = pass_on(request)
	end
	if not first then
		first, first_ticket = request, ticket
	end
end
hold_mode = fit(want)
if first and first ~= request or not hold_mode or now < back_at() then
	local rank = call('ZRANK', OURS, request) or 0
	local ms = ask_in(first, first_ticket, rank)
	settle(nil, has_left, request)
	local marker, heard = marker_to_hear()
	return {'queued', int(ticket), ms, first == request and 1 or 0, call('PTTL', LOCK), now,
		marker and (rank <= 1 or heard < 2) and int(marker) or ''}
end
if ticket then
	waited = waited_by(request, ticket)
	take_out({request}, ticket)
end
become_newest(nil)
return grant()
