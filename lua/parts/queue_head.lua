-- The queue: who is alive in it, whose turn it is, and who is told. For scripts that meet one.

-- Adds to the numbers of ids in list and sorted set, as far as these are known.
local function count_queue(listed, scored)
	lock.length = lock.length and lock.length + listed
	lock.scores = lock.scores and lock.scores + scored
end

-- Deletes the record of a waiter. One that seems dead and may not have heard its ticket cannot bring it when
-- it comes back all the same: then the record stays, for the ticket.
local function forget(id, waiter, seems_dead)
	call('HDEL', STATE, 'w:' .. id)
	waiters[id] = false
	if waiter and seems_dead and waiter.state == 'new' then
		waiter.state, waiter.seen = 'dropped', now
		note('HSET', STATE, 'w:' .. id, waiter_text(waiter))
		lock.has_marks = true
	end
end

-- Takes a waiter out of list and sorted set, always both. index 0 is the head. seems_dead: as for forget.
local function drop(id, index, seems_dead)
	local listed = 1
	if index == 0 then
		call('LPOP', QUEUE)
	else
		listed = call('LREM', QUEUE, index and 1 or 0, id)
	end
	count_queue(-listed, -call('ZREM', TIMEOUTS, id))
	local waiter = known(id)
	if waiter then
		forget(id, waiter, seems_dead)
		lock.ours = lock.ours - 1
	else
		forget_patience(id)
	end
	if lock.turn == id then
		call('HDEL', STATE, 'turn')
		lock.turn = nil
	end
end

-- The server process that runs this script.
local function run_id()
	return match(call('INFO', 'server'), 'run_id:(%w+)')
end

-- The server was restarted, so all waiters are away for a moment: they get the time to come back, once. run:
-- see run_id.
local function hold_back(run)
	introduce(note)
	lock.run, lock.back, lock.up = run, now + AWAY_MS, nil
	-- the old server may have told a waiter its turn in vain
	note('HDEL', STATE, 'turn')
	lock.turn = nil
	note('HSET', STATE, 'back', int(lock.back))
	save_run(note)
end

-- Compares the server process with the one that the waiters queued on. waited: the caller queued before, or
-- others are in the queue. A newcomer that notices the restart sets `up`, by which a waiter that comes back
-- notices it, too.
local function check_run(waited)
	local run, before = run_id(), lock.run
	if run == before then
		return
	end
	if before or waited then
		lock.up, lock.lost, lock.floor = now, now, lock.token or 0
	end
	if waited then
		hold_back(run)
	else
		lock.run = run
		save_run(note)
	end
end

-- The caller has a ticket or a token from that time (ms). If our hash met this server later, others have
-- waited, too, and come back now.
local function notice_loss(since)
	if lock.is_new or lock.up and since < lock.up then
		hold_back(run_id())
	end
end

local run_checked = false

-- Whether an absent waiter of ours may be passed over.
local function is_dead()
	if not run_checked then
		check_run(true)
		run_checked = true
	end
	return now >= lock.back
end

-- The field `head`, "SCORE ABSENT-SINCE ID ID2 ID3...". The score names the wait: Redisson uses its ids
-- again, but for one wait at the head the score stays the same.
local head_text -- nil: not read yet
local function read_head()
	head_text = head_text or call('HGET', STATE, 'head') or ''
	local score, absent, id, others = match(head_text, '^(%S+) (%d*) (%S+)(.*)$')
	return tonumber(score), number(absent or nil), id, others
end

-- The Redisson waiters behind the head that are absent, too, each with a blank in front.
local function absent_behind(head)
	local ids, channels, absent = {}, {}, ''
	for _, id in ipairs(call('LRANGE', QUEUE, 1, LOOK_BEHIND)) do
		if id ~= head and not known(id) then
			ids[#ids + 1], channels[#channels + 1] = id, channel(id)
		end
	end
	local plain = #ids > 0 and call('PUBSUB', 'NUMSUB', unpack(channels))
	local sharded = #ids > 0 and SHARDED and call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
	for i, id in ipairs(ids) do
		if plain[2 * i] == 0 and not (sharded and sharded[2 * i] > 0) then
			absent = absent .. ' ' .. id
		end
	end
	return absent
end

-- The waiters that were absent together with a head that is dead now; and those that were so with a head
-- whose turn ended before it had been absent for long enough, and since when.
local doomed, missing, missing_since = '', '', nil

local function is_named(ids, id)
	return string.find(ids .. ' ', ' ' .. id .. ' ', 1, true) ~= nil
end

-- Whether a Redisson waiter at the head is to be passed over: its score has passed (so its own
-- kind would drop it), or it has been absent for longer than its gap between asking and
-- subscribing.
local function redisson_is_dead(id)
	if not match(id, '^%S+$') then
		return true -- no client has such an id, and `head` cannot keep it
	end
	if is_named(doomed, id) and not present(id) then
		return true
	end
	local score = tonumber(call('ZSCORE', TIMEOUTS, id)) or now
	local seen, absent, who, others = read_head()
	if who ~= id or seen ~= score then
		-- it has just become the head: it gets the time that Redisson would give it
		absent, others = nil, ''
		if is_named(missing, id) then
			absent, others = missing_since, missing
		end
		if lock.turn == id then
			lock.turn = nil -- that of an earlier wait
		end
		if score < now + REDISSON_SCORE_MS and not traceless then
			note_patience()
			score = now + REDISSON_SCORE_MS
			count_queue(0, note('ZADD', TIMEOUTS, score, id) or 0)
		end
	elseif score <= now then
		return true
	end
	if present(id) then
		absent, others = nil, ''
	elseif not absent then
		absent, others = now, absent_behind(id)
	end
	local text = int(score) .. ' ' .. (absent and int(absent) or '') .. ' ' .. id .. others
	if text ~= head_text and not traceless then
		head_text = text
		note('HSET', STATE, 'head', text)
	end
	if not absent or now - absent < TURN_MS then
		return false
	end
	doomed = others
	return true
end

local function tell(id, message)
	if ways[id] then
		call(ways[id], channel(id), message)
	else
		publish(call, channel(id), message)
	end
end

local function is_silent(waiter)
	return now - waiter.seen >= SILENT_MS
end

-- When a turn that begins at this time is over: a waiter that is silent, or will be by then, has less time.
local function turn_ends(id, begins)
	local waiter = known(id)
	local ends = begins + TURN_MS
	return waiter and math.max(begins + TURN_LEAST_MS, math.min(ends, waiter.seen + SILENT_MS)) or ends
end

-- The first waiter who is alive; the dead before it are dropped, and counted.
-- me: the caller, who is alive since it asks.
local passed_over = 0
-- When the turn of the first begins: when the one before it had missed its own, even if the script that
-- finds that out comes late. Else several hung ones would cost more than 5 s each.
local turn_begins = now

local function first_waiter(me)
	local with_silent = has_missed
	while not lock.empty do
		local id = call('LINDEX', QUEUE, 0)
		if not id or id == me then
			return id or nil
		end
		local waiter = known(id)
		local is_away = waiter and not present(id)
		local dead = is_away and is_dead() or not waiter and redisson_is_dead(id)
		local had_turn = lock.turn == id and now >= turn_ends(id, lock.turned) and fit(want_of(id))
		local hung = not (dead or is_away) and (had_turn or waiter and with_silent and is_silent(waiter) and
			fit(waiter.want) ~= nil)
		if not (dead or hung) then
			return id
		end
		with_silent = with_silent or hung and waiter
		if had_turn then
			turn_begins = turn_ends(id, lock.turned)
			local _, absent, who, others = read_head()
			if not waiter and who == id and absent then
				missing, missing_since = others, absent
			end
		end
		drop(id, 0, true)
		passed_over = passed_over + 1
		if hung then
			tell(id, '0') -- should it be alive, it queues again, or has its old place back
		end
	end
end

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

-- Gives the first waiter a hold of this mode, if it can be handed to it: it need not ask. At first it is
-- given for no longer than a turn: one that is alive renews it, and one that hangs costs as much as one that
-- was told. Returns whether it was.
local function hand_over(id, mode)
	local waiter = known(id)
	-- a slot of a cluster that is moving refuses the key that has just gone: then it is told, as others are
	if not waiter or waiter.secret == '-' or is_silent(waiter) or
		not enter(note, mode, id) then
		return false
	end
	local ttl = math.max(1, math.min(turn_left(), (number(waiter.lease) or OUR_SCORE_MS) - 1))
	local unheard = waiter.state == 'new' and int(waiter.ticket) or '-'
	drop(id, 0)
	local owner, count, hold = lock.owner, lock.count, lock.hold
	local token = take(id, mode, waiter.kind .. id, waiter.lease, ttl, waiter.by, waited_by(waiter), unheard)
	if waiter.period ~= '-' then
		remember(number(waiter.period) or 0)
	end
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

-- Whether the last start is too short a time ago for a job that runs once in so many ms. A clock that was set
-- back does not stop it for long.
local function ran(period)
	return period and lock.started and math.abs(now - lock.started) * 10 < period * 9
end

-- The first waiter that may run. A waiter before it whose --once-per is not over is taken out of the queue,
-- and told to ask.
local function first_to_run(me)
	while true do
		local id = first_waiter(me)
		local waiter = id and id ~= me and known(id)
		if not (waiter and ran(number(waiter.period)) and fit(waiter.want)) then
			return id
		end
		drop(id, 0)
		record('left', stamp, id, nil, waiter.by, waited_by(waiter))
		tell(id, '0') -- it asks, and is answered so
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

-- Whether the log says that this owner, or waiter, has 'released' or 'left'.
local function has_ended(owner, event)
	for _, entry in ipairs(note('XREVRANGE', LOG, '+', '-', 'COUNT', LOG_LENGTH) or {}) do
		local fields = entry[2]
		if fields[2] == event and fields[6] == owner then
			return true
		end
	end
	return false
end

-- The COMMAND of this grant is not started after all.
local function forget_start()
	call('HDEL', STATE, 'started') -- first, for a server out of memory
	set_started(lock.before, nil, lock.recall)
end

-- The last of several holders' ends is earlier than it was: a Redisson waiter at the head sleeps until the
-- end that it saw.
local function tell_redisson()
	local head = call('LINDEX', QUEUE, 0)
	if head and not known(head) then
		tell(head, '0')
	end
end

-- Takes one of several holders out. Returns whether a lease of another goes on. If none does, the lock is
-- free, also when so many leases have ended that their ends were not all noticed.
local function leaves_others(owner)
	local last = call('ZREVRANGE', HOLDERS, 0, 1, 'WITHSCORES')
	call('ZREM', HOLDERS, owner) -- if the key goes with it, a slot that moves refuses it from now on
	local other = last[1] == owner and 3 or 1
	if not last[other] then
		return false
	elseif tonumber(last[other + 1]) > now then
		return true
	end
	notice_ends_of_some(MANY)
	return false
end

-- Ends the hold that the script is about. status, cause, state: as for end_hold.
local function end_this(event, status, cause, state)
	local owner, hold, mode = lock.owner, lock.hold, lock.mode
	local ends = not hold and now + math.max(0, ttl_of_hold())
	if mode ~= 'x' and leaves_others(owner) then
		if set_last_end() then
			tell_redisson()
		end
	else
		call('DEL', LOCK)
		if mode ~= 'x' then
			call('HDEL', STATE, 'holder')
		end
		lock.field, lock.mode, lock.ttl = nil, nil, nil
	end
	if hold then
		end_hold(hold, event, now, status, cause, state)
	elseif state then
		-- our hash was lost: the owner is not to take its hold up, whatever its token
		note('HSET', STATE, 'h:' .. owner, state .. ' 0 - ' .. int(ends) .. ' - - - - - - x , ')
		lock.has_marks = true
	end
	lock.owner, lock.count = nil, nil
	if not hold or hold.since == '-' then
		record(event, stamp, owner, nil, nil, nil, nil, status, cause, hold and match(hold.mode, '^=(.*)$'))
	end
end

-- The same, and passes on what is free then.
local function let_go(event, status, cause, state)
	end_this(event, status, cause, state)
	pass_on()
end
