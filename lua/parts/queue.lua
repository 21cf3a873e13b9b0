-- The queue: who is next. Ours wait in one sorted set, id by ticket, and that alone is the order of ours.
-- Redisson's list has one id for each batch of ours that stands between two of its own: a marker,
-- "fairlock:TICKET". A waiter of ours belongs to the last marker with a ticket that is not larger; one that
-- is older than all markers belongs to the first, or stands before a head of Redisson's. Redisson's scripts
-- treat a marker like any waiter, and may drop it.

-- Set for a caller who must leave no trace: what it sees of Redisson's is not written down.
local is_traceless = false

-- The oldest of ours and its ticket, or nil.
local oldest, oldest_ticket
local function find_oldest()
	while oldest == nil do
		local found = call('ZRANGE', OURS, 0, 0, 'WITHSCORES')
		oldest, oldest_ticket = found[1] or false, number(found[2])
		if oldest and not oldest_ticket then
			call('ZREM', OURS, oldest) -- what no ticket of ours is
			oldest = nil
		end
	end
	return oldest or nil, oldest_ticket
end

-- ---- Redisson's list ----

-- What the list has, in order; the score of each id in it; and the ticket of each marker. A list longer than
-- one is read whole, once: ours are not in it.
local list, scores, markers = call('LRANGE', LIST, 0, -1), {}, {}

local function add_marker(side, ticket)
	local id = 'fairlock:' .. int(ticket)
	if scores[id] then
		call('LREM', LIST, 0, id) -- it stands where its batch does not
		for i, other in ipairs(list) do
			if other == id then
				table.remove(list, i)
				break
			end
		end
	end
	markers[id], scores[id] = ticket, now + MARKER_SCORE_MS
	call(side, LIST, id)
	call('ZADD', TIMEOUTS, int(scores[id]), id)
	table.insert(list, side == 'LPUSH' and 1 or #list + 1, id)
end

local function drop_entry(index)
	local id = table.remove(list, index)
	call('LREM', LIST, 1, id)
	call('ZREM', TIMEOUTS, id)
	scores[id], markers[id] = nil, nil
end

-- Makes list and scores agree: other programs may have died half way, or deleted a key. An id without a score
-- gets one, and one of Redisson's gets a place: its scripts never push an id that has a score.
local function read_list()
	local found, listed, doubles = call('ZRANGE', TIMEOUTS, 0, -1, 'WITHSCORES'), {}, {}
	for i = 1, #found, 2 do
		scores[found[i]] = tonumber(found[i + 1])
	end
	for i, id in ipairs(list) do
		if listed[id] then
			doubles[#doubles + 1] = i
		elseif string.byte(id) == 102 then -- `f`: it may be a marker
			markers[id] = number(match(id, '^fairlock:(%d+)$'))
		end
		listed[id] = true
		if not scores[id] then
			scores[id] = now + (markers[id] and MARKER_SCORE_MS or REDISSON_SCORE_MS)
			call('ZADD', TIMEOUTS, int(scores[id]), id)
		end
	end
	for i = #doubles, 1, -1 do
		call('LREM', LIST, -1, table.remove(list, doubles[i]))
	end
	for i = 1, #found, 2 do
		local id = found[i]
		if not listed[id] and match(id, '^fairlock:%d+$') then
			call('ZREM', TIMEOUTS, id)
			scores[id] = nil
		elseif not listed[id] then
			call('RPUSH', LIST, id)
			list[#list + 1] = id
		end
	end
end

find_oldest() -- all keys are read before anything is changed: one of another type is to fail here
read_list()

-- The ticket of the first marker behind this place in the list, or nil.
local function marker_behind(index)
	for i = index + 1, #list do
		if markers[list[i]] then
			return markers[list[i]], i
		end
	end
end

-- The place in the list of the marker that a ticket belongs to, or nil.
local function batch_of(ticket)
	local index
	for i, id in ipairs(list) do
		if markers[id] and (not index or markers[id] <= ticket) then
			index = i
		end
	end
	return index
end

local function has_redisson()
	for _, id in ipairs(list) do
		if not markers[id] then
			return true
		end
	end
	return false
end

local function tell(id, message)
	if ways[id] then
		pcall_server(ways[id], channel(id), message)
	else
		publish(channel(id), message)
	end
end

-- ---- Waiters of ours ----

-- A waiter of ours that is older than all markers stands before a head of Redisson's: its marker was dropped,
-- or it has come back.
local function put_first_marker()
	local id, ticket = find_oldest()
	if id and not markers[list[1]] and ticket < (marker_behind(0) or MOST) then
		add_marker('LPUSH', ticket)
	end
end

-- Takes a waiter of ours out. It takes its marker along if its batch is empty then: Redisson's unlock would
-- speak to a marker that nobody listens to. For ids that are all in the batch of this ticket.
local function take_out(ids, ticket)
	local fields = {}
	put_first_marker() -- else an older one would seem to be in this batch
	for i, id in ipairs(ids) do
		fields[i], waiters[id] = 'w:' .. id, false
	end
	oldest = nil
	call('ZREM', OURS, unpack(ids))
	call('HDEL', STATE, unpack(fields))
	local index = batch_of(ticket)
	local following = index and marker_behind(index)
	local begins = index and markers[list[index]]
	local first = begins and marker_behind(0) ~= begins and int(begins) or '-inf'
	if index and call('ZCOUNT', OURS, first, following and '(' .. int(following) or '+inf') == 0 then
		drop_entry(index)
	end
end

-- A waiter waits no more. If another one comes that supersedes it, there is no place to take over.
local function end_wait(id, ticket)
	local newest, since = read_newest()
	take_out({id}, ticket)
	if newest == id then
		set_newest(id, since, nil)
	end
end

-- Gives a waiter of ours its place. A newcomer that does not stand behind others of ours begins a batch.
local function stand(id, ticket, is_newcomer)
	oldest = nil
	call('ZADD', OURS, int(ticket), id)
	if is_newcomer and not markers[list[#list]] then
		add_marker('RPUSH', ticket)
	end
	put_first_marker()
end

-- Renews the scores of the markers. Redisson's grants, and its waiters that give up, each take up to 300 s
-- from every score behind them.
local function renew_markers()
	local ahead, words = 0, {}
	for _, id in ipairs(list) do
		if not markers[id] then
			ahead = ahead + 1
		elseif #words < MANY then
			scores[id] = math.max(scores[id], now + MARKER_SCORE_MS + REDISSON_SCORE_MS * ahead)
			words[#words + 1], words[#words + 2] = int(scores[id]), id
		end
	end
	if words[1] then
		call('ZADD', TIMEOUTS, unpack(words))
	end
end

-- ---- Whose turn it is ----

-- `turn`, "ID SCORE ABSENT TOLD": the head of the list, if it is Redisson's, or the waiter that was told its
-- turn: one of Redisson's, or one of ours that could not be handed the lock. SCORE names the wait, since
-- Redisson's ids come again: for one wait at the head it stays the same. Of ours it is the ticket. ABSENT,
-- TOLD: since when, ms; `-`: it is present, it was not told.
local turn
local function turn_of(id, score)
	if not turn then
		local who, its_score, absent, told = match(lock.turn, '^(%S+) (%S+) (%S+) (%S+)$')
		absent, told = number(absent), number(told)
		turn = {id = who, score = tonumber(its_score), absent = absent and math.min(absent, now),
			told = told and math.min(told, now)}
	end
	return turn.id == id and turn.score == score and turn or nil
end

local function set_turn(id, score, absent, told)
	local text = id .. ' ' .. int(score) .. ' ' .. column(absent) .. ' ' .. column(told)
	turn = {id = id, score = score, absent = absent, told = told}
	if text ~= lock.turn and not is_traceless then
		lock.turn = text
		introduce()
		call('HSET', STATE, 'turn', text)
	end
end

local function is_silent(waiter)
	return waiter ~= nil and now - waiter.seen >= SILENT_MS
end

-- Whether this waiter was told its turn, and has not taken it, although there is room. waiter: its record, or
-- nil.
local function has_hung(id, score, waiter)
	local its = turn_of(id, score)
	if its and its.told and not fit(waiter and waiter.want or 'x') then
		set_turn(id, score, its.absent, nil) -- somebody else took the lock meanwhile
		return false
	end
	return its and its.told and now - its.told >= (is_silent(waiter) and SILENT_TURN_MS or TURN_MS)
end

-- Whether a waiter of Redisson's at the head is to be passed over: its score has passed, so that its own kind
-- would drop it; it has been absent for longer than its gap between asking and subscribing; or it was told
-- its turn in vain.
local function is_dead_redisson(id)
	local score = scores[id]
	if not match(id, '^%S+$') then
		return true -- no client has such an id, and `turn` cannot keep it
	end
	if not turn_of(id, score) then
		if score < now + REDISSON_SCORE_MS and not is_traceless then
			score = now + REDISSON_SCORE_MS
			scores[id] = score
			call('ZADD', TIMEOUTS, int(score), id)
		end
	elseif score <= now then
		return true
	elseif has_hung(id, score) then
		tell(id, '0') -- should it be alive, it queues again
		return true
	end
	local its = turn_of(id, score)
	local absent = not present(id) and (its and its.absent or now) or nil
	set_turn(id, score, absent, its and its.told)
	return absent and now - absent >= TURN_MS
end

local PASSED_MOST = 1000  -- so many are passed over by one script
local passed_over = 0     -- so many were, Redisson's, too

-- Whether a waiter of ours that is present hangs: it was told its turn in vain; or one that was handed the
-- lock did not renew it, and this one is silent, too, or was first by then, and has not asked since.
local has_followed = false
local function hangs(id, ticket)
	local waiter = waiter_of(id)
	local follows = missed_at and waiter and not has_followed and waiter.seen < missed_at and
		now - missed_at >= TURN_MS
	has_followed = has_followed or missed_at ~= nil
	return follows or missed_at and is_silent(waiter) or has_hung(id, ticket, waiter)
end

-- Passes over those at the beginning of the queue that are not there, or hang: all of the head's batch, so
-- many at once. They may come back with their tickets. me: the caller, which is alive since it asks.
local function pass_over_ours(me, ends)
	local found, ids, gone = call('ZRANGE', OURS, 0, CHUNK - 1, 'WITHSCORES'), {}, {}
	for i = 1, #found, 2 do
		if found[i] == me or tonumber(found[i + 1]) >= ends then
			break
		end
		ids[#ids + 1] = found[i]
	end
	local here = present_of(ids)
	for i, id in ipairs(ids) do
		local is_hung = here[id] and hangs(id, number(found[2 * i]))
		if here[id] and not is_hung then
			break
		elseif is_hung then
			missed_at = missed_at or now
			tell(id, '0') -- should it be alive, it has its old place back
		end
		gone[i] = id
	end
	if gone[1] then
		take_out(gone, tonumber(found[2 * #gone]))
		passed_over = passed_over + #gone
	end
	return gone[1] ~= nil
end

-- The first waiter who is alive, and its ticket if it is ours. The dead before it are passed over.
local is_stuck = false -- too many dead: the next script goes on
local function first_waiter(me)
	while true do
		local head, id, ticket = list[1], find_oldest()
		local begins, following = markers[head], marker_behind(1)
		if not id and not head then
			return nil
		elseif id and not begins and ticket < (following or MOST) then
			put_first_marker()
		elseif begins and (not id or ticket >= (following or MOST)) then
			drop_entry(1) -- nobody is left in its batch
		elseif not begins and is_dead_redisson(head) then
			drop_entry(1)
			passed_over = passed_over + 1
		elseif not begins then
			return head
		elseif id == me then
			return id, ticket
		elseif passed_over >= PASSED_MOST then
			is_stuck = true
			return id, ticket
		elseif (not (missed_at or turn_of(id, ticket)) and present(id)) or not may_pass_over() or
			not pass_over_ours(me, following or MOST) then
			return id, ticket
		end
	end
end

-- ---- Passing the lock on ----

-- The next waiters of ours that are present and not silent, behind the first: so many at most.
local function next_of_ours(but, most)
	local found, first, last = {}, 0, 4
	while #found < most and first < CHUNK do -- mostly the first ones are there
		for _, id in ipairs(call('ZRANGE', OURS, first, last)) do
			if id ~= but and #found < most and not is_silent(waiter_of(id)) and present(id) then
				found[#found + 1] = id
			end
		end
		first, last = last + 1, CHUNK
	end
	return found
end

-- Asks the next one to see after some time whether the first has taken its turn: the server has no timer, and
-- a hung waiter cannot speak for itself.
local function tell_second(first, ms)
	local id = next_of_ours(first, 1)[1]
	if id then
		tell(id, 'second ' .. int(ms))
	end
end

-- In how many ms a head of Redisson's that is absent counts as dead.
local function seen_dead_in(id)
	local its = turn_of(id, scores[id])
	return its and its.absent and math.max(1, its.absent + TURN_MS - now) or MOST
end

-- In how many ms to look what became of a turn. One of Redisson's does not say that it took the lock, nor for
-- how long.
local function see_in(id, score)
	local its = turn_of(id, score)
	local ends = (its and its.told or now) + (is_silent(waiter_of(id)) and SILENT_TURN_MS or TURN_MS)
	if not markers[list[1]] and (its and its.told or now) + LOOK_MS > now then
		ends = math.min(ends, (its and its.told or now) + LOOK_MS)
	end
	return math.max(1, math.min(ends - now, seen_dead_in(id)))
end

-- The messages `granted` of this script. What is said last leaves first, so they are said in the end.
local to_tell = {}

-- Gives the first waiter a hold of this mode: all is as if it had asked just now, but for the lease, which is
-- a turn at first. One that is alive renews it, and one that hangs costs no more than that. Returns whether
-- it was given.
local function hand_over(id, ticket, mode)
	local waiter = waiter_of(id)
	-- One that need not run is told its turn, asks, and is answered so. And a slot of a cluster that is moving
	-- refuses the key that has just gone.
	if not waiter or waiter.secret == '-' or is_stuck or
		need_not_run(waiter.period, waits_since(id, ticket)) then
		return false
	end
	local owner = waiter.owner == '-' and id or waiter.owner
	if find_hold(owner) or not enter(note, mode, owner, waiter.want) then
		return false
	end
	local ttl = math.max(1, math.min(is_silent(waiter) and SILENT_TURN_MS or TURN_MS, waiter.lease - 1))
	local waited = waited_by(id, ticket)
	end_wait(id, ticket)
	local hold = take(owner, mode, waiter.kind .. id, waiter.lease, ttl, waiter.by, waited, waiter.period)
	to_tell[#to_tell + 1] = {id, 'granted ' .. int(hold.token) .. ' ' .. int(ttl) .. ' ' .. stamp .. ' ' ..
		waiter.secret .. (match(mode, '^=(.*)$') and ' ' .. string.sub(mode, 2) or '')}
	return true
end

-- Tells a waiter its turn, once, and the next to look after it.
local function tell_turn(id, score)
	local its = turn_of(id, score)
	if not (its and its.told) then
		set_turn(id, score, its and its.absent, now)
		tell_second(id, see_in(id, score))
		tell(id, '0')
	end
end

-- The first waiter, and whether there is room for it, or in how many ms there may be some.
local function next_waiter(me)
	local id, ticket = first_waiter(me)
	if id and id ~= me then
		return id, ticket, fit(ticket and waiter_of(id) and waiter_of(id).want or 'x')
	end
	return id, ticket
end

local HANDED_MOST = 20 -- so many waiters are handed the lock by one script; the next one is told, and goes on

-- Hands the lock to the first waiter if there is room for it, then to the next, and so on. No script looks at
-- a waiter behind the first, so none overtakes, whatever it wants. One to whom it cannot be handed, as
-- Redisson's, is told its turn; one for whom there is no room, when there may be some. me: the caller.
-- Returns the first waiter.
function pass_on(me)
	local handed, id, ticket, mode, ms = 0, next_waiter(me)
	while mode and ticket and now >= back_at() and handed < HANDED_MOST and hand_over(id, ticket, mode) do
		handed = handed + 1
		id, ticket, mode, ms = next_waiter(me)
	end
	if not id and not lock.field then
		publish(CHANNEL, '0') -- a client that waits for Redisson's plain lock of this name is in no queue
	elseif is_stuck then
		for _, other in ipairs(call('ZREVRANGE', OURS, 0, CHUNK - 1)) do
			if other ~= me and present(other) then
				tell(other, '0') -- somebody who is alive goes on
				break
			end
		end
	elseif mode and now < back_at() then
		if ticket then
			tell(id, 'first ' .. int(back_at() - now))
		end
		tell_second(id, back_at() - now)
	elseif mode then
		tell_turn(id, ticket or scores[id])
	elseif ms and ms >= 0 and ticket then
		tell(id, 'first ' .. int(ms))
	elseif ms and ms >= 0 then
		tell_second(id, math.min(ms + 1, seen_dead_in(id)))
	end
	for i = #to_tell, 1, -1 do
		tell(to_tell[i][1], to_tell[i][2])
	end
	to_tell = {}
	return id, ticket
end

-- Redisson's unlock speaks to the head of the list, which may be a marker by then without a script of ours.
-- So where its clients hold, or may hold before ours, the first two of ours listen to the first marker.
-- Returns the ticket of that marker and how many listen, or nil.
local function marker_to_hear()
	local marker = (lock.mode == 'x' and lock.holder ~= lock.field or has_redisson()) and marker_behind(0)
	if marker then
		local name = channel('fairlock:' .. int(marker))
		return marker, call('PUBSUB', 'NUMSUB', name)[2] + (SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] or 0)
	end
end

-- A script that changed something ends with this: markers stand, and those who must listen to one do; times
-- to live are set. has_left: somebody who may still listen has left. me: a waiter that is answered which
-- marker it is.
function settle(hold, has_left, me)
	put_first_marker()
	renew_markers()
	local marker, heard = marker_to_hear()
	local waiting = call('ZCARD', OURS)
	for _, id in ipairs(marker and (has_left or heard < math.min(2, waiting)) and next_of_ours(nil, 2) or {}) do
		if id ~= me then
			tell(id, '0')
		end
	end
	if has_redisson() then -- its RPUSH would not renew a time to live
		call('PERSIST', LIST)
		call('PERSIST', TIMEOUTS)
	elseif list[1] then
		call('PEXPIRE', LIST, QUEUE_TTL_MS)
		call('PEXPIRE', TIMEOUTS, QUEUE_TTL_MS)
	end
	if waiting > 0 then
		call('PEXPIRE', OURS, QUEUE_TTL_MS)
	end
	if not lock.is_new then
		touch(hold)
	end
end
