-- Places in the queue: who stands where and with which score, and mending what others left in disorder. For
-- scripts that meet a queue, behind waiters.lua.

-- List and sorted set must agree. They always do after our scripts; others may have
-- died half way, or deleted a key.
local function mend()
	local listed = {}
	state.length, state.scores, state.scored = nil, nil, true
	for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		if listed[id] then
			call('LREM', QUEUE, -1, id)
		elseif not call('ZSCORE', TIMEOUTS, id) then
			local score = known(id) and OUR_SCORE_MS or REDISSON_SCORE_MS
			call('ZADD', TIMEOUTS, now + score, id)
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
	state.length, state.scored = nil, true
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

local function queue_length()
	state.length = state.length or call('LLEN', QUEUE)
	return state.length
end

-- How many of Redisson's stand before a waiter of ours: each grant to one of them may take 300 s
-- from its score.
local function redisson_ahead(id)
	local length = queue_length()
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
	local score = now + OUR_SCORE_MS + REDISSON_SCORE_MS * redisson_ahead(id)
	count_queue(0, call('ZADD', TIMEOUTS, score, id))
	state.scored = true
end

-- Our hash knows waiters that are in no queue: Redisson's scripts dropped them. Who is alive gets its
-- place back, the rest is forgotten.
local function bring_back()
	local ours = 0
	for _, field in ipairs(call('HKEYS', STATE)) do
		local id = string.match(field, '^t:(.*)$')
		ours = ours + (id and 1 or 0)
		if id and not call('ZSCORE', TIMEOUTS, id) then
			local ticket, seen, unheard = known(id)
			if ticket and now - seen < SILENT_MS and present(id) then
				place(id, ticket)
				give_score(id)
			else
				call('HDEL', STATE, field, 'd:' .. id)
				tickets[id] = false
				ours = ours - 1
				keep_ticket(id, unheard and ticket)
			end
		end
	end
	if ours ~= state.ours then
		state.ours = ours
		note('HSET', STATE, 'ours', ours)
	end
end

local MARK_MS = 600000
local SWEEP_FIELDS = 40
local SWEEP_MS = 60000

-- Marks for copies of requests that may still come, and tickets of those who may come back: none comes after
-- ten minutes. To look through many takes a while, so that is done once in a minute.
local function sweep()
	local swept = number(call('HGET', STATE, 'swept'))
	if swept and math.abs(now - swept) < SWEEP_MS then
		return
	end
	note('HSET', STATE, 'swept', now)
	local marks = call('HGETALL', STATE)
	for i = 1, #marks, 2 do
		local set = string.find(marks[i], '^[cfpx]:') and string.match(marks[i + 1], '^%d+')
		if set and now - tonumber(set) > MARK_MS then
			call('HDEL', STATE, marks[i])
		elseif string.find(marks[i], '^d:') and not known(string.sub(marks[i], 3)) then
			call('HDEL', STATE, marks[i])
		end
	end
end

-- Whether list and sorted set may disagree, or our hash know others than the list. A long
-- queue is only compared in length, but for its head: what is cheap must stay so.
local function looks_wrong(length)
	if (state.scores or call('ZCARD', TIMEOUTS)) ~= length then
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
	for i, entry in ipairs(call('HMGET', STATE, unpack(fields))) do
		tickets[ids[i]] = entry
		if entry then
			ours = ours + 1
		end
	end
	return ours ~= state.ours
end

-- All in the queue are ours: a time to live may stand on it. A Redisson client's RPUSH would not renew one.
-- Who has left took nothing from the time of those who stay.
local function set_queue_ttl(length)
	local ttl = not state.scored and call('PTTL', QUEUE)
	if ttl and (ttl > 0) == (length == state.ours) then
		return
	elseif length > state.ours then
		call('PERSIST', QUEUE)
		call('PERSIST', TIMEOUTS)
		return
	end
	local largest = tonumber(call('ZREVRANGE', TIMEOUTS, 0, 0, 'WITHSCORES')[2]) or now
	largest = math.min(math.max(now, largest), now + STATE_TTL_MS)
	call('PEXPIREAT', QUEUE, int(largest + QUEUE_TTL_MS))
	call('PEXPIREAT', TIMEOUTS, int(largest + QUEUE_TTL_MS))
end

local function repair()
	mend()
	bring_back()
end

-- Whoever is to decide who is next calls this first: somebody whom others dropped may stand before that one.
-- What our own scripts do to the lists leaves them in order. Returns whether something was amiss.
local is_checked = false

local function check_queue()
	is_checked = true
	if not state.empty and looks_wrong(queue_length()) then
		repair()
		return true
	end
end

-- Every script that changed something ends with this: lists agree, times to live are set. thorough: look
-- through a long queue too.
local function settle(thorough)
	touch()
	if not is_checked then
		check_queue()
	end
	local length = queue_length()
	if thorough and length > SHORT_QUEUE then
		repair()
		length = queue_length()
	end
	if length > 0 then
		set_queue_ttl(length)
	end
	if (state.marked or length == 0) and call('HLEN', STATE) > SWEEP_FIELDS + 2 * state.ours then
		sweep()
	end
end
