-- Places in the queue: who stands where and with which score, and mending what others left in disorder. For
-- scripts that meet a queue, behind pass_on.lua.

local has_scored = false -- a score was given: times to live are due

local function give_missing_score(id)
	has_scored = true
	call('ZADD', TIMEOUTS, now + (known(id) and OUR_SCORE_MS or REDISSON_SCORE_MS), id)
end

-- Makes list and sorted set agree. They do after our scripts; other programs may have died half way, or
-- deleted a key.
local function mend()
	local listed = {}
	lock.length, lock.scores, has_scored = nil, nil, true
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
	lock.length, has_scored = nil, true
	local last = known(call('LINDEX', QUEUE, -1) or '')
	if last and last.ticket < ticket then
		call('RPUSH', QUEUE, id)
		return
	end
	for _, other in ipairs(call('LRANGE', QUEUE, 0, -1)) do
		local waiter = known(other)
		if waiter and waiter.ticket > ticket then
			call('LINSERT', QUEUE, 'BEFORE', other, id)
			return
		end
	end
	call('RPUSH', QUEUE, id)
end

local function queue_length()
	lock.length = lock.length or call('LLEN', QUEUE)
	return lock.length
end

-- How much may still be taken from a score of ours. A long queue of ours alone is not looked through.
local function redisson_ahead(id)
	local length = queue_length()
	if length > SHORT_QUEUE and length <= lock.ours then
		return 0
	end
	return patience_ahead(id)
end

local function give_score(id)
	local score = now + OUR_SCORE_MS + redisson_ahead(id)
	count_queue(0, call('ZADD', TIMEOUTS, score, id))
	has_scored = true
end

-- For a waiter that our hash knows. If it is in no queue, Redisson's scripts dropped it: it gets its place
-- back if it is alive, else it is forgotten. Returns whether it is queued now.
local function bring_back(id)
	if call('ZSCORE', TIMEOUTS, id) then
		return true
	end
	local waiter = known(id)
	if waiter and now - waiter.seen < SILENT_MS and present(id) then
		call('LREM', QUEUE, 0, id) -- it may be listed without a score
		place(id, waiter.ticket)
		give_score(id)
		return true
	end
	forget(id, waiter, true)
	return false
end

-- Does so for all waiters that our hash knows, and counts the queued ones.
local function bring_all_back()
	local is_ours, ours, cursor = {}, 0, '0'
	repeat
		local page = call('HSCAN', STATE, cursor, 'MATCH', 'w:*', 'COUNT', SHORT_QUEUE * 10)
		cursor = page[1]
		for i = 1, #page[2], 2 do
			local id = string.sub(page[2][i], 3)
			if is_ours[id] == nil then
				is_ours[id] = known(id) ~= nil and bring_back(id)
				ours = ours + (is_ours[id] and 1 or 0)
			end
		end
	until cursor == '0'
	lock.ours = ours
end

-- Whether list and sorted set may disagree, or our hash may know other waiters than the list has. Of a long
-- queue only the lengths and the head are compared, so that the cost does not grow with the queue.
local function looks_wrong(length)
	if (lock.scores or call('ZCARD', TIMEOUTS)) ~= length then
		return true
	elseif length == 0 then
		return lock.ours ~= 0
	elseif length > SHORT_QUEUE then
		return length < lock.ours or not call('ZSCORE', TIMEOUTS, call('LINDEX', QUEUE, 0))
	end
	local ids, seen, ours = call('LRANGE', QUEUE, 0, -1), {}, 0
	local scores = scores_of(ids)
	look_up(ids)
	for i, id in ipairs(ids) do
		if seen[id] or not scores[i] then
			return true
		end
		seen[id], ours = true, ours + (waiters[id] and 1 or 0)
	end
	return ours ~= lock.ours
end

local MARK_MS = 600000 -- neither a copy of a request nor a waiter that knows no ticket comes later
local MARKS_MOST = 40

-- Until when a field may be asked for that is no record of a waiting waiter. nil: it stays, as the record of
-- a present hold does.
local function remembered_until(field, value)
	local kind, id = match(field, '^(%l):(.*)$')
	local owner = (kind == 'h' or kind == 'a') and id or kind == 's' and value
	if field == 's:' then
		return number(value) or 0
	elseif kind ~= 's' and owner and lock.hold and lock.hold.id == owner or
		owner and MODES[lock.field] and call('ZSCORE', HOLDERS, owner) then
		return nil
	elseif kind == 'h' then
		local hold = read_hold(id, value)
		local longer = hold and hold.unheard ~= '-' and MARK_MS or 0
		return (hold and number(hold.ends) or 0) + longer
	elseif kind == 'w' then
		local waiter = read_waiter(value)
		return (waiter and waiter.seen or 0) + MARK_MS
	elseif kind == 'r' then
		local request = read_request(value)
		return (request and request.made or 0) + MARK_MS
	end
	return (kind == 'a' or kind == 's') and 0 or nil
end

-- Looks after a few fields of our hash, from the cursor on. A hash of up to some hundred fields has no
-- places to go on from: HSCAN returns all of it. Returns the next cursor; '0' is the beginning.
local function tend_fields(cursor)
	local page, ids = call('HSCAN', STATE, cursor, 'COUNT', SHORT_QUEUE), {}
	for i = 1, #page[2], 2 do
		local field, value = page[2][i], page[2][i + 1]
		local id = match(field, '^w:(.*)$')
		if id then
			learn(id, value)
		end
		if id and known(id) then
			ids[#ids + 1] = id
		elseif (remembered_until(field, value) or now) < now then
			call('HDEL', STATE, field)
		end
	end
	for i, score in ipairs(scores_of(ids)) do
		if not score and not bring_back(ids[i]) then
			lock.ours = lock.ours - 1
		end
	end
	return page[1]
end

-- Looks after a few places in the list, from this one on. Returns the next place.
local function tend_places(place)
	local ids = call('LRANGE', QUEUE, place, place + SHORT_QUEUE - 1)
	for i, score in ipairs(scores_of(ids)) do
		if not score then
			give_missing_score(ids[i])
		end
	end
	return #ids > 0 and place + #ids or 0
end

local TEND_MS = 100
local MEND_MS = 60000

-- A queue or a hash that is too long to look through at once is looked after in parts, ten times a second at
-- most: a script that comes by goes on where the one before has stopped. differ: list and sorted set differ
-- in length. To look through all of a long queue takes the server a while, so that is done once in a minute;
-- the head has a score at any rate, or Redisson's clients would be stuck. `tended` is "MS PLACE CURSOR
-- MENDED": when, and how far, all was looked through; and when list and sorted set were compared as a whole.
local function tend(with_queue, differ)
	local tended, place, cursor, mended = match(call('HGET', STATE, 'tended') or '',
		'^(%d+) (%d+) (%d+) (%d+)$')
	tended, place, mended = number(tended) or 0, number(place) or 0, number(mended) or 0
	cursor = cursor and #cursor < 20 and cursor or '0'
	local mends = differ and math.abs(now - mended) >= MEND_MS
	local tends = math.abs(now - tended) >= TEND_MS
	if mends then
		mended = now
		mend()
	elseif differ then
		local head = call('LINDEX', QUEUE, 0)
		if head and not call('ZSCORE', TIMEOUTS, head) then
			give_missing_score(head)
		end
	end
	if tends then
		tended, cursor = now, tend_fields(cursor)
		place = with_queue and tend_places(place) or place
	end
	if mends or tends then
		note('HSET', STATE, 'tended', int(tended) .. ' ' .. int(place) .. ' ' .. cursor .. ' ' .. int(mended))
	end
end

-- A queue has a time to live while all in it are ours. A waiter that leaves takes nothing from it.
local function set_queue_ttl(length)
	local ttl = not has_scored and call('PTTL', QUEUE)
	if ttl and (ttl > 0) == (length == lock.ours) then
		return
	elseif length > lock.ours then
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
	note_patience()
	if math.max(queue_length(), lock.scores or call('ZCARD', TIMEOUTS)) > SHORT_QUEUE then
		tend(true, true)
	else
		mend()
		bring_all_back()
	end
end

-- A script calls this before it decides who is next: others may have dropped a waiter that stands before that
-- one. Our own scripts leave the lists in order. Returns whether something was amiss.
local is_checked = false

local function check_queue()
	is_checked = true
	if lock.empty then
		return false
	end
	if queue_length() > lock.ours then
		note_patience()
	end
	if looks_wrong(queue_length()) then
		repair()
		return true
	end
	return false
end

-- A script that changed something ends with this: lists agree, times to live are set. thorough: look
-- after a part of a long queue, too.
local function settle(thorough)
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
	elseif (lock.has_marks or length == 0) and call('HLEN', STATE) > MARKS_MOST + lock.ours +
		(MODES[lock.field] and 2 * call('ZCARD', HOLDERS) or 0) then
		tend(false)
	end
	if length > 0 then
		set_queue_ttl(length)
	end
	touch()
end
