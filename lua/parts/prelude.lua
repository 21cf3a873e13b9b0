-- The beginning of every script: lua/join puts this file in front of each of them. hold_end.lua, holds.lua,
-- patience.lua, queue_head.lua and queue_order.lua, in this order, go where a script says so, behind the part
-- that deals with the usual case: making a function costs time in every run. (Inside of another one it costs
-- less: see join.)
-- ../README.md is the protocol: keys, fields, invariants, reasons.
--
-- KEYS     1 the lock (it is NAME itself), 2 queue, 3 timeouts, 4 state, 5 log
-- ARGV[1]  prefix of the channels

local LOCK, QUEUE, TIMEOUTS, STATE, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CHANNEL = ARGV[1]

local VERSION = 2              -- of this protocol; a hash without the field `v` is of version 1
local SIGN_OF_LIFE_MS = 10500 -- a waiter asks so often; more than 10 s, so never twice in 10 s
local TURN_MS = 5000          -- a waiter that was told its turn has so long to take it
local TURN_LEAST_MS = 1000    -- also when that turn began before it was told
local LOOK_MS = 1000           -- after so long somebody sees whether one of Redisson's has taken its turn
local SILENT_MS = 15000       -- who gave no sign of life for so long goes with a hung one
local AWAY_MS = 2000          -- after a restart of the server everybody gets so long to come back
local CLOCK_SLACK_MS = 20      -- TIME and the clock of PEXPIRE may differ by so much inside a script
local OUR_SCORE_MS = 30000
local REDISSON_SCORE_MS = 300000
local QUEUE_TTL_MS = 600000   -- beyond the largest score
local STATE_TTL_MS = 86400000
local LOG_TTL_MS = 604800000
local FRESH_MS = 60000         -- times to live of hash and log are renewed once in so long
local LOG_LENGTH = '1000'
local LOOK_BEHIND = 200         -- so many are looked at when the head is dead
local SHORT_QUEUE = 20         -- is looked through whenever it is touched; a longer one seldom

-- What our hash says of a waiter: ticket, last sign of life, its lease and the secret of its last request if
-- the lock can be handed to it, and `unheard` while it may not have heard its ticket.
local WAITER = '^(%d+) (%d+) ?(%d*) ?(%x*) ?(%a*)$'

local call = redis.call

-- From version 7 on there are sharded channels, too. In a cluster, clients that know them use nothing else.
local SHARDED = redis.REDIS_VERSION_NUM ~= nil

-- For bookkeeping that must not fail what matters: a server out of memory refuses it, and lets
-- the holder go all the same. Returns nil when refused.
local function note(...)
	local result = redis.pcall(...)
	if type(result) ~= 'table' or not result.err then
		return result
	end
end

-- Who may not do all that a script does is told what it lacks, before anything is changed: in the middle
-- the server would stop half way, and before Redis 8 it does not say at what. Redis 6.2 cannot be asked. Who
-- may FLUSHALL may most likely do everything, and pays for few questions: about what each grant and release
-- needs, so that a user of `+@all -pexpire` leaves no lock without a time to live.
local check = redis.acl_check_cmd
local asked, allowed = pcall(check or error, 'FLUSHALL')
if asked and allowed then
	allowed = check('PEXPIRE', LOCK, '0') and check('DEL', LOCK) and check('HSET', LOCK, '0', '0') and
		check('HDEL', STATE, '0')
end

-- Both are nil for who may do everything. denied: the refusal of the first of these commands that the user
-- may not run with this word, or nil. Behind a command is how many more words it takes: from 8.6 on, Redis
-- answers about a whole command only. may_not_write: the same for a script that changes something; each
-- begins with it.
local denied, may_not_write

if check and not (asked and allowed) then
	local MORE = {'0', '0', '0'}

	local function refuse(what)
		return redis.error_reply("NOPERM this user has no permissions to run '" .. what .. "'")
	end

	function denied(word, commands)
		for command, more in string.gmatch(commands, '(%u+)(%d?)') do
			asked, allowed = pcall(check, command, word, unpack(MORE, 1, tonumber(more) or 0))
			if asked and not allowed then
				return refuse(command .. ' ' .. word)
			end
		end
	end

	function may_not_write()
		return denied(LOCK, 'DEL HDEL1 HINCRBY2 HSET2 PEXPIRE1') or
			denied(STATE, 'HDEL1 HINCRBY2 HLEN HSCAN1 HSET2 PEXPIRE1') or
			denied(QUEUE, 'LINDEX1 LINSERT3 LPOP LREM2 PERSIST PEXPIREAT1 PTTL RPUSH1') or
			denied(TIMEOUTS, 'PERSIST PEXPIREAT1 ZADD2 ZMSCORE1 ZRANGE2 ZREM1 ZREVRANGE2 ZSCORE1') or
			denied(LOG, 'PEXPIRE1 XADD3 XREVRANGE2') or denied('server', 'INFO') or
			denied(CHANNEL, 'PUBLISH1 SPUBLISH1') or denied(CHANNEL .. ':0', 'PUBLISH1 SPUBLISH1')
	end

	asked, allowed = pcall(check, 'TIME')
	local refusal = asked and not allowed and refuse('TIME') or denied('NUMSUB', 'PUBSUB') or
		denied('SHARDNUMSUB', 'PUBSUB') or
		denied(LOCK, 'HGETALL PTTL') or denied(STATE, 'HGET1 HMGET1') or denied(QUEUE, 'LLEN LRANGE2') or
		denied(TIMEOUTS, 'ZCARD')
	if refusal then
		return refusal
	end
end

local clock = call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = math.floor(now_us / 1000)

-- Lua prints large numbers with an exponent, which Redis does not read back. (Those that it gets as
-- numbers it prints itself, in the time of a short command: what goes to several places is text.)
local format = string.format
local function int(number)
	return format('%.0f', number)
end

local stamp = int(now)

-- A number that we wrote, or nil for what others may have put in its place.
local function number(text)
	local value = tonumber(text)
	if value and value >= 0 and value < 9007199254740992 then
		return value - value % 1
	end
end

-- What read_keys read, and what has become of it. `empty`: nobody is queued, and nobody was since.
-- `length`, `scores`: how many are in list and sorted set, or nil when that is to be asked anew.
-- `touched`, `logged`: when hash and log got their times to live. `unsaved_end`, `unsaved_ours`: the
-- end of the hold, and `ours`, are yet to be written. `spelled`: the other spelling of this name that
-- is in use, if one is ({x} and x share all keys but the lock). `refusal`: the answer of a script that
-- may change nothing, or nil. `is_new`: there is no hash of ours yet. `is_old`: it is of an older
-- version, and nobody uses it.
local state

-- Why a script may change nothing: another spelling of the name is in use, or our hash is of another
-- version of the protocol. A hash that nobody uses is raised to ours.
local function refusal_of(version, in_use)
	if state.spelled then
		return {'spelled', state.spelled}
	elseif version > VERSION or version < VERSION and in_use then
		return {'version', version, VERSION}
	end
end

-- Returns owner and hold count of the lock, or nil when it is free; and up to two more fields of our hash.
-- Each call costs 3 to 10 us where caches are cold: all is read at once, and what is written goes together.
local function read_keys(...)
	local lock = call('HGETALL', LOCK)
	local field = call('HMGET', STATE, 'name', 'token', 'ended', 'forced', 'ticket', 'ours', 'run', 'back',
		'turn', 'turned', 'head', 'started', 'recall', 'n:granted', 'owner', 'since', 'until', 'lease',
		'waited', 'by', 'holds', 'taken_up', 'keep', 'unheard', 'touched', 'logged', 'v', 'up', 'tended', ...)
	state = {
		is_new = not field[1], spelled = field[1] ~= LOCK and field[1], token = number(field[2]),
		ended = field[3], forced = field[4],
		ticket = number(field[5]), ours = number(field[6]) or 0, run = field[7],
		back = math.min(number(field[8]) or 0, now + AWAY_MS), turn = field[9],
		turned = math.min(number(field[10]) or now, now), head = field[11],
		started = number(field[12]), recall = number(field[13]), grants = number(field[14]) or 0,
		is_marked = field[22] or field[23], touched = number(field[25]) or 0, logged = number(field[26]) or 0,
		up = number(field[28]), tended = field[29],
	}
	if field[15] ~= '' then -- else what is left there is of a hold that is over
		state.owner, state.since, state['until'] = field[15] or nil, number(field[16]), number(field[17])
		state.lease, state.waited, state.by = number(field[18]), number(field[19]), field[20]
		state.holds, state.taken_up, state.keep = field[21], field[22], number(field[23])
		state.unheard = number(field[24])
	end
	-- keys of another type are to fail here, before anything is changed
	state.length, state.scores = call('LLEN', QUEUE), call('ZCARD', TIMEOUTS)
	state.empty = state.length == 0 and state.scores == 0 and state.ours == 0
	local version = state.is_new and VERSION or number(field[27]) or 1
	state.refusal, state.is_old = refusal_of(version, lock[1] or not state.empty), version < VERSION
	return lock[1], lock[1] and (number(lock[2]) or 1), field[30], field[31]
end

-- Says of a new hash which name it is for, in which version, and when it was made: a ticket or a token
-- from before that was given by a server that has lost its data since. run: call, or note.
local function introduce(run)
	if state.is_new then
		run('HSET', STATE, 'name', LOCK, 'v', VERSION, 'up', stamp)
	elseif state.is_old then
		run('HSET', STATE, 'v', VERSION)
	end
	state.is_new, state.is_old = false, false
end

-- Writes an event into the log, and counts it (take counts grants). The log forgets, and what is counted may
-- not fall.
local function record(event, time, owner, token, by, waited, held, status, cause)
	if event ~= 'released' and event ~= 'left' and event ~= 'granted' then
		note('HINCRBY', STATE, 'n:' .. event, 1)
	end
	local entry = {'MAXLEN', '~', LOG_LENGTH, '*', 'event', event, 'time', time == now and stamp or time,
		'owner', owner, 'token', token or '', 'by', by or '', 'waited', waited or '', 'held', held or '',
		'status', status or '', 'cause', cause or ''}
	if math.abs(now - state.logged) < FRESH_MS and note('XADD', LOG, 'NOMKSTREAM', unpack(entry)) then
		return
	end
	if note('XADD', LOG, unpack(entry)) then
		note('PEXPIRE', LOG, LOG_TTL_MS)
		note('HSET', STATE, 'logged', now)
		state.logged = now
	end
end

-- Writes what scripts put off. Whoever changes something ends with it, in touch or settle.
local function save()
	if state.unsaved_end then
		call('HSET', STATE, 'owner', '', 'ended', state.ended)
	end
	if state.unsaved_ours then
		note('HSET', STATE, 'ours', state.ours)
	end
	state.unsaved_end, state.unsaved_ours = false, false
end

-- Our hash was used: it stays for another day, for as long as somebody will ask for the last start, and for
-- a day after a --min-hold.
local function touch()
	save()
	if math.abs(now - state.touched) < FRESH_MS and not state.recall and not state.keep then
		return
	end
	if call('PEXPIRE', STATE, math.max(STATE_TTL_MS, (state.recall or 0) - now,
		(state.keep or 0) - now + STATE_TTL_MS)) == 1 then
		note('HSET', STATE, 'touched', now)
	end
end

-- Whether this is a late copy of a request: the server has read a newer request of the same process, which
-- says that it left more requests under way on connections that are no more. Nobody hears the answer to a
-- copy, and the copy may change nothing. mark: what read_keys read of 'c:' .. request.
local function is_late(request, strays, mark)
	local newest = mark and number(string.match(mark, ' (%d+)$')) or 0
	if strays > newest then
		-- the first deletes nothing; but after it a server out of memory takes the second, too
		call('HDEL', STATE, 'c:' .. request)
		note('HSET', STATE, 'c:' .. request, stamp .. ' ' .. int(strays))
		state.marked = true
		touch()
	end
	return strays < newest
end

-- Makes id, whose name is in the lock by now, the owner, for ttl ms at first. hold: as in `holds`. unheard: a
-- ticket that it may not have heard. Returns the token, as text.
local function take(id, hold, lease, ttl, by, waited, unheard)
	state.token = math.max(now, (state.token or 0) + 1)
	call('PEXPIRE', LOCK, ttl)
	introduce(call)
	local token = int(state.token)
	local grant = {'token', token, 'owner', id, 'since', stamp, 'until', now + ttl, 'lease', lease,
		'waited', waited, 'by', by, 'holds', hold, 'n:granted', state.grants + 1, 'unheard', unheard or '',
		'ended', state.ended or '', 'ours', state.ours}
	if string.sub(hold, 1, 1) == 'w' then
		-- before it is, so that no start is missed
		call('HSET', STATE, 'started', stamp, 'before', state.started or '', unpack(grant))
		state.started = now
	else
		call('HSET', STATE, unpack(grant))
	end
	state.owner, state.since, state['until'], state.lease = id, now, now + ttl, tonumber(lease)
	state.unsaved_end, state.unsaved_ours = false, false
	if state.turn or state.forced or state.is_marked then
		-- nobody has demanded these of this hold
		call('HDEL', STATE, 'turn', 'turned', 'taken_up', 'keep', state.forced and 'forced' or 'turn')
		state.turn, state.keep = nil, nil
	end
	record('granted', now, id, token, by, waited)
	return token
end
