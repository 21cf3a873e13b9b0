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
--         {'removed', HOLDER...}    somebody took the waiter out of the queue
--         {'forced', HOLDER...}     somebody broke its hold by force
--         {'removed'}               its hold was given back, or this is a late copy
--         {'superseded', by, HOLDER...}  a newer one with `newest` has come since; by: who that is, or ''
--         {'other', mode}           the inherited owner has a hold of another mode, or another slot
--         HOLDER...: see `about` in holds.lua; busy: '', '', -1, '', 0, -1 and 0 if the lock is free, and
--         others asked first

local id, request, kind, lease = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local strays, late = tonumber(ARGV[12]) or 0, {'removed'}
local again, by, period, want = ARGV[8] == '1', ARGV[10], ARGV[11] or '', ARGV[14] or 'x'
local entry = kind .. request -- of `holds`

-- include base.lua grant.lua

local ticket, newest = number(ARGV[7]), tonumber(ARGV[15] or '')
-- What each grant and release needs of the server, asked before anything is changed. (The client subscribes
-- before it asks, but a server that refuses that reads the request all the same.)
local NEEDED = {{'SUBSCRIBE', CHANNEL}, {'PUBLISH', CHANNEL, '0'}, {'PEXPIRE', LOCK, '0'}, {'DEL', LOCK},
	{'HSET', STATE, '0', '0'}, {'HDEL', STATE, '0'}}
for _, words in ipairs(check and NEEDED or {}) do
	if not check(unpack(words)) then
		local command = words[1] .. ' ' .. words[2]
		return redis.error_reply("NOPERM this user has no permissions to run '" .. command .. "'")
	end
end

local function grant(mode, waited)
	enter(call, mode, id, want)
	local hold = take(id, mode, entry, lease, lease, by, waited, period)
	if pass_on then
		pass_on()
		settle()
	else
		touch()
	end
	return {'granted', id, int(hold.token), lease, waited, 1, mode}
end

-- Usually nobody holds, nobody waits, no hold has ended unnoticed, and there is nothing to consider.
if not (word or asks or lock.field or lock.holder or want ~= 'x' or ticket or again or newest or
	period ~= '' or (number(match(lock.run, ' (%d+)$')) or 0) > now or
	call('EXISTS', LIST, TIMEOUTS, OURS) > 0) then
	return grant('x', 0)
end

-- in a function from here on
-- include ends.lua holds.lua recover.lua jobs.lua waiters.lua queue.lua

local limit, secret = tonumber(ARGV[9]), ARGV[13] or ''

-- A COMMAND was started too short a time ago, or one ended with 0. The caller waits no more.
local function need_not(why, time, ...)
	remember(period)
	settle()
	return {why, math.max(0, now - (time or now)), ...}
end

local function leave_queue(its_ticket)
	record('left', now, request, nil, by, waited_by(request, its_ticket))
	end_wait(request, its_ticket)
end

begin(my_text) -- one that was handed the lock may not have heard it
local inside = find_hold(id)
for i = 16, #ARGV do
	local hold = find_hold(ARGV[i])
	inside = hold and hold.state == 'held' and hold or inside
end
if word and not (inside and has_entry(inside, entry)) then
	local newer = match(word, '^superseded (.*)$')
	if word == 'ran ok' then
		return need_not(word, select(2, numbers(lock.ok)))
	end
	return newer and {'superseded', newer, about()} or {word == 'forced' and word or 'removed', about()}
elseif inside and inside.state == 'kept' and (lock.mode ~= 'x' or has_entry(inside, request)) then
	return {'removed'} -- all of it was given back
elseif inside and inside.state == 'held' then
	-- the owner goes in again; a repeated request changes nothing. The lease is never shortened
	local slot, count = match(inside.mode, '^=(.*)$'), count_of(want)
	local is_wanted = slot and (count and (number(slot) or MOST) <= count or
		string.find(string.gsub(want, '^=', ',') .. ',', ',' .. slot .. ',', 1, true))
	if inside.mode ~= 'x' and inside.mode ~= want and not is_wanted then
		return {'other', inside.mode}
	end
	if not has_entry(inside, entry) then
		introduce()
		if not inside.token and lock.token == 0 then -- our hash was lost, or this is a hold of Redisson's
			raise_token(now) -- one that nobody has had
		end
		local count_now = (lock.mode == 'x' or inside.holds ~= ',') and inside.count + 1 or 1
		inside.holds = inside.holds .. entry .. ','
		change_entries(inside, count_now, entry, entry)
	end
	local ttl, place = extend(inside, lease), ticket_of(request)
	if place then -- another process of its owner was first
		end_wait(request, place)
		pass_on()
	end
	settle()
	return {'granted', inside.id, int(inside.token or lock.token), ttl, inside.waited or 0, inside.count,
		inside.mode}
end

-- ---- Its place ----

local is_waiting, brought = ticket_of(request), ticket
local other, other_since, other_ticket = read_newest()
-- It has not heard its ticket. The newest one may also have been taken out since, as dead, before its turn.
ticket = ticket or is_waiting or newest and other == request and other_ticket or nil

-- --supersede: since when the caller waits, ms; its ticket may be that of another one.
local waits_from = newest and (newest > 0 and (newest < MOST and newest or now) or math.max(0, now + newest))
other = newest and other ~= request and other or nil
-- Usually the caller is newer, since it has just come. It is older if it was away, or its first request was
-- late. If the newest began in the future, the clock was set back, and nobody knows: it counts as newer.
if other and waits_from + CLOCK_SLACK_MS < other_since and other_since <= now then
	local waiter, hold = waiter_of(other), find_hold(other)
	return {'superseded', waiter and waiter.by or hold and by_of(hold) or '', about()}
end

local function become_newest(its_ticket)
	if newest then
		local now_newest, since = read_newest()
		save('newest', request, now_newest == request and since or waits_from, its_ticket)
	end
end

if brought then
	notice_loss(brought / 1000, brought > lock.ticket)
end
if brought and again then
	check_run(true)
end
if is_done(period, newest and newest ~= 0 and waits_from or ticket and waits_since(request, ticket)) then
	if is_waiting then
		local was_first = find_oldest() == request
		leave_queue(is_waiting)
		if not brought then -- a copy could not tell that it waited
			set_last_word(request, 'ran ok')
		end
		if was_first or not lock.field then
			pass_on()
		end
	end
	return need_not('ran ok', select(2, numbers(lock.ok)))
elseif not ticket and ran(period) then
	return need_not('ran', numbers(lock.start), about())
end
local room, ms = fit(want)
is_traceless = ARGV[6] == 'try'
if is_traceless and not room then
	return {'busy', about()}
end

-- The caller gets the place and the ticket of the newest waiter, and takes that one out.
local stands_at = other and ticket_of(other)
other_ticket = other and (stands_at or other_ticket)
local has_left = other_ticket and not is_traceless
if has_left then
	check_run(true)
	local its_by, its_time = waiter_of(other) and waiter_of(other).by, waited_by(other, other_ticket)
	ticket = math.min(ticket or MOST, other_ticket) -- after a loss of data, its own may be the older one
	stand(request, ticket) -- before the other goes, with whom the batch may
	become_newest(ticket)
	set_last_word(other, 'superseded ' .. by)
	if stands_at then -- else it seemed dead, and was passed over
		take_out({other}, other_ticket)
		record('superseded', now, other, nil, its_by, its_time, nil, nil, nil, nil, by)
	end
	tell(other, '0') -- it asks, and is answered so
elseif ticket and ticket ~= is_waiting then
	if is_waiting then -- a late copy of its first request had queued it anew
		take_out({request}, is_waiting)
	end
	stand(request, ticket)
end

-- ---- Its turn ----

local first, first_ticket = first_waiter(request)
local is_free = room and now >= back_at() and (not first or first == request)

local grants = lock.grants
if not is_free then
	if is_traceless then
		if passed_over > 0 then
			settle()
		end
		return {'busy', about()}
	elseif not ticket and limit and see(in_order(MANY)) + math.max(0, call('ZCARD', OURS) - MANY) >= limit then
		-- behind the first thousand each was taken for present
		settle()
		return {'full', limit, about()}
	end

	-- the lock is not the caller's just now: it waits, or goes on waiting
	local is_newcomer = not ticket
	if is_newcomer then -- in µs, and larger than the last one that was given or brought, whatever the clock says
		local last = number(call('ZREVRANGE', OURS, 0, 0, 'WITHSCORES')[2]) or 0
		ticket = math.max(clock[1] * 1000000 + clock[2], lock.ticket + 1, last + 1)
	end
	if not read_run() or is_newcomer and not find_oldest() then
		check_run(false) -- on which server process the waiters queue
	end
	introduce()
	if match(period, '^ok') then
		remember(period) -- a COMMAND that ends with 0 looks for those who ask
	end
	become_newest(ticket)
	if turn_of(request, ticket) then -- it does not hang: it asked, and there was no room any more
		forget_turn()
	end
	lock.ticket = math.max(lock.ticket, ticket)
	call('HSET', STATE, 'ticket', int(lock.ticket), 'w:' .. request, columns(8, now, lease,
		secret ~= '' and secret, kind, period ~= '' and period, want, id ~= request and id, by))
	waiters[request] = nil
	if is_newcomer then
		stand(request, ticket, true)
	end

	if not first then
		first, first_ticket = request, ticket
	end
	room, ms = room_for(first, first_ticket)
	if passed_over > 0 or room and first ~= request then
		first, first_ticket = pass_on(request)
		room, ms = room_for(first, first_ticket)
	end
	is_free = room and first == request and now >= back_at()
end
if not is_free then
	local rank, ask_in = call('ZRANK', OURS, request) or 0, SIGN_OF_LIFE_MS -- when it must ask at the latest
	if is_stuck then
		ask_in = 1
	elseif first == request and now < back_at() then
		ask_in = back_at() - now
	elseif room then
		ask_in = see_in(first, first_ticket)
	elseif first == request or lock.grants > grants or rank == 0 then
		-- nobody knows when a lock without an end does
		ask_in = math.min(ms < 0 and TURN_MS or ms + 1, first_ticket and MOST or seen_dead_in(first),
			SIGN_OF_LIFE_MS)
	end
	local marker, heard = settle(has_left, request)
	return {'queued', int(ticket), ask_in, first == request and 1 or 0, lock_ttl(), now,
		marker and (rank <= 1 or heard < 2) and int(marker) or ''}
elseif ticket and ran(period) then -- it stood behind a run that has just been, or begins with this script
	leave_queue(ticket)
	pass_on()
	return need_not('ran', numbers(lock.start), about())
end
local waited = ticket and waited_by(request, ticket) or 0
if ticket then
	take_out({request}, ticket)
end
become_newest(nil)
return grant(room, waited)
