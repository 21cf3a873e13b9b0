-- Passes the lock on: hands a hold to each of the first waiters for which there is room, or tells it. For
-- scripts that meet a queue, behind queue_head.lua.

-- Asks the waiter behind the first to see after some time whether the turn was taken: the
-- server has no timer, and a hung first waiter cannot speak for itself.
local function tell_second(ms)
	local index, id = 1, call('LINDEX', QUEUE, 1)
	while id do
		local waiter = known(id)
		local is_here = waiter and present(id)
		if is_here and not is_silent(waiter) then
			tell(id, 'second ' .. ms)
			return
		elseif waiter and not is_here and is_dead() then
			drop(id, index, true)
		else
			index = index + 1
		end
		id = call('LINDEX', QUEUE, index)
	end
end

-- In how many ms to look what became of the first waiter's turn: when the turn is over. For one of Redisson's
-- it is sooner: it may have been absent for a part of the 5 s already, and it does not tell us that it took
-- the lock, nor for how long.
local function see_in(id)
	local begun = lock.turn == id and lock.turned or now
	local ends = turn_ends(id, begun)
	local _, absent, who = read_head()
	if who == id and absent then
		ends = math.min(ends, absent + TURN_MS)
	end
	if not known(id) and begun + LOOK_MS > now then
		ends = math.min(ends, begun + LOOK_MS)
	end
	return math.max(1, ends - now)
end

-- Tells the first waiter, for whom the lock has no room, that it is first, and in how many ms there may be
-- some. Redisson's are not told such things, and not all of them look: then the first of ours does.
local function announce(id, ms)
	if ms >= 0 and known(id) then
		tell(id, 'first ' .. ms)
	elseif ms >= 0 then
		tell_second(ms + 1)
	end
end

-- How long the turn of the first is from now on: a waiter that is alive needs some time to take it.
local function turn_left()
	return math.max(TURN_LEAST_MS, turn_begins + TURN_MS - now)
end

-- The messages `granted` of this script. What is said last leaves first, so they are said in the end.
local to_tell = {}

-- Whether this time is less than nine tenths of so many ms ago. A clock that was set back does not stop a job
-- for long.
local function is_recent(time, ms)
	return time and math.abs(now - time) * 10 < ms * 9
end

-- Whether a job with this period is --once-per, and the last start is too short a time ago for it.
local function ran(period)
	local ms, is_ok = read_period(period)
	return ms and not is_ok and is_recent(lock.started, ms)
end

-- Whether a job with this period is --once-ok, and need not run: a COMMAND ended with 0, and was started a
-- short time ago, or ended since the job began to wait (ms; nil: it begins now). An end in the future was
-- written before the clock was set back; nobody knows whether the job waited then.
local function is_done(period, since)
	local ms, is_ok = read_period(period)
	return is_ok and (is_recent(lock.ok_started, ms) or
		since and lock.ok_ended and lock.ok_ended <= now and lock.ok_ended >= since)
end

-- Whether this waiter, if its turn came now, would be told that it need not run.
local function need_not_run(id, waiter)
	return waiter.period ~= '-' and (is_done(waiter.period, waits_since(id, waiter)) or ran(waiter.period))
end

-- Takes a waiter that need not run out of the queue. It asks, and is answered so: one with --once-ok also if
-- it has not heard its ticket.
local function send_away(id, waiter, index)
	drop(id, index, match(waiter.period, '^ok'))
	record('left', stamp, id, nil, waiter.by, waited_by(id, waiter))
	tell(id, '0')
end

-- Gives the first waiter a hold of this mode, if it can be handed to it: it need not ask. At first it is
-- given for no longer than a turn: one that is alive renews it, and one that hangs costs as much as one that
-- was told. Returns whether it was.
local function hand_over(id, mode)
	local waiter = known(id)
	-- a slot of a cluster that is moving refuses the key that has just gone: then it is told, as others are
	if not waiter or waiter.secret == '-' or is_silent(waiter) or need_not_run(id, waiter) or
		not enter(note, mode, id, waiter.want) then
		return false
	end
	local ttl = math.max(1, math.min(turn_left(), (number(waiter.lease) or OUR_SCORE_MS) - 1))
	local unheard = waiter.state == 'new' and int(waiter.ticket) or '-'
	drop(id, 0)
	local owner, count, hold = lock.owner, lock.count, lock.hold
	local token = take(id, mode, waiter.kind .. id, waiter.lease, ttl, waiter.by, waited_by(id, waiter),
		unheard, waiter.period)
	remember(waiter.period)
	if owner then -- the script is still about this holder
		lock.owner, lock.count, lock.hold = owner, count, hold
	end
	to_tell[#to_tell + 1] = {
		id, 'granted ' .. token .. ' ' .. ttl .. ' ' .. stamp .. ' ' .. waiter.secret ..
			(match(mode, '^=(.*)$') and ' ' .. string.sub(mode, 2) or ''),
	}
	return true
end

local function tell_granted()
	for i = #to_tell, 1, -1 do
		tell(to_tell[i][1], to_tell[i][2])
	end
	to_tell = {}
end

local AWAY_MOST = 100 -- so many waiters are sent away by one script; the next one is told its turn, and asks
local sent_away = 0

-- The first waiter that may run. Waiters before it that need not run are sent away: one with --once-ok also
-- if there is no room for it.
local function first_to_run(me)
	while true do
		local id = first_waiter(me)
		local waiter = id and id ~= me and known(id)
		if not (waiter and sent_away < AWAY_MOST and need_not_run(id, waiter)) or
			ran(waiter.period) and not fit(waiter.want) then
			return id
		end
		sent_away = sent_away + 1
		send_away(id, waiter, 0)
	end
end

local HANDED_MOST = 20 -- so many waiters are handed the lock by one script; the next one asks, and goes on

-- Tells a waiter its turn, once, and the second to look after it.
local function tell_turn(id)
	if lock.turn ~= id then
		lock.turn, lock.turned = id, now + turn_left() - TURN_MS
		note('HSET', STATE, 'turn', id .. ' ' .. int(lock.turned))
		tell_second(see_in(id))
		tell(id, '0')
	end
end

-- Whether there is room for the first waiter, if it is not the caller: see fit.
local function room_for(id, me)
	if id and id ~= me then
		return fit(want_of(id), true)
	end
end

-- Hands the lock to the first waiter if there is room for it, then to the next, and so on. One to whom it
-- cannot be handed, as Redisson's, is told its turn; one for whom there is no room, when there may be some.
-- me: the caller. Returns the first waiter.
local function pass_on(me)
	local handed = 0
	local id = first_to_run(me)
	local mode, ms = room_for(id, me)
	while mode and now >= lock.back and handed < HANDED_MOST and lock.turn ~= id and hand_over(id, mode) do
		handed = handed + 1
		id = first_to_run(me)
		mode, ms = room_for(id, me)
	end
	if not id and not lock.field then
		tell_outsiders()
	elseif ms then
		announce(id, ms)
	elseif mode and now < lock.back then
		if known(id) then
			tell(id, 'first ' .. lock.back - now)
		end
		tell_second(lock.back - now)
	elseif mode then
		tell_turn(id)
	end
	tell_granted()
	return id
end
