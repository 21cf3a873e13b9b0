-- What a user of the server must be allowed to do: the one list, which `doctor` reads, too. A script
-- refuses a user who lacks any of it before it changes anything.

-- For each key or channel: the commands of scripts that only look; behind the semicolon those of all
-- others. A digit says how many words follow: from 8.6 on, Redis answers about a whole command only.
if is_limited then
	local NEEDS = [[
		nothing: TIME PUBSUB|NUMSUB PUBSUB|SHARDNUMSUB; INFO|server
		lock: HGETALL PTTL; DEL HSET2 PEXPIRE1 PEXPIREAT1
		state: HGET1 HMGET1; HDEL1 HINCRBY2 HSCAN1 HSET2 PEXPIRE1
		list: EXISTS LRANGE2; LINDEX1 LPUSH1 LREM2 PERSIST PEXPIRE1 RPUSH1
		timeouts: EXISTS; PERSIST PEXPIRE1 ZADD2 ZCARD ZRANGE2 ZREM1 ZSCORE1
		log: XREVRANGE2; PEXPIRE1 XADD3
		ours: EXISTS ZCARD ZRANGE2 ZSCORE1; PEXPIRE1 ZADD2 ZCOUNT2 ZRANK1 ZREM1 ZREVRANGE2
		holders: ; DEL PEXPIREAT1 PTTL ZADD2 ZCARD ZMSCORE1 ZRANGE2 ZREM1 ZREVRANGE2 ZSCORE1
		done: ; GET SET1
		plain: ; PUBLISH1 SPUBLISH1
		channel: ; PUBLISH1 SPUBLISH1
	]]
	local names, more_words = {
		lock = LOCK, state = STATE, list = LIST, timeouts = TIMEOUTS, log = LOG, ours = OURS, holders = KEYS[7],
		done = 'fairlock_done:' .. TAG .. ':*', plain = CHANNEL, channel = CHANNEL .. ':0',
	}, {'0', '0', '0'}
	for object, reads, writes in string.gmatch(NEEDS, '(%l+): ([^;\n]*); ?([^\n]*)') do
		local needed = object == 'holders' and not KEYS[7] and '' or request and reads .. ' ' .. writes or reads
		for command, more in string.gmatch(needed, '([%a|]+)(%d?)') do
			local name, sub = match(command, '^(%u+)|?(.*)$')
			local words = {sub ~= '' and sub or names[object], unpack(more_words, 1, tonumber(more) or 0)}
			asked, allowed = pcall(check, name, unpack(words))
			if asked and not allowed then
				return redis.error_reply("NOPERM this user has no permissions to run '" .. name ..
					(words[1] and ' ' .. words[1] or '') .. "'")
			end
		end
	end
end
