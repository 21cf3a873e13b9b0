-- Reads the lock from its keys, and renews the time to live of our hash at the end. For scripts beyond their
-- usual case.

-- The state of the lock: what read_lock found, and what the script has made of it since.
--   field           of key 1; nil when the lock is free
--   mode            x: one holds it, alone; s: shared holds; =: holds of slots; nil when the lock is free
--   owner, count    the owner, and its number of holds; with several holders, those of the one that the
--                   script is about, or nil
--   ttl             of the lease that the script gave to the only holder, ms, or nil
--   hold            with one holder: the hold whose end our hash does not know yet, or nil. It is over if
--                   another owner holds the lock. With several holders: the hold of `owner`
--   had_slots       holders had slots when the script began
--   slots           the holders take slots of this count; nil: nobody counts them
--   were_many       the last that our hash knows are several holders
--   mine            the record of a hold of the caller's id, or nil
--   waiter, request the records of the caller as a waiter, and of its request; or nil
--   token, ticket   the last ones that were handed out, or nil
--   ours            number of waiters of ours in the queue; ours_saved: so our hash has it
--   back            ms: nobody is granted before, since the server was restarted
--   run, up, lost, floor   see read_run
--   turn, turned    see read_turn
--   started, before, recall   see read_started
--   ok_started, ok_ended      see read_done
--   newest, newest_since      see read_newest
--   once            all grants that our hash knows were to a --once-ok
--   grants          how many there were
--   length, scores  how many are in list and sorted set, or nil when that is to be asked anew
--   empty           nobody is queued, and nobody was since the script began
--   is_new          there is no hash of ours yet
--   refusal         the answer of a script that may change nothing, or nil
--   spelled         the other spelling of this name that is in use, or nil ({x} and x share all keys but the
--                   lock)
--   has_marks       something was written that `tend` deletes later
local lock

local MODES = {[SHARED_HOLDS] = 's', [SLOT_HOLDS] = '='}

-- The number of slots in a want `#N`, or nil.
local function count_of(want)
	return number(match(want, '^#([1-9]%d?%d?%d?)$'))
end

-- With several holders: whether this owner is one of them. Then the script is about its hold.
local function select_hold(owner, hold)
	-- where a slot of a cluster moves this may fail, and must before anything is changed
	local ends = end_of(call('ZSCORE', HOLDERS, owner))
	if not ends or ends <= now then
		return false
	end
	hold = hold or read_hold(owner, call('HGET', STATE, 'h:' .. owner))
	lock.owner, lock.hold = owner, hold
	lock.count = hold and math.max(1, select(2, string.gsub(hold.holds, ',', '')) - 1) or 1
	return true
end

-- Whether this owner holds the lock. With several holders, the script is about its hold then.
local function select_holder(owner)
	if MODES[lock.field] then
		return select_hold(owner)
	end
	return lock.owner == owner
end

-- Reads the lock, and the records of this owner or waiter and of this request; both may be ''. All is read
-- before anything is changed: a key of another type is to fail here.
local function read_lock(id, request)
	local key = call('HGETALL', LOCK)
	local field = call('HMGET', STATE, 'name', 'v', 'token', 'ticket', 'ours', 'back', 'run', 'turn', 'started',
		'n:granted', 'holder', 'h:' .. id, 'w:' .. id, 'r:' .. request, 'done', 'newest', 'once')
	local name, holder, mine = field[1], field[11], read_hold(id, field[12] or '')
	local run, up, lost, floor = read_run(field[7])
	local turn, turned = read_turn(field[8])
	local started, before, recall = read_started(field[9])
	local ok_started, ok_ended = read_done(field[15])
	local newest, newest_since = read_newest(field[16])
	local back = number(field[6] or nil) or 0
	lock = {
		field = key[1], mode = MODES[key[1]] or key[1] and 'x', were_many = MODES[holder] ~= nil,
		had_slots = key[1] == SLOT_HOLDS, slots = key[1] == SLOT_HOLDS and count_of('#' .. key[2]) or nil,
		owner = key[1], count = key[1] and math.max(1, number(key[2]) or 1),
		hold = holder == id and mine or nil, mine = mine,
		waiter = read_waiter(field[13] or ''), request = read_request(field[14]),
		token = number(field[3] or nil), ticket = number(field[4] or nil), ours = number(field[5] or nil) or 0,
		-- if it is far ahead, the clock was set back, and the pause would not end
		back = back < now + 60000 and math.min(back, now + AWAY_MS) or 0,
		run = run, up = up, lost = lost, floor = floor, turn = turn, turned = turned,
		started = started, before = before, recall = recall, ok_started = ok_started, ok_ended = ok_ended,
		grants = number(field[10] or nil) or 0,
		newest = newest, newest_since = newest_since, once = field[17] == 'ok',
		length = call('LLEN', QUEUE), scores = call('ZCARD', TIMEOUTS),
		is_new = not name, spelled = name and name ~= LOCK and name or nil,
	}
	if holder and holder ~= id and not lock.were_many then
		lock.hold = read_hold(holder, call('HGET', STATE, 'h:' .. holder) or '')
	end
	local may_not = MODES[lock.field] and check and not check('ZSCORE', HOLDERS, id)
	if MODES[lock.field] then
		lock.owner, lock.count = nil, nil
	end
	if may_not then
		lock.refusal = redis.error_reply("NOPERM this user has no permissions to run 'ZSCORE " .. HOLDERS .. "'")
	elseif MODES[lock.field] then
		select_hold(id, mine)
	end
	lock.ours_saved = lock.ours
	lock.empty = lock.length == 0 and lock.scores == 0 and lock.ours == 0
	if lock.spelled then
		lock.refusal = {'spelled', lock.spelled}
	elseif name and field[2] ~= VERSION then
		lock.refusal = {'version', number(field[2] or nil) or 0, tonumber(VERSION)}
	end
end

local function save_run(run)
	run('HSET', STATE, 'run', (lock.run or '-') .. ' ' .. (lock.up and int(lock.up) or '-') .. ' ' ..
		(lock.lost and int(lock.lost) or '-') .. ' ' .. int(lock.floor or 0))
end

-- Logs an event, and counts it (take counts grants). The log forgets, and what is counted may not fall.
local function record(event, ...)
	if event ~= 'released' and event ~= 'left' and event ~= 'superseded' and event ~= 'asked' then
		note('HINCRBY', STATE, 'n:' .. event, 1)
	end
	log_event(event, ...)
end

-- Our hash was used: it stays for another day, for a day after the end of the lease and of a --min-hold, and
-- for as long as somebody will ask for the last start.
local function touch()
	if lock.ours ~= lock.ours_saved then
		note('HSET', STATE, 'ours', lock.ours)
		lock.ours_saved = lock.ours
	end
	local hold = lock.hold
	local ends = math.max(now, number(hold and hold.ends) or 0, number(hold and hold.keep) or 0,
		MODES[lock.field] and now + call('PTTL', LOCK) or 0)
	local ttl = math.max(ends - now + STATE_TTL_MS, (lock.recall or 0) - now)
	call('PEXPIRE', STATE, math.min(ttl, 2 * LONGEST_MS))
end
