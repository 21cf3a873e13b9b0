-- Places in the queue: who stands where and with which score, and mending what others left in disorder. For
-- scripts that meet a queue, behind queue_head.lua.

local function give_missing_score(id)
	call('ZADD', TIMEOUTS, now + (known(id) and OUR_SCORE_MS or REDISSON_SCORE_MS), id)
end

-- List and sorted set must agree. They always do after our scripts; others may have
-- died half way, or deleted a key.
local function mend()
	local listed = {}
	state.length, state.scores, state.scored = nil, nil, true
	for _, id in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		if listed[id] then
			call('LREM', QUEUE, -1, id)
		elseif not call('ZSCORE', TIMEOUTS, id) then
			give_missing_score(id)
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

-- How much may still be taken from a score of ours. A long queue of ours alone is not looked through.
local function redisson_ahead(id)
	local length = queue_length()
	if length > SHORT_QUEUE and length <= state.ours then
		return 0
	end
	return patience_ahead(id)
end

local function give_score(id)
	local score = now + OUR_SCORE_MS + redisson_ahead(id)
	count_queue(0, call('ZADD', TIMEOUTS, score, id))
	state.scored = true
end

-- Our hash knows a waiter that is in no queue: Redisson's scripts dropped it. If it is alive it gets
-- its place back, else it is forgotten. Returns whether it is one of ours now.
local function bring_back(id)
	if call('ZSCORE', TIMEOUTS, id) then
		return true
	end
	local ticket, seen, unheard = known(id)
	if ticket and now - seen < SILENT_MS and present(id) then
		call('LREM', QUEUE, 0, id) -- it may be listed without a score
		place(id, ticket)
		give_score(id)
		return true
	end
	call('HDEL', STATE, 't:' .. id, 'd:' .. id)
	tickets[id] = false
	keep_ticket(id, unheard and ticket)
	return false
end

-- All of them, and counts those of ours.
local function bring_all_back()
	local is_ours, ours, cursor = {}, 0, '0'
	repeat
		local page = call('HSCAN', STATE, cursor, 'MATCH', 't:*', 'COUNT', SHORT_QUEUE * 10)
		cursor = page[1]
		for i = 1, #page[2], 2 do
			local id = string.sub(page[2][i], 3)
			if is_ours[id] == nil then
				is_ours[id] = bring_back(id)
				ours = ours + (is_ours[id] and 1 or 0)
			end
		end
	until cursor == '0'
	if ours ~= state.ours then
		state.ours, state.unsaved_ours = ours, true
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

-- A mark is for a copy of a request that may still come, and a kept ticket for a waiter that may come
-- back: neither comes after ten minutes.
local MARK_MS = 600000
local MARKS_MOST = 40

-- Brings back those of these waiters of ours that are in no queue.
local function tend_waiters(ids)
	for i, score in ipairs(scores_of(ids)) do
		if not score and not bring_back(ids[i]) then
			state.ours, state.unsaved_ours = state.ours - 1, true
		end
	end
end

-- Deletes what our hash says of the commands of those that are no waiters of ours any more.
local function tend_details(ids)
	look_up(ids)
	for _, id in ipairs(ids) do
		if not known(id) then
			call('HDEL', STATE, 'd:' .. id)
		end
	end
end

-- Looks after a few fields of our hash, from the cursor on. A hash of up to some hundred fields has no
-- places to go on from: HSCAN returns all of it. Returns the next cursor; '0' is the beginning.
local function tend_fields(cursor)
	local page = call('HSCAN', STATE, cursor, 'COUNT', SHORT_QUEUE)
	local found = {t = {}, d = {}} -- ids
	for i = 1, #page[2], 2 do
		local field, value = page[2][i], page[2][i + 1]
		local kind, id = string.match(field, '^([cdfptx]):(.*)$')
		local set = kind and number(string.match(value, '^%d+'))
		if found[kind] then
			table.insert(found[kind], id)
			tickets[id] = kind == 't' and value or tickets[id]
		elseif set and now - set > MARK_MS then
			call('HDEL', STATE, field)
		end
	end
	tend_waiters(found.t)
	tend_details(found.d)
	return page[1]
end

-- Looks after a few places in the list, from this one on. Returns the next place.
local function tend_places(place)
	local ids = call('LRANGE', QUEUE, place, place + SHORT_QUEUE - 1)
	if #ids == 0 then
		return 0
	end
	for i, score in ipairs(call('ZMSCORE', TIMEOUTS, unpack(ids))) do
		if not score then
			give_missing_score(ids[i])
		end
	end
	return place + #ids
end

local TEND_MS = 100

-- A queue or a hash that is too long to look through at once is looked after in parts, ten times a second at
-- most: a script that comes by goes on where the one before has stopped.
local function tend(with_queue)
	local tended, place, cursor = string.match(state.tended or '', '^(%d+) (%d+) (%d+)$')
	if math.abs(now - (number(tended) or 0)) < TEND_MS then
		return
	end
	place, cursor = number(place) or 0, tend_fields(cursor and #cursor < 20 and cursor or '0')
	if with_queue then
		place = tend_places(place)
	end
	note('HSET', STATE, 'tended', stamp .. ' ' .. int(place) .. ' ' .. cursor)
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

local MEND_MS = 60000

-- List and sorted set of a long queue differ in length. To look through all of it takes the server a
-- while, so that is done once in a minute. The head has a score at any rate, or Redisson's clients
-- would be stuck.
local function mend_seldom()
	local mended = number(call('HGET', STATE, 'mended'))
	if mended and math.abs(now - mended) < MEND_MS then
		local head = call('LINDEX', QUEUE, 0)
		if head and not call('ZSCORE', TIMEOUTS, head) then
			give_missing_score(head)
		end
	else
		note('HSET', STATE, 'mended', now)
		mend()
	end
end

local function repair()
	note_patience()
	if math.max(queue_length(), state.scores or call('ZCARD', TIMEOUTS)) > SHORT_QUEUE then
		mend_seldom()
		tend(true)
	else
		mend()
		bring_all_back()
	end
end

-- Whoever is to decide who is next calls this first: somebody whom others dropped may stand before that one.
-- What our own scripts do to the lists leaves them in order. Returns whether something was amiss.
local is_checked = false

local function check_queue()
	is_checked = true
	if state.empty then
		return false
	end
	if queue_length() > state.ours then
		note_patience()
	end
	if looks_wrong(queue_length()) then
		repair()
		return true
	end
	return false
end

-- Every script that changed something ends with this: lists agree, times to live are set. thorough: look
-- after a part of a long queue, too.
local function settle(thorough)
	save()
	if not is_checked then
		check_queue()
	end
	if has_forgotten then
		write_patience()
	end
	local length = queue_length()
	if thorough and length > SHORT_QUEUE then
		tend(true)
		length = queue_length()
	elseif (state.marked or length == 0) and call('HLEN', STATE) > MARKS_MOST + 2 * state.ours then
		tend(false)
	end
	if length > 0 then
		set_queue_ttl(length)
	end
	touch()
end
