-- The queue: how waiters join it, leave it, and are given the lock. The rules are in ../README.md.

-- Set for a caller who must leave no trace: what it sees of Redisson's is not written down.
local is_traceless = false

-- The oldest of ours and its ticket, or nil.
local oldest, oldest_ticket
local function find_oldest()
	if oldest == nil then
		local found = call('ZRANGE', OURS, 0, 0, 'WITHSCORES')
		oldest, oldest_ticket = found[1] or false, number(found[2]) or 0
	end
	return oldest or nil, oldest_ticket
end

-- The list, read whole, once; and its markers: `ticket`, and the place `at` which it stands.
local list, batches = call('LRANGE', LIST, 0, -1), {}

local function find_batches()
	batches = {}
	for at, id in ipairs(list) do
		local ticket = marker_of(id)
		if ticket then
			batches[#batches + 1] = {at = at, ticket = ticket}
		end
	end
end

local function set_queue_ttl()
	if #list > #batches then -- Redisson's RPUSH would not renew a time to live
		call('PERSIST', LIST)
		call('PERSIST', TIMEOUTS)
	elseif list[1] then
		call('PEXPIRE', LIST, QUEUE_TTL_MS)
		call('PEXPIRE', TIMEOUTS, QUEUE_TTL_MS)
	end
end

find_oldest() -- all keys are read before anything is changed: one of another type is to fail here
find_batches()
-- Makes list and scores agree where another program has deleted a key or an id. One of Redisson's gets a
-- place: its scripts never push an id that has a score.
if call('ZCARD', TIMEOUTS) ~= #list then
	local is_listed = {}
	for _, id in ipairs(list) do
		if is_listed[id] then
			call('LREM', LIST, -1, id)
		end
		is_listed[id] = true
		call('ZADD', TIMEOUTS, 'NX', int(now + (marker_of(id) and MARKER_SCORE_MS or REDISSON_SCORE_MS)), id)
	end
	for _, id in ipairs(call('ZRANGE', TIMEOUTS, 0, -1)) do
		if not is_listed[id] and marker_of(id) then
			call('ZREM', TIMEOUTS, id)
		elseif not is_listed[id] then
			call('RPUSH', LIST, id)
		end
	end
	list = call('LRANGE', LIST, 0, -1)
	find_batches()
	set_queue_ttl()
end

local function add_marker(side, ticket)
	local id = 'fairlock:' .. int(ticket)
	call(side, LIST, id)
	call('ZADD', TIMEOUTS, int(now + MARKER_SCORE_MS), id)
	table.insert(list, side == 'LPUSH' and 1 or #list + 1, id)
	find_batches()
	set_queue_ttl()
end

local function drop_entry(at)
	local id = table.remove(list, at)
	call('LREM', LIST, 1, id)
	call('ZREM', TIMEOUTS, id)
	find_batches()
end

local function score_of(id)
	return tonumber(call('ZSCORE', TIMEOUTS, id) or nil) or 0
end

local function tell(id, message)
	if ways[id] then
		pcall_server(ways[id], channel(id), message)
	else
		publish(channel(id), message)
	end
end

-- The ticket of a waiter, or nil if it does not wait.
local function ticket_of(id)
	return number(call('ZSCORE', OURS, id))
end

-- Before a head of Redisson's: that of an older waiter was dropped, or the waiter has come back.
local function put_first_marker()
	local id, ticket = find_oldest()
	if id and not marker_of(list[1]) and not (batches[1] and ticket >= batches[1].ticket) then
		add_marker('LPUSH', ticket)
	end
end

-- Takes waiters of ours out, all of the batch of this ticket, and its marker if it is empty then.
local function take_out(ids, ticket)
	put_first_marker() -- else an older one would seem to be in this batch
	local fields, index = {}, batches[1] and 1
	for i, id in ipairs(ids) do
		fields[i], waiters[id] = 'w:' .. id, false
	end
	oldest = nil
	call('ZREM', OURS, unpack(ids))
	call('HDEL', STATE, unpack(fields))
	while index and batches[index + 1] and batches[index + 1].ticket <= ticket do
		index = index + 1
	end
	if index and call('ZCOUNT', OURS, index == 1 and '-inf' or int(batches[index].ticket),
		batches[index + 1] and '(' .. int(batches[index + 1].ticket) or '+inf') == 0 then
		drop_entry(batches[index].at)
	end
end

-- If another one comes that supersedes this waiter, there is no place to take over.
local function end_wait(id, ticket)
	local newest_id, since = read_newest()
	take_out({id}, ticket)
	if newest_id == id then
		save('newest', id, since, nil)
	end
end

local function stand(id, ticket, is_newcomer)
	oldest = nil
	call('ZADD', OURS, int(ticket), id)
	if is_newcomer and not marker_of(list[#list]) then
		add_marker('RPUSH', ticket)
	end
	put_first_marker()
end

-- ---- Whose turn it is ----

-- `turn`, "ID SCORE ABSENT TOLD": the head of the list, if it is Redisson's, or the waiter that was told
-- its turn. SCORE names the wait, since Redisson's ids come again: for one wait at the head it stays the
-- same. Of ours it is the ticket. ABSENT, TOLD: since when, ms.
local function turn_of(id, score)
	local who, its_score, absent, told = match(lock.turn, '^(%S+) (%S+) (%S+) (%S+)$')
	absent, told = number(absent), number(told)
	return who == id and tonumber(its_score) == score and {absent = absent and math.min(absent, now),
		told = told and math.min(told, now)} or nil
end

local function set_turn(id, score, absent, told)
	local text = columns(4, id, score, absent, told)
	if text ~= lock.turn and not is_traceless then
		introduce()
		call('HSET', STATE, 'turn', text)
	end
	lock.turn = text
end

local function is_silent(waiter)
	return waiter ~= nil and now - waiter.seen >= SILENT_MS
end

-- waiter: its record, or nil.
local function turn_ms(waiter)
	return is_silent(waiter) and SILENT_TURN_MS or TURN_MS
end

-- Whether this waiter was told its turn, and has not taken it, although there is room.
local function has_hung(id, score, waiter)
	local its = turn_of(id, score)
	if its and its.told and not fit(waiter and waiter.want or 'x') then
		set_turn(id, score, its.absent, nil) -- somebody else took the lock meanwhile
		return false
	elseif its then
		set_turn(id, score, its.absent, its.told) -- as it is by the clock, which may have been set back
	end
	return its and its.told and now - its.told >= turn_ms(waiter)
end

-- Whether a waiter of Redisson's at the head is to be passed over: its own kind would drop it by its score,
-- it has been absent for longer than its gap between asking and subscribing, or it was told its turn in
-- vain.
local function is_dead_redisson(id)
	local score = score_of(id)
	if not match(id, '^%S+$') then
		return true -- no client has such an id, and `turn` cannot keep it
	end
	if not turn_of(id, score) then
		if score < now + REDISSON_SCORE_MS and not is_traceless then
			score = now + REDISSON_SCORE_MS
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

-- Passes over those at the beginning of the head's batch that are not there, or hang. me: the caller, which
-- is alive. Returns whether there were any.
local function pass_over_ours(me, ends)
	check_run(true)
	if now < back_at() then
		return false
	end
	local found, some, gone = call('ZRANGE', OURS, 0, CHUNK - 1, 'WITHSCORES'), {}, {}
	for i = 1, #found, 2 do
		local waiter = {id = found[i], ticket = number(found[i + 1]) or 0}
		if waiter.id == me or waiter.ticket >= ends then
			break
		end
		some[#some + 1] = waiter
	end
	see(some)
	for i, waiter in ipairs(some) do
		local its = waiter.is_here and waiter_of(waiter.id)
		if waiter.is_here and not (missed_at and is_silent(its) or has_hung(waiter.id, waiter.ticket, its)) then
			break
		elseif waiter.is_here then
			missed_at = missed_at or now
			tell(waiter.id, '0') -- should it be alive, it has its old place back
		end
		gone[i] = waiter.id
	end
	if gone[1] then
		take_out(gone, some[#gone].ticket)
		passed_over = passed_over + #gone
	end
	return gone[1] ~= nil
end

-- The first waiter who is alive, and its ticket if it is ours. The dead before it are passed over.
local is_stuck = false -- too many dead: the next script goes on
local function first_waiter(me)
	while true do
		local head, is_marker, id, ticket = list[1], marker_of(list[1]), find_oldest()
		local ends = batches[is_marker and 2 or 1]
		ends = ends and ends.ticket or MOST -- of the batch that is first
		if not id and not head then
			return nil
		elseif id and not is_marker and ticket < ends then
			put_first_marker()
		elseif is_marker and (not id or ticket >= ends) then
			drop_entry(1) -- nobody is left in its batch
		elseif not is_marker and is_dead_redisson(head) then
			drop_entry(1)
			passed_over = passed_over + 1
		elseif not is_marker then
			return head
		elseif id == me then
			return id, ticket
		elseif passed_over >= PASSED_MOST then
			is_stuck = true
			return id, ticket
		elseif (not (missed_at or turn_of(id, ticket)) and present(id)) or not pass_over_ours(me, ends) then
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

-- Asks the next one to see later whether the first has taken its turn: the server has no timer.
local function tell_second(first, ms)
	local id = next_of_ours(first, 1)[1]
	if id then
		tell(id, 'second ' .. int(ms))
	end
end

-- In how many ms a head of Redisson's that is absent counts as dead.
local function seen_dead_in(id)
	local its = turn_of(id, score_of(id))
	return its and its.absent and math.max(1, its.absent + TURN_MS - now) or MOST
end

-- In how many ms to look what became of a turn: Redisson's do not say that they took it. ticket: nil for
-- one of those.
local function see_in(id, ticket)
	local its = turn_of(id, ticket or score_of(id))
	local told = its and its.told or now
	local ends = told + turn_ms(waiter_of(id))
	if not marker_of(list[1]) and told + LOOK_MS > now then
		ends = math.min(ends, told + LOOK_MS)
	end
	return math.max(1, math.min(ends - now, ticket and MOST or seen_dead_in(id)))
end

-- The messages `granted` of this script: said in the end, since what is said last leaves first.
local to_tell = {}

-- Gives the first waiter a hold of this mode, as if it had asked just now, but with a lease of a turn at
-- first: one that is alive renews it, and one that hangs costs no more. Returns whether it was given.
local function hand_over(id, ticket, mode)
	local waiter = waiter_of(id)
	-- One that need not run is told its turn, asks, and is answered so. And a slot of a cluster that is moving
	-- refuses the key that has just gone.
	if not waiter or waiter.secret == '-' or is_stuck or
		is_done(waiter.period, waits_since(id, ticket)) or ran(waiter.period) then
		return false
	end
	local owner = waiter.owner == '-' and id or waiter.owner
	if find_hold(owner) or not enter(note, mode, owner, waiter.want) then
		return false
	end
	local ttl, waited = math.max(1, math.min(turn_ms(waiter), waiter.lease - 1)), waited_by(id, ticket)
	if missed_at and waiter.seen < missed_at then -- it was first since then
		ttl = math.min(ttl, math.max(SILENT_TURN_MS, missed_at + TURN_MS - now))
	end
	end_wait(id, ticket)
	local hold = take(owner, mode, waiter.kind .. id, waiter.lease, ttl, waiter.by, waited, waiter.period)
	to_tell[#to_tell + 1] = {id, 'granted ' .. int(hold.token) .. ' ' .. int(ttl) .. ' ' .. stamp .. ' ' ..
		waiter.secret .. (match(mode, '^=') and ' ' .. string.sub(mode, 2) or '')}
	return true
end

local function room_for(id, ticket)
	local waiter = ticket and waiter_of(id)
	return fit(waiter and waiter.want or 'x')
end

local HANDED_MOST = 20 -- so many waiters are handed the lock by one script; the next one is told, and goes on

-- me: the caller. Returns the first waiter, and its ticket if it is ours.
function pass_on(me)
	local id, ticket, mode, ms
	has_ended = false
	repeat
		id, ticket = first_waiter(me)
		mode, ms = nil, nil
		if id and id ~= me then
			mode, ms = room_for(id, ticket)
		end
	until not (mode and ticket and now >= back_at() and #to_tell < HANDED_MOST and hand_over(id, ticket, mode))
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
		local score = ticket or score_of(id)
		local its = turn_of(id, score)
		if not (its and its.told) then -- it is told once, and the next one is to look after it
			set_turn(id, score, its and its.absent, now)
			tell_second(id, see_in(id, ticket))
			tell(id, '0')
		end
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

-- A script that changed something ends with this. has_left: one that may have listened to the first marker
-- has left. me: a waiter that is answered which marker it is. Returns the ticket of that marker and how many
-- listen, or nil.
function settle(has_left, me)
	if has_ended then
		pass_on(me)
	end
	put_first_marker()
	-- Redisson's grants, and its waiters that give up, each take up to 300 s from every score behind them
	local scores, marker, heard = {}, nil, nil
	for i = 1, math.min(#batches, MANY) do
		scores[2 * i - 1] = int(now + MARKER_SCORE_MS + REDISSON_SCORE_MS * (batches[i].at - i))
		scores[2 * i] = list[batches[i].at]
	end
	if scores[1] then
		call('ZADD', TIMEOUTS, 'GT', unpack(scores))
	end
	if batches[1] and (lock.mode == 'x' and lock.holder ~= lock.field or #list > #batches) then
		local name = channel(list[batches[1].at])
		marker = batches[1].ticket
		heard = call('PUBSUB', 'NUMSUB', name)[2] + (SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] or 0)
	end
	local lacks = marker and (has_left or heard < math.min(2, call('ZCARD', OURS)))
	for _, id in ipairs(lacks and next_of_ours(nil, 2) or {}) do
		if id ~= me then
			tell(id, '0')
		end
	end
	set_queue_ttl()
	if find_oldest() then
		call('PEXPIRE', OURS, QUEUE_TTL_MS)
	end
	if not lock.is_new then
		touch()
	end
	return marker, heard
end
