-- The beginning of every script: lua/join puts this file in front of each of them. ../README.md is the
-- protocol: keys, records, invariants, reasons, and why a usual case stands in a row, without functions.
--
-- KEYS     1 the lock (it is NAME itself), 2 queue, 3 timeouts, 4 state, 5 log; 6 holders, if the
--          caller has, or wants, a shared hold or a slot: see base.lua
-- ARGV[1]  prefix of the channels

local LOCK, QUEUE, TIMEOUTS, STATE, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CHANNEL = ARGV[1]
local VERSION = '1' -- of this protocol, in the field `v` of our hash
local LOG_LENGTH = 1000
local MOST = 9007199254740992 -- numbers beyond it are not exact, and none of ours
local LONGEST_MS = 31622400000 -- 366 days: nobody can ask for more, so a longer time is damage

local call, pcall_server, match, format = redis.call, redis.pcall, string.match, string.format

-- From version 7 on there are sharded channels, too. In a cluster, clients that know them use nothing else.
local SHARDED = redis.REDIS_VERSION_NUM ~= nil

-- A user who may not do all that a script does is told what is lacking, before anything is changed: see
-- "Permissions" in ../README.md. Before Redis 8 the server does not say at what it has stopped.
local check = redis.acl_check_cmd
local asked, allowed = pcall(check or error, 'FLUSHALL')
if asked and allowed then
	allowed = check('PEXPIRE', LOCK, '0') and check('DEL', LOCK) and check('HSET', LOCK, '0', '0') and
		check('HDEL', STATE, '0')
end

-- Both are nil for a user who may do everything. denied: the refusal of the first of these commands that the
-- user may not run with this word, or nil. Behind a command is how many more words it takes: from 8.6 on,
-- Redis answers about a whole command only. may_not_write: the same for a script that changes something; each
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
		denied(TIMEOUTS, 'ZCARD ZRANGE2 ZSCORE1')
	if refusal then
		return refusal
	end
end

-- In ms since the epoch, of the server's clock; stamp: as text. Lua prints large numbers with an exponent,
-- which Redis does not read back: what is written to several places is text.
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local stamp = format('%.0f', now)
