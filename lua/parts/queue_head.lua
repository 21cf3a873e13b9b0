-- The first waiter of the queue: the dead and the hung before it are dropped. For scripts that meet a queue.

-- Adds to the numbers of ids in list and sorted set, as far as these are known.
local function count_queue(listed, scored)
	lock.length = lock.length and lock.length + listed
	lock.scores = lock.scores and lock.scores + scored
end

-- Deletes the record of a waiter. One that seems dead and may not have heard its ticket cannot bring it when
-- it comes back all the same: then the record stays, for the ticket. So it does of the newest waiter: another
-- one may come to take its place.
local function forget(id, waiter, seems_dead)
	call('HDEL', STATE, 'w:' .. id)
	waiters[id] = false
	if waiter and seems_dead and (waiter.state == 'new' or id == lock.newest) then
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
