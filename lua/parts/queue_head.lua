-- The queue: who is alive in it, whose turn it is, and who is told. For scripts that meet one.

-- So many more are in list and sorted set.
local function count_queue(listed, scored)
	state.length = state.length and state.length + listed
	state.scores = state.scores and state.scores + scored
end

-- Takes a waiter out of list and sorted set, always both. index 0 is the head.
local function drop(id, index)
	local listed = 1
	if index == 0 then
		call('LPOP', QUEUE)
	else
		listed = call('LREM', QUEUE, index and 1 or 0, id)
	end
	count_queue(-listed, -call('ZREM', TIMEOUTS, id))
	known(id)
	if tickets[id] then
		call('HDEL', STATE, 't:' .. id, 'd:' .. id)
		state.ours, state.unsaved_ours = state.ours - 1, true
	else
		forget_patience(id)
	end
	tickets[id] = false
	if state.turn == id then
		call('HDEL', STATE, 'turn', 'turned')
		state.turn = nil
	end
end

-- The server was restarted, so all waiters are away for a moment: they get the time to come back, once.
local function hold_back()
	state.back = now + AWAY_MS
	introduce(note)
	-- the old server may have told a waiter its turn in vain
	note('HDEL', STATE, 'turn', 'turned', 'up')
	note('HSET', STATE, 'back', state.back)
	state.turn, state.up = nil, nil
end

-- Compares the server process with the one that the waiters queued on. waited: the caller queued
-- before, or others are in the queue. If it was a newcomer that noticed the restart, `up` is left for
-- those who come back.
local function check_run(waited)
	local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
	if run == state.run then
		return
	end
	if waited then
		hold_back()
	elseif state.run then
		note('HSET', STATE, 'up', stamp)
	end
	state.run = run
	note('HSET', STATE, 'run', run)
end

-- The caller has a ticket or a token from that time (ms). If that is before our hash met this server,
-- others have waited, too, and come back.
local function notice_loss(since)
	if state.is_new or state.up and since < state.up then
		hold_back()
	end
end

local run_checked = false

-- Whether an absent waiter of ours may be passed over.
local function is_dead()
	if not run_checked then
		check_run(true)
		run_checked = true
	end
	return now >= state.back
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

-- Who was absent together with a head that is dead now.
local doomed = ''

-- Whether a Redisson waiter at the head is to be passed over: its score has passed (so its own
-- kind would drop it), or it has been absent for longer than its gap between asking and
-- subscribing. `head` is "SCORE ABSENT-SINCE ID", and behind it who was absent then, too. Redisson uses
-- its ids again, but for one wait at the head the score stays the same.
local function redisson_is_dead(id)
	if string.find(doomed .. ' ', ' ' .. id .. ' ', 1, true) and not present(id) then
		return true
	end
	local score = tonumber(call('ZSCORE', TIMEOUTS, id)) or now
	local seen, absent, who, others = string.match(state.head or '', '^(%S+) (%d*) (%S+)(.*)$')
	if who ~= id or tonumber(seen) ~= score then
		-- it has just become the head: it gets the time that Redisson would give it
		absent, others = '', ''
		if state.turn == id then
			state.turn = nil -- that of an earlier wait
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
		absent, others = '', ''
	elseif absent == '' then
		absent, others = stamp, absent_behind(id)
	end
	local head = int(score) .. ' ' .. absent .. ' ' .. id .. others
	if head ~= state.head and not traceless then
		state.head = head
		note('HSET', STATE, 'head', head)
	end
	if absent == '' or now - tonumber(absent) < TURN_MS then
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

-- Drops one that seems dead. ticket: as in keep_ticket. What has ended is written first: a slot of a cluster
-- that is moving refuses a list that is empty, and stops the script.
local function drop_dead(id, index, ticket)
	save()
	drop(id, index)
	keep_ticket(id, ticket)
end

-- When a turn that begins at this time is over: a waiter that is silent, or will be by then, has less time.
local function turn_ends(id, begins)
	local _, seen = known(id)
	local ends = begins + TURN_MS
	return seen and math.max(begins + TURN_LEAST_MS, math.min(ends, seen + SILENT_MS)) or ends
end

-- The first waiter who is alive; the dead before it are dropped, and counted.
-- free: nobody holds the lock. me: the caller, who is alive since it asks.
local passed_over = 0
-- When the turn of the first begins: when the one before it had missed its own, even if the script that
-- finds that out comes late. Else several hung ones would cost more than 5 s each.
local turn_begins = now

local function first_waiter(free, me)
	local with_silent = free and state.missed

	local function had_its_turn(id)
		return free and state.turn == id and now >= turn_ends(id, state.turned)
	end

	while not state.empty do
		local id = call('LINDEX', QUEUE, 0)
		if not id or id == me then
			return id or nil
		end
		local ticket, seen, unheard = known(id)
		local hung = false
		if not ticket then
			if not redisson_is_dead(id) then
				hung = had_its_turn(id)
				if not hung then
					return id
				end
			end
		elseif present(id) then
			if not had_its_turn(id) and not (with_silent and now - seen >= SILENT_MS) then
				return id
			end
			with_silent = true
		elseif not is_dead() then
			return id
		end
		if had_its_turn(id) then
			turn_begins = turn_ends(id, state.turned)
		end
		drop_dead(id, 0, unheard and ticket)
		passed_over = passed_over + 1
		if hung then
			tell(id, '0') -- should it be alive, it queues again
		end
	end
end

-- Asks the waiter behind the first to see after some time whether the turn was taken: the
-- server has no timer, and a hung first waiter cannot speak for itself.
local function tell_second(ms)
	local index = 1
	while true do
		local id = call('LINDEX', QUEUE, index)
		if not id then
			return
		end
		local ticket, seen, unheard = known(id)
		if not ticket then
			index = index + 1
		elseif not present(id) then
			if is_dead() then
				drop_dead(id, index, unheard and ticket)
			else
				index = index + 1
			end
		elseif now - seen >= SILENT_MS then
			index = index + 1
		else
			tell(id, 'second ' .. ms)
			return
		end
	end
end

-- In how many ms to see what became of the first waiter's turn: when it is over, and one of Redisson's
-- that was seen absent before has used up some of it. Nor do Redisson's tell us that they took it, and
-- for how long: one looks sooner.
local function see_in(id)
	local begun = state.turn == id and state.turned or now
	local ends = turn_ends(id, begun)
	local absent, who = string.match(state.head or '', '^%S+ (%d+) (%S+)')
	if who == id then
		ends = math.min(ends, tonumber(absent) + TURN_MS)
	end
	if not known(id) and begun + LOOK_MS > now then
		ends = math.min(ends, begun + LOOK_MS)
	end
	return math.max(1, ends - now)
end

-- The lock is held: tells the first waiter that it is first and when the lease ends. Redisson's are not told
-- such things, and not all of them look: then the first of ours does.
local function announce(lease, me)
	local id = first_waiter(false, me)
	if id and id ~= me and lease >= 0 then
		if known(id) then
			tell(id, 'first ' .. lease)
		else
			tell_second(lease + 1)
		end
	end
	return id
end

-- How long the turn of the first is from now on: whoever is alive needs some time to take it.
local function turn_left()
	return math.max(TURN_LEAST_MS, turn_begins + TURN_MS - now)
end

-- Gives the free lock to the first waiter, if it can be handed to it, and tells it so: it need not ask. At
-- first it is given for no longer than a turn: who is alive renews it, and whoever hangs costs as much as one
-- that was told. Returns whether it was, and the new first.
local function hand_over(id, me)
	local ticket, seen, unheard, lease, secret = known(id)
	-- a slot of a cluster that is moving refuses the key that has just gone: then it is told, as others are
	if not lease or secret == '' or now - seen >= SILENT_MS or not note('HSET', LOCK, id, 1) then
		return false
	end
	local by = call('HGET', STATE, 'd:' .. id) or ''
	local ttl = math.min(turn_left(), lease - 1)
	drop(id, 0)
	local token = take(id, 'w' .. id, lease, ttl, by, math.max(0, now - math.floor(ticket / 1000)),
		unheard and ticket)
	local first = announce(ttl, me)
	-- what is said last leaves first
	tell(id, 'granted ' .. token .. ' ' .. ttl .. ' ' .. stamp .. ' ' .. secret)
	return true, first
end

-- The lock is free: hands it to the first waiter, or tells that one, once, and the one behind it. Returns the
-- first.
local function pass_on(me)
	local id = first_waiter(true, me)
	if not id then
		tell_outsiders()
		return
	elseif id == me then
		return id
	end
	if now < state.back then
		if known(id) then
			tell(id, 'first ' .. state.back - now)
		end
		tell_second(state.back - now)
	elseif state.turn ~= id then
		local done, first = hand_over(id, me)
		if done then
			return first
		end
		state.turn, state.turned = id, now + turn_left() - TURN_MS
		note('HSET', STATE, 'turn', id, 'turned', state.turned)
		tell_second(see_in(id))
		tell(id, '0')
	end
	return id
end

-- Whether somebody has ended in this way ('released', 'left'): the log knows.
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
	local before = call('HGET', STATE, 'before')
	call('HDEL', STATE, 'before') -- first, for a server out of memory
	if before and before ~= '' then
		note('HSET', STATE, 'started', before)
	else
		call('HDEL', STATE, 'started')
	end
	state.started = number(before or nil)
end

-- Ends the hold of `owner` for good and wakes the next. status, cause: as for end_hold.
local function let_go(owner, event, status, cause)
	call('DEL', LOCK)
	if state.owner == owner then
		end_hold(event, now, status, cause)
	else
		record(event, now, owner, nil, nil, nil, nil, status, cause)
	end
	pass_on()
end

local ENDED_HOLDS = 8

-- Takes one hold out of the list, and leaves a mark ('' for none) in it. Only the last marks are kept.
local function end_entry(entry, mark)
	local rest = {}
	local marks = mark == '' and 0 or 1
	for word in string.gmatch(state.holds, '%S+') do
		if string.find(word, '^[dg]') then
			marks = marks + 1
		end
		if word ~= entry then
			rest[#rest + 1] = word
		end
	end
	if mark ~= '' then
		rest[#rest + 1] = mark
	end
	local kept, skip = {}, marks - ENDED_HOLDS
	for _, word in ipairs(rest) do
		if skip > 0 and string.find(word, '^[dg]') then
			skip = skip - 1
		else
			kept[#kept + 1] = word
		end
	end
	set_holds(table.concat(kept, ' '))
end
