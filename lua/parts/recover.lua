-- What happens after the server was restarted, or has lost its data.

-- `run`, "ID UP BACK": the server process that the waiters queued on, or `-`; when our hash met this process
-- first (ms; `-`: the pause after a restart was given); and until when nobody is granted the lock.
local function read_run()
	local process, up, back = match(lock.run, '^(%S+) (%S+) (%S+)$')
	return process ~= '-' and process or nil, number(up), number(back)
end

-- Until when nobody is granted the lock. What is far ahead is from before the clock was set back.
local function back_at()
	local _, _, back = read_run()
	return back and back < now + 2 * AWAY_MS and back or 0
end

local run_now -- INFO is dear
local function run_id()
	run_now = run_now or match(call('INFO', 'server'), 'run_id:(%w+)')
	return run_now
end

-- All waiters of a restarted server get the time to come back. The old one may have told a turn in vain.
local function hold_back()
	introduce()
	save('run', run_id(), nil, now + AWAY_MS)
	forget_turn()
end

-- Compares the server process with the one that the waiters queued on. has_waited: somebody did. A newcomer
-- notes when it noticed a restart, for waiters that come back.
local function check_run(has_waited)
	introduce()
	local process, before, up, back = run_id(), read_run()
	if process ~= before and has_waited then
		hold_back()
	elseif process ~= before then
		save('run', process, before and now or up, back)
	end
end

local function set_last_word(whose, its_word)
	pcall_server('SET', 'fairlock_done:' .. TAG .. ':' .. whose, its_word, 'PX', DONE_TTL_MS)
end

-- Answers a request about somebody else's hold, run or place, now and each time when it comes again: it is to
-- spare the next one.
local function answer_for_good(answer)
	set_last_word(request, cjson.encode(answer))
	return answer
end

-- Each script that changes something goes on so, and notices what ended. The caller's hold, if somebody took
-- it out of the holders, is broken, not lost. is_needed: also on a server that is out of memory, which
-- refuses nothing of a script from the first deletion on.
local ENDS_MOST = 20
local function begin(is_needed)
	if is_needed then
		call('HDEL', STATE, '-')
	end
	if asks then
		set_last_word(request, asks)
	end
	local mine, field = read_hold(id, my_text), lock.field
	if MODES[field] then
		expire_some(ENDS_MOST)
		if call('ZCARD', HOLDERS) == 0 then -- all leases end just now, or somebody deleted the key
			call('DEL', LOCK)
			set_free()
			lock.holder = field
		end
	end
	if lock.holder and lock.holder ~= lock.field then
		local left = holds_left()
		if MODES[lock.holder] and not MODES[lock.field] then
			note('DEL', HOLDERS)
		end
		call('HDEL', STATE, 'holder', 'h:' .. lock.holder)
		lock.holder = nil
		for _, hold in ipairs(left) do
			end_unnoticed(hold)
		end
	elseif MODES[lock.field] and mine and holds[id] == nil and not find_hold(id) then
		note('ZREM', HOLDERS, id)
		end_unnoticed(mine)
	end
	if lock.mode == 'x' then
		cut_lease(find_hold(lock.field), lock_ttl())
	elseif lock.mode then -- leases of less than 30 s are over soon
		local found = call('ZRANGE', HOLDERS, '+inf', int(now + 30000), 'BYSCORE', 'REV', 'LIMIT', 0, ENDS_MOST,
			'WITHSCORES')
		for i = 1, #found, 2 do
			cut_lease(find_hold(found[i]), end_of(found[i + 1]) - now)
		end
	end
end

-- The caller has a ticket or a token from that time (ms); is_newer: than the last one that our hash knows. If
-- our hash cannot have given it, others have waited, too, and come back now.
local function notice_loss(since, is_newer)
	local _, up = read_run()
	if lock.is_new or up and (since < up or is_newer) then
		hold_back()
	end
end

-- `lost`, "TOKEN AT UNTIL": a loss of data was noticed at that time, ms, and `token` was TOKEN before; `-`:
-- there was none that counts. UNTIL: see free_slot.

-- When the loss was noticed that took a hold with this token; nil: none did within its lease, after which
-- that of each hold that was not taken up has passed.
local function lost_at(token, lease)
	local floor, at = numbers(lock.lost)
	return floor and at and token > floor and math.abs(now - at) < lease and at or nil
end

-- Whether the server can have lost a hold with this token, which is gone: ../README.md, *Restart and loss*.
local function can_be_lost(token, lease, mode)
	notice_loss(token, token > lock.token)
	if read_run() then
		check_run(true)
	end
	return token > lock.token or mode ~= 'x' and lost_at(token, lease) ~= nil
end

-- From now on the last token that was given is this one at least.
local function raise_token(token)
	introduce()
	lock.token = math.max(lock.token, token)
	call('HSET', STATE, 'token', int(lock.token))
end

-- Returns when the loss was noted.
local function note_loss(token, lease)
	local at = lost_at(token, lease)
	if not at then
		introduce()
		save('lost', lock.token, now, (select(3, numbers(lock.lost))))
	end
	return at or now
end
