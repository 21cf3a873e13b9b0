-- The beginning of every script: keys, time, permissions, records, messages, the log, and the lock as it is.
-- ../README.md has the keys, the records, and the reasons.
--
-- KEYS     1 the lock (it is NAME itself), 2 Redisson's list, 3 Redisson's timeouts, 4 our hash, 5 log,
--          6 our waiters; 7 holders, if the caller has, or wants, a shared hold or a slot
-- ARGV[1]  prefix of the channels

local LOCK = KEYS[1]
local LIST = KEYS[2]
local TIMEOUTS = KEYS[3]
local STATE = KEYS[4]
local LOG = KEYS[5]
local OURS = KEYS[6]
local CHANNEL = ARGV[1]
local VERSION = '1' -- of this protocol, in the field `v` of our hash

local SIGN_OF_LIFE_MS = 10500   -- a waiter asks so often; more than 10 s, so never twice in 10 s
local TURN_MS = 5000            -- a waiter whose turn has come has so long to take it
local SILENT_TURN_MS = 1000     -- one that has given no sign of life for SILENT_MS has less
local SILENT_MS = 15000
local LOOK_MS = 1000            -- after so long a waiter sees whether one of Redisson's has taken its turn
local AWAY_MS = 2000            -- after a restart of the server all waiters get so long to come back
local CLOCK_SLACK_MS = 20       -- TIME and the clock of PEXPIRE differ by so much inside a script
local MARKER_SCORE_MS = 30000   -- of a marker, and so much more for each of Redisson's ahead ...
local REDISSON_SCORE_MS = 300000 -- ... which is what Redisson gives to a new head, too
local QUEUE_TTL_MS = 600000
local STATE_TTL_MS = 86400000
local LOG_TTL_MS = 604800000
local DONE_TTL_MS = 600000      -- no copy of a request comes later
local LOG_LENGTH = 1000
local CHUNK = 100               -- so many are looked at together
local MANY = 1000               -- words for one command: unpack takes no more than some thousands
local LONGEST_MS = 31622400000  -- 366 days: nobody can ask for more, so a longer time is damage
local MOST = 9007199254740992   -- numbers beyond it are not exact, and none of ours

local call, pcall_server, match, format = redis.call, redis.pcall, string.match, string.format

-- From version 7 on there are sharded channels, too. In a cluster, clients that know them use nothing else.
local SHARDED = redis.REDIS_VERSION_NUM ~= nil

-- The part of the keys that names the lock; in a cluster all of these are in one slot.
local TAG = match(LOG, '^fairlock_log:(.*)$')

-- A request declares this key only if its process has, or wants, a shared hold or a slot. So a user who never
-- shares a lock needs no right to it. And while a cluster moves the keys of an exclusive lock, the old node
-- runs the script: it refuses one that declares a key that is not there.
local HOLDERS = 'fairlock_holders:' .. TAG

-- The one field of key 1 beside several holders. Neither is an owner id.
local MODES = {['fairlock:shared'] = 's', ['fairlock:slots'] = '='}

-- A user who may not do all that a script does is told what is lacking, before anything is changed. Such a
-- user is asked for each command, as the server has no other way. One who may FLUSHALL most likely may do
-- everything, and is asked only for what each grant and release needs.
local check = redis.acl_check_cmd
local asked, allowed = pcall(check or error, 'FLUSHALL')
if asked and allowed then
	allowed = check('PEXPIRE', LOCK, '0') and check('DEL', LOCK) and check('HSET', LOCK, '0', '0') and
		check('HDEL', STATE, '0')
end
-- Redis 6.2 cannot be asked; there both are nil, as for a user who may do everything.
local is_limited = check and not (asked and allowed)
local lacking -- the refusal of a user who lacks a permission, or nil; nil for a user who may do everything

-- in a function from here on
-- include permissions.lua

-- In ms since the epoch, of the server's clock; stamp: as text. Lua prints large numbers with an exponent,
-- which Redis does not read back: what is written is text. Tickets count in µs.
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local stamp, now_us = format('%.0f', now), clock[1] * 1000000 + clock[2]

local function int(number)
	return format('%.0f', number)
end

-- A number that we wrote, or nil for what others may have put in its place.
local function number(text)
	local value = tonumber(text or nil)
	if value and value >= 0 and value < MOST then
		return value - value % 1
	end
end

local function maybe(number)
	return number and format('%.0f', number)
end

-- A column: a number, or nothing.
local function column(value)
	return value and format('%.0f', value) or '-'
end

-- For bookkeeping that must not fail what matters: a server out of memory refuses it, and lets the holder go
-- all the same. Returns nil when the server refused.
local function note(...)
	local result = pcall_server(...)
	if type(result) ~= 'table' or not result.err then
		return result
	end
end

-- ---- Messages and log ----

local function channel(id)
	return CHANNEL .. ':' .. id
end

-- Tells all who listen, in whatever way. A cluster sends PUBLISH to all of its nodes: so not when only
-- sharded subscribers are here, but when nobody is. In a cluster a message may fail where a slot moves, and
-- no message is needed.
local function publish(name, message)
	local heard = SHARDED and pcall_server('SPUBLISH', name, message) or 0
	local plain = heard ~= 0 and pcall_server('PUBSUB', 'NUMSUB', name)
	if heard == 0 or plain and plain[2] ~= 0 then
		pcall_server('PUBLISH', name, message)
	end
end

-- Writes an event into the log, as far as the server takes it; the arguments behind `owner` may be nil. slot:
-- of the hold. actor: the description of another process that did this.
local function log_event(event, time, owner, token, by, waited, held, status, cause, slot, actor)
	local entry = {'event', event, 'time', time, 'owner', owner, 'token', token or '', 'by', by or '',
		'waited', waited or '', 'held', held or '', 'status', status or '', 'cause', cause or ''}
	if slot or actor then
		entry[19], entry[20] = 'slot', slot or ''
	end
	if actor then
		entry[21], entry[22] = 'actor', actor
	end
	if type(pcall_server('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', unpack(entry))) == 'string' then
		pcall_server('PEXPIRE', LOG, LOG_TTL_MS)
	end
end

-- ---- Records ----
--
-- A record is its columns with a blank between them; `-` stands in a column that says nothing, and only the
-- last one may contain blanks. A record that cannot be read is no record.

-- A hold, in the field `h:OWNER`:
--   state    held; kept: all was given back, and the lock stays held for the rest of a --min-hold
--   token    of the grant
--   since    ms: when the hold began; nil: our hash knows nothing of it but `token` and `holds`
--   ends     ms: when its lease ends, as far as our hash knows
--   lease    ms: that it was taken with
--   longest  ms: a longer one that was asked for since
--   waited   for how many ms the owner had waited
--   keep     ms: until when the lock stays held whatever is given back (--min-hold)
--   mode     x exclusive, s shared, =SLOT
--   holds    ",wREQUEST,aREQUEST,": w taken by wrap; v by a wrap of several locks that does not have all of
--            them yet; a by acquire --while-pid; h by hand, that is by acquire without --while-pid
--   notes    of a held one: the requests that ask it to stop, with commas between, or `-`; of a kept one: how
--            its COMMAND ended, "STATUS:CAUSE", with _ for a blank
--   by       host, pid, user, command and perhaps a reason, separated by tabs; of one that is asked to stop,
--            the same of the process that asked first, behind a newline
local function read_hold(id, text)
	local state, token, since, ends, lease, longest, waited, keep, mode, holds, notes, by = match(text or '',
		'^(%l+) (%d+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (,%S*) (%S+) (.*)$')
	token, lease = number(token), number(lease)
	if not token or (lease or 0) > LONGEST_MS or state ~= 'held' and state ~= 'kept' or
		not (mode == 'x' or mode == 's' or match(mode, '^=.')) then
		return nil
	end
	return {
		id = id, state = state, token = token, since = number(since), ends = number(ends), lease = lease,
		longest = number(longest), waited = number(waited), keep = number(keep), mode = mode, holds = holds,
		notes = notes, by = by,
	}
end

local function hold_text(hold)
	return table.concat({hold.state, int(hold.token or 0), column(hold.since), column(hold.ends),
		column(hold.lease), column(hold.longest), column(hold.waited), column(hold.keep), hold.mode, hold.holds,
		hold.notes, hold.by}, ' ')
end

-- Who holds, without the process that asks it to stop.
local function by_of(hold)
	return match(hold.by, '^[^\n]*')
end

-- `runs`: what is known of the COMMANDs of this lock, for --once-per and --once-ok:
--   last        ms: when the last one was started
--   whose       token of the grant that started it
--   before      ms: when the one before was started
--   ok_started  ms: when the last one that ended with 0 was started ...
--   ok_ended    ... and when it ended
--   recall      ms: until when somebody may ask for all this
--   once        ok: all grants that our hash knows were to a --once-ok
local function read_runs(text)
	local last, whose, before, ok_started, ok_ended, recall, once = match(text or '',
		'^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
	return {
		last = number(last), whose = number(whose), before = number(before), ok_started = number(ok_started),
		ok_ended = number(ok_ended), recall = number(recall), once = once or '-',
	}
end

local function runs_text(runs)
	return table.concat({column(runs.last), column(runs.whose), column(runs.before), column(runs.ok_started),
		column(runs.ok_ended), column(runs.recall), runs.once}, ' ')
end

-- ---- The lock as it is ----

-- What read_lock found, and what the script has made of it since:
--   field, value  of key 1; nil when the lock is free
--   mode          x: one holds it, alone; s: shared holds; =: holds of slots; nil when the lock is free
--   slots         the holders take slots of this count; nil: nobody counts them
--   holder        the holder that our hash knows: the field of key 1, until somebody notices its end
--   token, ticket the last ones that were handed out, or 0
--   grants        how many there were
--   runs          see read_runs
--   run, up, back see read_run in recover.lua; as text
--   lost          as text, see recover.lua
--   turn          as text, see read_turn in queue.lua
--   newest        as text, see read_newest in jobs.lua
--   is_queued     somebody is in a queue, or was when the script began
--   is_new        there is no hash of ours yet
--   refusal       the answer of a script that may change nothing, or nil
--   spelled       the other spelling of this name that is in use, or nil
local lock

-- The holds that this script has looked at: owner → hold, or false. texts: the record, if it was read before.
local holds, texts = {}, {}

-- The count of slots in a want `#N`, or nil.
local function count_of(want)
	return number(match(want, '^#([1-9]%d?%d?%d?)$'))
end

-- Reads the lock, and the hold of this owner if there is one. All is read before anything is changed: a key
-- of another type is to fail here.
local function read_lock(owner)
	local key = call('HGETALL', LOCK)
	local name, version, token, ticket, holder, run, lost, turn, runs, newest, grants, mine =
		unpack(call('HMGET', STATE, 'name', 'v', 'token', 'ticket', 'holder', 'run', 'lost', 'turn', 'runs',
			'newest', 'n:granted', 'h:' .. owner))
	lock = {
		field = key[1], value = key[2], mode = MODES[key[1]] or key[1] and 'x',
		slots = key[1] == 'fairlock:slots' and count_of('#' .. key[2]) or nil,
		holder = holder or nil, token = number(token) or 0, ticket = number(ticket) or 0,
		grants = number(grants) or 0, runs = read_runs(runs), run = run or '', lost = lost or '',
		turn = turn or '', newest = newest or '',
		is_queued = call('EXISTS', LIST, TIMEOUTS, OURS) > 0,
		is_new = not name, spelled = name and name ~= LOCK and name or nil,
	}
	texts[owner] = mine or ''
	if MODES[lock.field] and check and not check('ZSCORE', HOLDERS, owner) then
		lock.refusal = redis.error_reply("NOPERM this user has no permissions to run 'ZSCORE " .. HOLDERS .. "'")
	elseif lock.spelled then
		lock.refusal = {'spelled', lock.spelled}
	elseif name and version ~= VERSION then
		lock.refusal = {'version', number(version) or 0, tonumber(VERSION)}
	end
end

-- When a lease ends (ms), by its score among the holders; nil if there is none.
local function end_of(score)
	score = tonumber(score or nil)
	return score and math.max(0, math.min(math.floor(score), now + LONGEST_MS))
end

-- entry: as in `holds`
local function has_entry(hold, entry)
	return string.find(hold.holds, ',' .. entry .. ',', 1, true) ~= nil
end

-- The entry of this request, or nil.
local function entry_of(hold, request)
	for kind in string.gmatch('wvah', '.') do
		if has_entry(hold, kind .. request) then
			return kind .. request
		end
	end
end

-- The hold of this owner, or nil if it holds nothing now. Of one without a record only the mode is known, and
-- `count`: how many holds there are in this one.
local function find_hold(owner)
	if holds[owner] ~= nil then
		return holds[owner] or nil
	end
	local ends = lock.mode and lock.mode ~= 'x' and end_of(call('ZSCORE', HOLDERS, owner))
	holds[owner] = false
	if lock.field ~= owner and (ends or 0) <= now then
		return nil
	end
	local hold = read_hold(owner, texts[owner] or call('HGET', STATE, 'h:' .. owner))
	if hold and (string.sub(hold.mode, 1, 1) ~= lock.mode or lock.mode == 'x' and lock.holder ~= owner) then
		hold = nil -- that of an earlier hold
	end
	hold = hold or {id = owner, state = 'held', mode = lock.mode, holds = ',', notes = '-', by = ''}
	hold.count = lock.mode == 'x' and number(lock.value) or select(2, string.gsub(hold.holds, ',', '')) - 1
	if lock.mode ~= 'x' and not hold.since and not entry_of(hold, owner) then
		hold.count = hold.count + 1 -- the one that our hash forgot
	end
	hold.count = math.max(1, hold.count)
	holds[owner] = hold
	return hold
end

-- ---- What changes it ----

-- The last word on a request, which a late copy of it finds; nil: it is under way, or has never come. This
-- key is not declared: where the slot of a cluster moves, a key that is not there may not be asked for, and a
-- request that declared it would be refused.
local function last_word(request)
	local word = pcall_server('GET', 'fairlock_done:' .. TAG .. ':' .. request)
	return type(word) == 'string' and word or nil
end

local function set_last_word(request, word)
	pcall_server('SET', 'fairlock_done:' .. TAG .. ':' .. request, word, 'PX', DONE_TTL_MS)
end

-- Whether this is a late copy, by how many requests the process has left under way: copies of requests that
-- have left fewer are late from then on. Returns the last word, too, if there is one.
local function is_late(request, strays)
	local word = last_word(request)
	local left = tonumber(match(word or '', '^asks (%d+)$'))
	if strays > (left or 0) and (left or not word) then
		set_last_word(request, 'asks ' .. int(strays))
	end
	return strays < (left or 0), not left and word or nil
end

-- Makes the server take what follows, also when its memory is full: from the first deletion on it refuses
-- nothing of a script. To give back, to leave and to renew must be possible then.
local function make_room()
	call('HDEL', STATE, '-')
end

-- Says of a new hash which name it is for, in which version, and when it was made: a ticket or a token from
-- before that was given by a server that has lost its data since. If somebody has slots, until when they may
-- have them: see knows_slots.
local function introduce()
	if lock.is_new then
		local known_at = lock.mode == '=' and int(now + call('PTTL', LOCK)) or '-'
		lock.is_new, lock.run, lock.lost = false, '- ' .. stamp .. ' -', '0 ' .. stamp .. ' ' .. known_at
		call('HSET', STATE, 'name', LOCK, 'v', VERSION, 'run', lock.run, 'lost', lock.lost)
		call('PEXPIRE', STATE, STATE_TTL_MS) -- also if this script changes nothing else
	end
end

-- The field of key 1 for a hold.
local function field_of(mode, id)
	return mode == 'x' and id or mode == 's' and 'fairlock:shared' or 'fairlock:slots'
end

local function save_hold(hold)
	call('HSET', STATE, 'holder', field_of(hold.mode, hold.id), 'h:' .. hold.id, hold_text(hold))
end

-- Lets both keys live until the last of several leases ends. Returns whether that is earlier than it was.
local function set_last_end()
	local last = end_of(call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES')[2]) or now
	local before = call('PTTL', LOCK)
	call('PEXPIREAT', LOCK, int(last))
	call('PEXPIREAT', HOLDERS, int(last))
	return last - now < before - CLOCK_SLACK_MS
end

-- Gives the lease of a hold this time to live, ms. Returns whether several holders all end earlier than they
-- did.
local function set_ttl(hold, ttl)
	hold.ends = now + ttl
	if lock.mode == 'x' then
		call('PEXPIRE', LOCK, ttl)
		return false
	end
	call('ZADD', HOLDERS, int(now + ttl), hold.id)
	return set_last_end()
end

-- Writes a hold of this mode into key 1, and into the sorted set beside others. want: what the holder asked
-- for; a count in it is the value of key 1 until the lock is free. run: call, or note, with which it returns
-- false where the server refuses that.
local function enter(run, mode, id, want)
	local slots = lock.slots or count_of(want)
	if mode ~= 'x' and lock.mode ~= string.sub(mode, 1, 1) and run('PTTL', HOLDERS) ~= -2 then
		run('DEL', HOLDERS) -- of holds that are over
	end
	if mode ~= 'x' and not run('ZADD', HOLDERS, stamp, id) or
		not run('HSET', LOCK, field_of(mode, id), match(mode, '^=') and (slots or 0) or 1) then
		return false
	end
	lock.field, lock.value, lock.mode, lock.slots = field_of(mode, id), '1', string.sub(mode, 1, 1), slots
	return true
end

-- A job with this period wants to find its last start, or the last success, in our hash. `status` shows for
-- another period when the last start was, but nobody looks for a success after it. Returns whether that is
-- news.
local function remember(period)
	local is_ok, ms = match(period, '^(o?k?)(%d+)$')
	local recall = ms and (lock.runs.last or now) + (is_ok == 'ok' and 1 or 2) * (number(ms) or 0) or 0
	if recall > (lock.runs.recall or 0) then
		lock.runs.recall = recall
		return true
	end
end

-- Makes `id` a holder, for ttl ms at first, behind `enter`. entry: its first one in `holds`. period: of
-- --once-per or --once-ok, as acquire has it. Returns the hold.
local function take(id, mode, entry, lease, ttl, by, waited, period)
	introduce()
	lock.token, lock.grants, lock.holder = math.max(now, lock.token + 1), lock.grants + 1, lock.field
	local hold, runs = {
		id = id, state = 'held', token = lock.token, since = now, lease = lease, waited = waited, mode = mode,
		holds = ',' .. entry .. ',', notes = '-', by = by, count = 1,
	}, lock.runs
	local token, is_ok, slot = int(lock.token), match(period, '^ok') ~= nil, match(mode, '^=(.*)$')
	set_ttl(hold, ttl)
	if string.sub(entry, 1, 1) == 'w' then
		-- written down before it is started, so that no start is missed
		runs.last, runs.whose, runs.before = now, lock.token, runs.last
	end
	runs.once = is_ok and (runs.once == 'ok' or lock.grants == 1) and 'ok' or '-'
	remember(period)
	call('HSET', STATE, 'token', token, 'holder', lock.field, 'h:' .. id, hold_text(hold),
		'n:granted', lock.grants, 'runs', runs_text(runs))
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	if lock.turn ~= '' then
		call('HDEL', STATE, 'turn')
		lock.turn = ''
	end
	holds[id] = hold
	log_event('granted', stamp, id, token, by, int(waited), nil, nil, nil, slot)
	return hold
end

-- Our hash was used: it stays for another day, for a day after the end of the lease and of a --min-hold, and
-- for as long as somebody will ask for the last start. hold: of the caller, or nil.
local function touch(hold)
	local ends = math.max(now, hold and hold.ends or 0, hold and hold.keep or 0)
	if lock.mode and not (hold and lock.mode == 'x') then
		ends = math.max(ends, now + call('PTTL', LOCK))
	end
	local ttl = math.max(ends - now + STATE_TTL_MS, (lock.runs.recall or 0) - now)
	call('PEXPIRE', STATE, int(math.min(ttl, 2 * LONGEST_MS)))
end

-- ---- Ends ----

-- Logs an event, and counts it (take counts grants): the log forgets, and what is counted may not fall.
local function record(event, ...)
	if event == 'expired' or event == 'forced' or event == 'lost' then
		note('HINCRBY', STATE, 'n:' .. event, 1)
	end
	log_event(event, ...)
end

-- Redisson's waiter at the head sleeps until the end of the lock that it saw when it asked.
local function tell_redisson()
	local head = call('LINDEX', LIST, 0)
	if head and not match(head, '^fairlock:%d+$') then
		publish(channel(head), '0')
	end
end

-- Tells all who have asked for the end of this hold to look again.
local function tell_askers(hold)
	for request in string.gmatch(hold.notes ~= '-' and hold.notes or '', '[^,]+') do
		publish(channel(request), '0')
	end
end

-- Takes a hold that is over out of our hash, tells those who have asked it to stop, and logs the end. status,
-- cause: how COMMAND ended, if the caller knows. actor: see log_event.
local function forget_hold(hold, event, time, status, cause, actor)
	local slot = match(hold.mode, '^=(.+)$')
	holds[hold.id] = false
	if hold.mode == 'x' then
		call('HDEL', STATE, 'holder', 'h:' .. hold.id)
	else
		call('HDEL', STATE, 'h:' .. hold.id)
	end
	if slot and call('HGET', STATE, 's:' .. slot) == hold.id then
		call('HDEL', STATE, 's:' .. slot) -- else another has it by now
	end
	if hold.state == 'kept' then
		status, cause = match(hold.notes, '^(%d*):(.*)$')
		cause = string.gsub(cause or '', '_', ' ')
	else
		tell_askers(hold)
	end
	record(event, int(time), hold.id, maybe(hold.token), by_of(hold), maybe(hold.waited),
		hold.since and int(math.max(0, time - hold.since)), status, cause, slot, actor)
end

local function set_free()
	lock.field, lock.value, lock.mode, lock.slots, lock.holder = nil, nil, nil, nil, nil
end

-- Since when the lock is free again that a waiter was handed, and did not renew: it hangs. Nil: there was
-- none.
local missed_at

-- Whether the lock was handed to this owner, which has not renewed it yet.
local function is_untaken(hold)
	return hold.since and hold.ends and hold.lease and hold.ends - hold.since < hold.lease
end

-- The lease of this hold has ended.
local function expire(hold)
	local ends = math.min(hold.ends or now, now)
	missed_at = hold.state == 'held' and is_untaken(hold) and ends or missed_at
	forget_hold(hold, hold.state == 'kept' and 'released' or 'expired', ends)
end

-- Of several holders, ends those whose leases have ended, so many at most.
local function expire_some(most)
	for _, id in ipairs(call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, most)) do
		local hold = read_hold(id, call('HGET', STATE, 'h:' .. id))
		call('ZREM', HOLDERS, id)
		if hold then
			expire(hold)
		end
	end
end

-- Ends a hold; the lock is free with the last one. The arguments are as for forget_hold.
local function end_hold(hold, event, status, cause, actor)
	if lock.mode == 'x' then
		call('DEL', LOCK)
		set_free()
	else
		-- read before the key may go: a slot of a cluster that moves refuses it from then on
		local last = call('ZREVRANGE', HOLDERS, 0, 1, 'WITHSCORES')
		local other = end_of(last[last[1] == hold.id and 4 or 2]) or 0
		call('ZREM', HOLDERS, hold.id)
		if other <= now then
			expire_some(MANY)
			call('DEL', LOCK)
			note('DEL', HOLDERS)
			call('HDEL', STATE, 'holder')
			set_free()
		elseif set_last_end() then
			tell_redisson()
		end
	end
	forget_hold(hold, event, now, status, cause, actor)
end

-- What the scripts do where there is a queue, or where not all is as usual. To make these functions costs
-- more than a usual request does: so a script makes them when it has looked, and needs them.
local pass_on, settle
