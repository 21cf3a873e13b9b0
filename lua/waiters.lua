-- The queue: who is alive in it, whose turn it is, and what is wrong with it. For scripts that meet one.

-- Takes a waiter out of list and sorted set, always both. index 0 is the head.
local function drop(id, index)
	if index == 0 then
		call('LPOP', QUEUE)
	else
		call('LREM', QUEUE, index and 1 or 0, id)
	end
	call('ZREM', TIMEOUTS, id)
	if call('HDEL', STATE, 't:' .. id) == 1 then
		state.ours = note('HINCRBY', STATE, 'ours', -1) or state.ours - 1
	end
	call('HDEL', STATE, 'd:' .. id)
	if state.turn == id then
		call('HDEL', STATE, 'turn', 'turned')
		state.turn = nil
	end
end

-- Notices that this is another server process than the one that the waiters queued on:
-- then all are away for a moment, and the absent are not dead. waited: the
-- caller queued before, so a server that knows no run id has lost its data.
local function check_run(waited)
	local run = string.match(call('INFO', 'server'), 'run_id:(%w+)')
	if run == state.run then
		return
	end
	if state.run or waited then
		state.back = now + AWAY_MS
		note('HSET', STATE, 'back', int(state.back))
		-- who was told its turn by the old server may not have heard it
		note('HDEL', STATE, 'turn', 'turned')
		state.turn = nil
	end
	state.run = run
	note('HSET', STATE, 'run', run)
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

-- Set for a caller who must leave no trace.
local traceless = false

-- The Redisson waiters behind the head that are absent, too, each with a blank in front.
local function absent_behind(head)
	local ids, channels, absent = {}, {}, ''
	for _, id in ipairs(call('LRANGE', QUEUE, 1, LOOK_BEHIND)) do
		if id ~= head and not known(id) then
			ids[#ids + 1], channels[#channels + 1] = id, channel(id)
		end
	end
	for i, count in ipairs(#ids > 0 and call('PUBSUB', 'NUMSUB', unpack(channels)) or {}) do
		if count == 0 then
			absent = absent .. ' ' .. ids[i / 2]
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
			score = now + REDISSON_SCORE_MS
			note('ZADD', TIMEOUTS, int(score), id)
		end
	elseif score <= now then
		return true
	end
	if present(id) then
		absent, others = '', ''
	elseif absent == '' then
		absent, others = int(now), absent_behind(id)
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

-- The first waiter who is alive; the dead before it are dropped, and counted.
-- free: nobody holds the lock. me: the caller, who is alive since it asks.
local passed_over = 0

local function first_waiter(free, me)
	local with_silent = false

	local function had_its_turn(id)
		return free and state.turn == id and now - state.turned >= TURN_MS
	end

	while not state.empty do
		local id = call('LINDEX', QUEUE, 0)
		if not id or id == me then
			return id or nil
		end
		local ticket, seen = known(id)
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
		drop(id, 0)
		passed_over = passed_over + 1
		if hung then
			call('PUBLISH', channel(id), '0') -- should it be alive, it queues again
		end
	end
end

local function tell(id, message)
	call('PUBLISH', channel(id), message)
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
		local ticket, seen = known(id)
		if not ticket then
			index = index + 1
		elseif not present(id) then
			if is_dead() then
				drop(id, index)
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

-- How long the first waiter has for a turn that begins now: one of Redisson's that was seen absent before has
-- used up some of it.
local function turn_of(id)
	local absent, who = string.match(state.head or '', '^%S+ (%d+) (%S+)')
	return who == id and math.max(1, tonumber(absent) + TURN_MS - now) or TURN_MS
end

-- The lock is free: tells the first waiter, once, and the one behind it. Returns the first.
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
		state.turn, state.turned = id, now
		note('HSET', STATE, 'turn', id, 'turned', int(now))
		tell(id, '0')
		tell_second(turn_of(id))
	end
	return id
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

-- Ends the hold of `owner` for good and wakes the next.
local function let_go(owner, event)
	call('DEL', LOCK)
	if state.owner == owner then
		end_hold(event, now)
	else
		record(event, now, owner)
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

-- List and sorted set must agree. They always do after our scripts; others may have
-- died half way, or deleted a key.
local function mend()
	local listed = {}
	for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		if listed[id] then
			call('LREM', QUEUE, -1, id)
		elseif not call('ZSCORE', TIMEOUTS, id) then
			local score = known(id) and OUR_SCORE_MS or REDISSON_SCORE_MS
			call('ZADD', TIMEOUTS, int(now + score), id)
		end
		listed[id] = true
	end
	for _, id in ipairs(call('ZRANGE', TIMEOUTS, 0, -1)) do
		if not listed[id] then
			if known(id) then
				call('ZREM', TIMEOUTS, id) -- its next sign of life brings it back to its place
			else
				call('RPUSH', QUEUE, id) -- Redisson never pushes an id that has a score
			end
		end
	end
end

-- Puts a waiter of ours before the first of ours with a later ticket. Both ends are looked at
-- first: when all come back after a restart, most belong there.
local function place(id, ticket)
	local last = known(call('LINDEX', QUEUE, -1) or '')
	if last and last < ticket then
		call('RPUSH', QUEUE, id)
		return
	end
	for _, other in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		local theirs = known(other)
		if theirs and theirs > ticket then
			call('LINSERT', QUEUE, 'BEFORE', other, id)
			return
		end
	end
	call('RPUSH', QUEUE, id)
end

-- How many of Redisson's stand before a waiter of ours: each grant to one of them may take 300 s
-- from its score.
local function redisson_ahead(id)
	local length = call('LLEN', QUEUE)
	if length > SHORT_QUEUE and length <= state.ours then
		return 0
	end
	local count = 0
	for _, other in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		if other == id then
			break
		end
		if not known(other) then
			count = count + 1
		end
	end
	return count
end

local function give_score(id)
	call('ZADD', TIMEOUTS, int(now + OUR_SCORE_MS + REDISSON_SCORE_MS * redisson_ahead(id)), id)
end

-- Our hash knows waiters that are in no queue: Redisson's scripts dropped them. Who is alive gets its
-- place back, the rest is forgotten.
local function bring_back()
	local ours = 0
	for _, field in ipairs(call('HKEYS', STATE)) do
		local id = string.match(field, '^t:(.*)$')
		ours = ours + (id and 1 or 0)
		if id and not call('ZSCORE', TIMEOUTS, id) then
			local ticket, seen = known(id)
			if ticket and now - seen < SILENT_MS and present(id) then
				place(id, ticket)
				give_score(id)
			else
				call('HDEL', STATE, field, 'd:' .. id)
				ours = ours - 1
			end
		end
	end
	if ours ~= state.ours then
		state.ours = ours
		note('HSET', STATE, 'ours', ours)
	end
end

local MARK_MS = 60000

-- Marks for copies of requests that may still come: none comes after a minute.
local function sweep()
	local marks = call('HGETALL', STATE)
	for i = 1, #marks, 2 do
		local set = string.find(marks[i], '^[fx]:') and string.match(marks[i + 1], '^%d+')
		if set and now - tonumber(set) > MARK_MS then
			call('HDEL', STATE, marks[i])
		elseif string.find(marks[i], '^d:') and not known(string.sub(marks[i], 3)) then
			call('HDEL', STATE, marks[i])
		end
	end
end

local SWEEP_FIELDS = 40

-- Whether list and sorted set may disagree, or our hash know others than the list. A long
-- queue is only compared in length, but for its head: what is cheap must stay so.
local function looks_wrong(length)
	if call('ZCARD', TIMEOUTS) ~= length then
		return true
	elseif length == 0 then
		return state.ours ~= 0
	elseif length > SHORT_QUEUE then
		return length < state.ours or not call('ZSCORE', TIMEOUTS, call('LINDEX', QUEUE, 0))
	end
	local ids, fields, seen, ours = call('LRANGE', QUEUE, 0, -1), {}, {}, 0
	for i, id in ipairs(ids) do
		if seen[id] then
			return true
		end
		seen[id], fields[i] = true, 't:' .. id
	end
	for _, score in ipairs(call('ZMSCORE', TIMEOUTS, unpack(ids))) do
		if not score then
			return true
		end
	end
	for _, entry in ipairs(call('HMGET', STATE, unpack(fields))) do
		if entry then
			ours = ours + 1
		end
	end
	return ours ~= state.ours
end

-- All in the queue are ours: a time to live may stand on it. A Redisson client's RPUSH would not renew one.
local function set_queue_ttl(length)
	if length > state.ours then
		call('PERSIST', QUEUE)
		call('PERSIST', TIMEOUTS)
		return
	end
	local largest = tonumber(call('ZREVRANGE', TIMEOUTS, 0, 0, 'WITHSCORES')[2]) or now
	largest = math.min(math.max(now, largest), now + STATE_TTL_MS)
	call('PEXPIREAT', QUEUE, int(largest + QUEUE_TTL_MS))
	call('PEXPIREAT', TIMEOUTS, int(largest + QUEUE_TTL_MS))
end

-- Every script that changed something ends with this: lists agree, times to live are set. thorough: look
-- through a long queue too.
local function settle(thorough)
	touch()
	local length = state.empty and 0 or call('LLEN', QUEUE)
	if not state.empty and looks_wrong(length) or thorough and length > SHORT_QUEUE then
		mend()
		bring_back()
		length = call('LLEN', QUEUE)
	end
	if length > 0 then
		set_queue_ttl(length)
	elseif call('HLEN', STATE) > SWEEP_FIELDS then
		sweep()
	end
end
