-- How long Redisson's waiters are prepared to wait: their patience. Such a waiter adds it to its own
-- score, and takes it from every score behind it when it gets the lock or gives up. For scripts that
-- change scores, behind holds.lua.

-- Set for a caller who must leave no trace.
local traceless = false

local MOST_PATIENCE_MS = 31536000000 -- a year: scores beyond that are damaged

-- The notes on Redisson's waiters: id -> {ticket, ms of patience, score when it was seen first}; nil: not
-- read yet. In our hash they are one field, "ID TICKET MS SCORE" for each.
local patience

local function read_patience()
	if patience then
		return
	end
	patience = {}
	local notes = call('HGET', STATE, 'theirs') or ''
	for id, ticket, ms, score in string.gmatch(notes, '(%S+) (%d+) (%d+) (%d+)') do
		patience[id] = {ticket = tonumber(ticket), ms = tonumber(ms), score = tonumber(score)}
	end
end

local function scores_of(ids)
	local scores = {}
	for first = 1, #ids, MANY do
		local some = call('ZMSCORE', TIMEOUTS, unpack(ids, first, math.min(#ids, first + MANY - 1)))
		for i = 1, math.min(#ids - first + 1, MANY) do
			scores[first + i - 1] = some[i] and tonumber(some[i])
		end
	end
	return scores
end

-- Reads what our hash knows of many waiters in few calls; known() takes it from there.
local function look_up(ids)
	local fields, asked_for = {}, {}
	for i, id in ipairs(ids) do
		if waiters[id] == nil then
			asked_for[#asked_for + 1], fields[#fields + 1] = id, 'w:' .. id
		end
		if #fields == MANY or i == #ids and #fields > 0 then
			for k, text in ipairs(call('HMGET', STATE, unpack(fields))) do
				learn(asked_for[k], text)
			end
			fields, asked_for = {}, {}
		end
	end
end

-- Writes the notes on all who are still in the queue.
local function write_patience()
	local ids, notes = {}, {}
	for id in pairs(patience) do
		ids[#ids + 1] = id
	end
	local scores = scores_of(ids)
	for i, id in ipairs(ids) do
		local noted = patience[id]
		if scores[i] then
			notes[#notes + 1] = table.concat({id, int(noted.ticket), int(noted.ms), int(noted.score)}, ' ')
		end
	end
	if #notes == 0 then
		call('HDEL', STATE, 'theirs')
	else
		introduce(note)
		note('HSET', STATE, 'ticket', int(lock.ticket or now_us), 'theirs', table.concat(notes, ' '))
		touch() -- the hash may be new
	end
end

-- The end of the queue, from an id on that a script of ours has seen before; and whether it is all of the
-- queue.
local function end_of_queue()
	local most, ids, is_all = SHORT_QUEUE
	repeat
		ids = call('LRANGE', QUEUE, -most, -1)
		look_up(ids)
		is_all = #ids < most
		most = 10 * most
	until is_all or patience[ids[1]] or known(ids[1])
	return ids, is_all
end

-- The score of a Redisson waiter at the head is its patience more than the end that the lease had when it
-- came. We count from now, since the lease may have been renewed since: 30 s of it do no harm in a score
-- of ours, and make up for the time since that waiter came. More of it would keep a dead one of ours in
-- the queue for long.
local function head_counts_from()
	local ends = not MODES[lock.field] and lock.hold and number(lock.hold.ends) or now + call('PTTL', LOCK)
	return math.max(now, ends - OUR_SCORE_MS)
end

-- Whether a Redisson waiter has come again since the note on it was written: Redisson uses its ids again.
-- Then it stands behind a waiter that came after the note; or its score is larger than in the note. Within
-- one wait only our scripts raise its score, to now + 300 s.
local function waits_anew(noted, last, score)
	return noted.ticket < last or score > math.max(noted.score, now + REDISSON_SCORE_MS)
end

-- The note on a waiter with this score. before: the score of the waiter before it, if there is one. last: the
-- largest ticket before it; it gets a larger one, as a waiter of ours does.
local function note_on(score, before, last)
	lock.ticket = math.max(now_us, (lock.ticket or 0) + 1)
	local ms = math.max(0, score - (before or head_counts_from()))
	return {
		ticket = math.max(lock.ticket, last + 1), ms = math.min(ms, MOST_PATIENCE_MS),
		score = math.max(0, score),
	}
end

-- Notes the patience of the Redisson waiters that have come since the last script of ours. Each script of
-- ours that changes scores begins with this, since it does not keep the differences between them.
local function note_patience()
	if patience or traceless then
		return
	end
	read_patience()
	local ids, is_all = end_of_queue()
	local scores, last, before, has_changed = scores_of(ids), 0, nil, false
	for i, id in ipairs(ids) do
		local waiter, noted, score = known(id), patience[id], scores[i]
		if not waiter and score and (is_all or i > 1) and
			(not noted or waits_anew(noted, last, score)) then
			noted, has_changed = note_on(score, before, last), true
			patience[id] = noted
		end
		local ticket = waiter and waiter.ticket or noted and noted.ticket or 0
		last, before = math.max(last, ticket), score
	end
	if has_changed then
		write_patience()
	end
end

local has_forgotten = false -- settle writes that down, once: a script may take out many

-- For a Redisson waiter that a script of ours takes out. If it is alive, it queues anew.
local function forget_patience(id)
	read_patience()
	if patience[id] then
		patience[id], has_forgotten = nil, true
	end
end

-- How much the Redisson waiters before this one of ours may still take from its score; at least 300 s each:
-- old versions take so much when they give up, whatever they added.
local function patience_ahead(id)
	local ids, sum = call('LRANGE', QUEUE, 0, -1), 0
	look_up(ids)
	for _, other in ipairs(ids) do
		if other == id then
			break
		elseif not known(other) then
			read_patience()
			sum = sum + math.max(REDISSON_SCORE_MS, patience[other] and patience[other].ms or 0)
		end
	end
	return sum
end
