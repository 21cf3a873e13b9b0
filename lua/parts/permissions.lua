-- What a user of the server must be allowed to do: the one list. A script that changes something refuses a user
-- who lacks any of it, before it changes anything; `doctor` names all that is lacking.

-- The keys of a lock, and the commands on each. A digit says how many more words a command takes: from 8.6 on,
-- Redis answers about a whole command only. Behind `|`: what a user needs who only looks.
if is_limited then
	local DONE = 'fairlock_done:' .. TAG .. ':0'
	local READS = {
		{'', 'TIME'}, {'NUMSUB', 'PUBSUB'}, {'SHARDNUMSUB', 'PUBSUB'}, {LOCK, 'HGETALL PTTL'}, {STATE, 'HGET1 HMGET1'},
		{LIST, 'LLEN LRANGE2'}, {TIMEOUTS, 'ZCARD'}, {OURS, 'ZCARD ZRANGE2 ZSCORE1'},
	}
	local WRITES = {
		{LOCK, 'DEL HDEL1 HSET2 PEXPIRE1 PEXPIREAT1'}, {STATE, 'HDEL1 HINCRBY2 HSCAN1 HSET2 PEXPIRE1'},
		{LIST, 'LINDEX1 LPUSH1 LREM2 PERSIST PEXPIRE1 RPUSH1'},
		{TIMEOUTS, 'PERSIST PEXPIRE1 ZADD2 ZRANGE2 ZREM1'},
		{OURS, 'PEXPIRE1 ZADD2 ZCOUNT2 ZRANK1 ZREM1 ZREVRANGE2'}, {DONE, 'GET SET1'}, {LOG, 'PEXPIRE1 XADD3 XREVRANGE2'},
		{'server', 'INFO'}, {CHANNEL, 'PUBLISH1 SPUBLISH1'}, {CHANNEL .. ':0', 'PUBLISH1 SPUBLISH1'},
	}
	local MORE = {'0', '0', '0'}

	local function first_of(list)
		for _, need in ipairs(list) do
			for command, more in string.gmatch(need[2], '(%u+)(%d?)') do
				local words = {need[1] ~= '' and need[1] or nil, unpack(MORE, 1, tonumber(more) or 0)}
				asked, allowed = pcall(check, command, unpack(words))
				if asked and not allowed then
					return redis.error_reply("NOPERM this user has no permissions to run '" .. command ..
						(need[1] ~= '' and ' ' .. need[1] or '') .. "'")
				end
			end
		end
	end

	-- The refusal, or nil. reads: what a script needs that only reads, beside what all of those need.
	function lacking(reads)
		return first_of(READS) or first_of(reads or WRITES)
	end
end
