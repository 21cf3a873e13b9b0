-- The beginning of every script; ../README.md has the keys, the records, and the reasons.
--
-- KEYS     1 the lock (it is NAME itself), 2 Redisson's list, 3 Redisson's timeouts, 4 our hash, 5 log,
--          6 our waiters; 7 holders, if the caller has, or wants, a shared hold or a slot
-- ARGV[1]  prefix of the channels
--
-- In front of it each script sets
--   id       of the owner that it is about, or ''
--   request  of the caller; false: the script only looks
--   strays   how many requests the process has left under way, whose copies may come late: one that has left
--            fewer than another that came before is late
--   late     the answer to a late copy
--
-- Answers of all scripts, beside those that the header of each has:
--   {'spelled', name}          another spelling of this name is in use; status and queue go on
--   {'version', theirs, ours}  the lock is in use by another version of this protocol; look goes on
--   {'late'}                   this is a late copy; acquire answers {'removed'}

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
local QUEUE_TTL_MS = '600000'
local STATE_TTL_MS = 86400000
local LOG_TTL_MS = '604800000'
local DONE_TTL_MS = '600000'      -- no copy of a request comes later
local LOG_LENGTH = '1000'
local CHUNK = 100               -- so many are looked at together
local MANY = 1000               -- words for one command: unpack takes no more than some thousands
local LONGEST_MS = 31622400000  -- 366 days: nobody can ask for more, so a longer time is damage
local MOST = 9007199254740992   -- numbers beyond it are not exact, and none of ours

local call, pcall_server, match, format = redis.call, redis.pcall, string.match, string.format

-- From version 7 on there are sharded channels, too. In a cluster, clients that know them use nothing else.
local SHARDED = redis.REDIS_VERSION_NUM ~= nil

-- The part of the keys that names the lock; in a cluster all of these are in one slot.
local TAG = match(LOG, '^fairlock_log:(.*)$')

-- KEYS[7], if that is declared.
local HOLDERS = 'fairlock_holders:' .. TAG

-- The one field of key 1 beside several holders. Neither is an owner id.
local MODES = {['fairlock:shared'] = 's', ['fairlock:slots'] = '='}

-- Redis 6.2 cannot be asked what a user may do. One who may FLUSHALL most likely may do everything.
local check = redis.acl_check_cmd
local asked, allowed = pcall(check or error, 'FLUSHALL')
local is_limited = check and not (asked and allowed)

-- in a function from here on
-- include permissions.lua

-- Of the server's clock, ms since the epoch. What is written is text, as stamp: Lua prints an exponent.
local clock = call('TIME')
local thousandths = math.floor(clock[2] / 1000)
local now, stamp = clock[1] * 1000 + thousandths, clock[1] .. format('%03d', thousandths)

-- A number as text. The same few times stand in all that a script writes, and to print one is dear.
local printed = {[now] = stamp}
local function int(number)
	local text = printed[number] or format('%.0f', number)
	printed[number] = text
	return text
end

-- A number that we wrote, or nil for what others may have put in its place.
local function number(text)
	local value = text and text ~= '-' and tonumber(text)
	if value and value >= 0 and value < MOST then
		return value - value % 1
	end
end

local function columns(count, ...)
	local words = {...}
	for i = 1, count do
		local word = words[i]
		words[i] = type(word) == 'number' and int(word) or word or '-'
	end
	return table.concat(words, ' ', 1, count)
end

-- For bookkeeping, which a server out of memory refuses: it must not fail what matters. Nil: it was refused.
local function note(...)
	local result = pcall_server(...)
	if type(result) ~= 'table' or not result.err then
		return result
	end
end

-- Counts an event, too, since the log forgets (take counts grants). The arguments behind owner may be nil.
-- actor: the description of another process that did this.
local function record(event, time, owner, token, by, waited, held, status, cause, slot, actor)
	local more = actor and {'slot', slot or '', 'actor', actor} or slot and {'slot', slot} or {}
	if event == 'expired' or event == 'forced' or event == 'lost' then
		note('HINCRBY', STATE, 'n:' .. event, 1)
	end
	if note('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', 'event', event, 'time', int(time), 'owner', owner,
		'token', token and int(token) or '', 'by', by or '', 'waited', waited and int(waited) or '',
		'held', held and int(held) or '', 'status', status or '', 'cause', cause or '', unpack(more)) then
		pcall_server('PEXPIRE', LOG, LOG_TTL_MS)
	end
end

-- A hold, in the field `h:OWNER`:
--   state    held; kept: all was given back, and the lock stays held for the rest of a --min-hold
--   token    of the grant; 0: unknown
--   since    ms: when the hold began; nil: our hash knows nothing of it but `token` and `holds`
--   ends     ms: when its lease ends, as far as our hash knows
--   lease    ms: that it was taken with
--   longest  ms: the longest that was asked for since
--   waited   for how many ms the owner had waited
--   keep     ms: until when the lock stays held whatever is given back (--min-hold)
--   mode     x exclusive, s shared, =SLOT
--   holds    ",wREQUEST,aREQUEST,": the processes that have it, each behind its kind, as acquire has that
--   notes    of a held one: the requests that ask it to stop, with commas between, or `-`; of a kept one: how
--            its COMMAND ended, "STATUS:CAUSE", with _ for a blank
--   by       as acquire has it; of one that is asked to stop, behind a newline that of the process that asked
--            first
local function hold_text(hold)
	return columns(12, hold.state, hold.token or 0, hold.since, hold.ends, hold.lease, hold.longest, hold.waited,
		hold.keep, hold.mode, hold.holds, hold.notes, hold.by)
end

-- What is known of the COMMANDs of this lock, for --once-per and --once-ok, all in ms:
--   start  LAST WHOSE BEFORE RECALL: when the last one was started, the token of the grant that started it,
--          when the one before was started; and until when somebody may ask for all this
--   ok     STARTED ENDED: when the last one that ended with 0 was started, and when it ended

-- The count of slots in a want `#N`, or nil.
local function count_of(want)
	return number(match(want, '^#([1-9]%d?%d?%d?)$'))
end

-- The lock as it is, and what the script has made of it since. All is read before anything is changed: a
-- key of another type is to fail here.
--   field, value  of key 1; nil when the lock is free
--   mode          x: one holds it, alone; s: shared holds; =: holds of slots; nil when the lock is free
--   slots         the holders take slots of this count; nil: nobody counts them
--   holder        the field of key 1 as our hash knows it, until somebody notices its end
--   is_new        there is no hash of ours yet
--   spelled       the other spelling of this name that is in use, or nil
--   ttl           see lock_ttl; the rest is as in our hash
local lock

-- The holds that this script has looked at: owner → hold, or false. my_text: the record of the caller's.
local holds, my_text = {}

local refusal -- the answer of a script that may change nothing
do
	local key = call('HGETALL', LOCK)
	if key[3] or key[1] and not tonumber(key[2]) then
		return redis.error_reply('WRONGTYPE this hash is no lock')
	end
	local name, version, token, ticket, holder, run, lost, turn, newest, start, ok, grants, mine =
		unpack(call('HMGET', STATE, 'name', 'v', 'token', 'ticket', 'holder', 'run', 'lost', 'turn', 'newest',
			'start', 'ok', 'n:granted', 'h:' .. id))
	lock = {
		field = key[1], value = key[2], mode = MODES[key[1]] or key[1] and 'x',
		slots = key[1] == 'fairlock:slots' and count_of('#' .. key[2]) or nil,
		holder = holder or nil, token = number(token) or 0, ticket = number(ticket) or 0,
		grants = number(grants) or 0, start = start or '', ok = ok or '', run = run or '', lost = lost or '',
		turn = turn or '', newest = newest or '', is_new = not name,
		spelled = name and name ~= LOCK and name or nil,
	}
	my_text = mine
	if lock.spelled then
		refusal = {'spelled', lock.spelled}
	elseif name and version ~= VERSION then
		refusal = {'version', number(version) or 0, tonumber(VERSION)}
	end
end
if MODES[lock.field] and check and not check('ZSCORE', HOLDERS, '0') then
	return redis.error_reply("NOPERM this user has no permissions to run 'ZSCORE " .. HOLDERS .. "'")
elseif refusal and request then
	return refusal
elseif request and MODES[lock.field] and not KEYS[7] and call('ZCARD', HOLDERS) == 0 and
	match(call('INFO', 'cluster'), 'cluster_enabled:1') then
	-- the node that gets a slot shows a key that has not come yet as empty; a caller that declares this key is
	-- refused there
	return redis.error_reply('TRYAGAIN the holders of this lock are at another node')
end

-- The last word on the request, which a late copy of it finds; nil: it is under way, or has never come.
-- This key is not declared: where the slot of a cluster moves, a key that is not there would be refused.
-- asks: the one that this request is to leave, or nil.
local word, asks
if request then
	local said = pcall_server('GET', 'fairlock_done:' .. TAG .. ':' .. request)
	said = type(said) == 'string' and said or ''
	local left = tonumber(match(said, '^asks (%d+)$')) or 0
	if match(said, '^%[') then
		return cjson.decode(said)
	elseif strays < left then
		return late
	end
	word = left == 0 and said ~= '' and said or nil
	asks = strays > left and not word and 'asks ' .. int(strays) or nil
end

-- In how many ms key 1 expires, unless somebody gives it another time; -1: never; -2: it is not there.
local function lock_ttl()
	lock.ttl = lock.ttl or call('PTTL', LOCK)
	return lock.ttl
end

local function touch()
	local ttl = math.max(lock.mode and lock_ttl() or 0, 0) + STATE_TTL_MS
	local recall = number(match(lock.start, '^%S+ %S+ %S+ (%d+)$')) or 0
	call('PEXPIRE', STATE, int(math.min(math.max(ttl, recall - now), 2 * LONGEST_MS)))
end

-- To make the functions for a queue, and for all that is not as usual, costs more than a usual request
-- does: so a script makes them when it has looked, and needs them.
local pass_on, settle, set_last_end, remember
