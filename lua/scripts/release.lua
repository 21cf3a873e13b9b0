-- release: gives a hold back; the last one frees the lock and wakes the next. May be sent twice.
--
-- ARGV  2 id
--       3 request   'own': of the holding process; else of the releasing one
--       4 mode      'own': the hold of this request (wrap, keeper)
--                   'unused': the same, and its COMMAND was not started
--                   'any': one hold that acquire took (the release command)
--                   'force': break the lock, whoever holds it; id is not looked at
--                   'forget': forget when a COMMAND was last started, and when one last ended with 0; the
--                   lock is left alone, and id is not looked at
--                   'stop': ask the holders to give it back; id is not looked at
--       5 token     with 'force': only if it is still the holder's, or ''
--       6 again     '1' when an earlier copy of this request may have arrived
--       7 min       with 'own': the lock stays held for so many ms from its grant on, or ''
--       8 strays    as for acquire
--       9 status    of COMMAND, as a shell shows it, or ''; only from the wrap that took the lock: its
--                   request is the id
--      10 cause     why COMMAND ended: 'exit', 'max-hold', 'asked', 'lost', 'wrap died', the name of a
--                   signal; or ''.
--                   `exit` with the status 0 is a success, which `done` tells; others are for the log only.
--                   A keeper may say 'max-hold', too, of the hold that its acquire took
--      11 only      with 'force' and 'stop': the hold of this owner only, or of =SLOT; or ''
--      12 by        with 'force' and 'stop': of the caller, as for acquire
--      13 list      with 'stop': the holds that this request has asked before, as `stops` told them, with a
--                   newline between; '' at first: it asks the holds that there are
--
-- Returns {'released', holds left}
--         {'kept', ms}             the last hold was given back; the lock stays held for the rest of its min
--         {'forced', owner, by}    {'free'}
--         {'forgot', ms ago}       when the start was that is forgotten; -1: there was none
--         {'stops', {what, ttl ms, by, hold}...}   the holds that are not over
--             what  asked: its wrap knows, or will; alone: no process can be asked, since it is Redisson's,
--                   or that of acquire; by hand: nor here, since a person took it; kept: it was kept for
--                   the rest of its min, and is over now; away: the server has lost its data, and this hold
--                   may be taken up again
--             ttl   until it is worth while to look again, since the hold may be over; -1: nobody knows
--             hold  "TOKEN LEASE MODE OWNER", with `-` for what our hash does not know
--         {'spelled', name}        another spelling of this name is in use
--         {'version', theirs, ours}   another version of this protocol
--         {'late'}                 this is a late copy
--         {'not held', owner, by}  {'not acquired'}: only wrap's own hold is left

local id, request, mode = ARGV[2], ARGV[3], ARGV[4]
local token, again, min = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])
local strays, status, cause, only = tonumber(ARGV[8]) or 0, ARGV[9], ARGV[10], ARGV[11] or ''
local by, list = ARGV[12] ~= '' and ARGV[12] or nil, ARGV[13] or ''
if request ~= id then -- a wrap that went into the lock of another process
	status, cause = '', ''
end

local refusal = denied and may_not_write()
if refusal then
	return refusal
end

-- include hold_record.lua publish.lua log_event.lua new_hold.lua

-- The usual cases: the only hold is given back, and nobody waits, or those who do are in order.
local owners = call('HGETALL', LOCK)
if mode == 'own' and owners[1] == id and owners[2] == '1' and not owners[3] and strays == 0 and not min then
	local name, version, holder, record, turn, earlier, ours, back, last_token, grants, started =
		unpack(call('HMGET', STATE, 'name', 'v', 'holder', 'h:' .. id, 'turn', 'r:' .. request, 'ours', 'back',
			'token', 'n:granted', 'started'))
	local hold = name == LOCK and version == VERSION and holder == id and not (turn or earlier) and
		read_hold(id, record)
	local since = hold and tonumber(hold.since)
	if since and since <= now and hold.state == 'held' and hold.mode == 'x' and hold.keep == '-' and
		hold.ending == '-' and string.sub(hold.holds, 3) == request .. ',' then
		local held = format('%.0f', now - since)
		-- after a loss of data, the token says when the hold began
		local done = status == '0' and cause == 'exit' and string.sub(hold.holds, 2, 2) == 'w' and
			format('%.0f', math.min(since, tonumber(hold.token))) .. ' ' .. stamp
		local length, scores = call('LLEN', QUEUE), call('ZCARD', TIMEOUTS)
		if ours == '0' and length == 0 and scores == 0 then
			call('DEL', LOCK)
			call('HDEL', STATE, 'holder', 'h:' .. id)
			if done then
				pcall_server('HSET', STATE, 'done', done)
			end
			log_event('released', stamp, id, hold.token, hold.by,
				hold.waited ~= '-' and hold.waited, held, status, cause)
			tell_outsiders()
			return {'released', 0}
		end
		-- include waiter_record.lua release_handover.lua
	end
end

-- in a function from here on
-- include base.lua waiter_record.lua more_records.lua lock.lua
-- in a function from here on
-- include hold_end.lua holds.lua holds_left.lua capacity.lua changes.lua
-- include patience.lua queue_head.lua lost_hold.lua pass_on.lua let_go.lua queue_order.lua

local refused = begin(id, request, strays, 'late')
if refused then
	return refused
end

-- Until when the lock stays held whatever is given back. Each process that holds it may demand that.
local hold = lock.hold
local keep_until = hold and number(hold.keep) or 0
if min and mode == 'own' and hold and hold.id == id and hold.since ~= '-' then
	-- if the clock was set back, the hold seems to begin later
	hold.since = int(math.min(number(hold.since) or now, now))
	keep_until = math.max(keep_until, number(hold.since) + min)
	hold.keep = int(keep_until)
end
local kept_ms = math.max(0, keep_until - now)
if kept_ms > LONGEST_MS or hold and hold.ending == 'asked' then
	kept_ms = 0
end

local function not_held()
	settle()
	local owner, by = about()
	return {'not held', owner, by}
end

-- The answer to `force`, of what is kept beside the request.
local function forced(answer)
	if answer == 'free' then
		return {'free'}
	end
	local reply = {'forced'}
	for owner, by in string.gmatch(match(answer, '^forced (.*)$') or ' ', '(%S*) ([^\n]*)\n?') do
		reply[#reply + 1], reply[#reply + 2] = owner, by
	end
	return reply
end

-- Calls it for each holder, or for the one that the caller means, with the owner and what our hash knows of
-- the hold, or nil.
local function each_holder(visit)
	local owners = {lock.owner}
	if MODES[lock.field] then
		owners = call('ZRANGE', HOLDERS, '(' .. stamp, '+inf', 'BYSCORE')
	end
	local slot = match(only, '^=(.*)$')
	local wanted = slot and call('HGET', STATE, 's:' .. slot) or only
	for _, owner in ipairs(owners) do
		if only == '' or owner == wanted then
			visit(owner, select_holder(owner) and is_known() and lock.hold or nil)
		end
	end
end

-- The owners whose holds `force` is to break, and their descriptions.
local function holds_to_break()
	local found, texts = {}, {}
	each_holder(function(owner, hold_of)
		if not token or hold_of and hold_of.token == int(token) then
			found[#found + 1], texts[#texts + 1] = owner, hold_of and hold_of.by or ''
		end
	end)
	return found, texts
end

-- Breaks the lock, or one hold. The answer is kept beside the request: sent again, it must not
-- break the lock of the next holder.
local function force()
	local before = lock.request and lock.request.answer or '-'
	if before ~= '-' then
		return forced(before)
	end
	local owners, texts = holds_to_break()
	if token and not owners[1] then
		return not_held()
	end
	for i, owner in ipairs(owners) do
		texts[i] = owner .. ' ' .. texts[i]
	end
	local answer = owners[1] and 'forced ' .. table.concat(texts, '\n') or 'free'
	mark_request(request, strays, answer)
	introduce(note)
	if owners[1] and not lock.token then
		-- our hash was lost: a token that nobody has had, lest the owner takes the lock up again
		lock.token = now
		note('HSET', STATE, 'token', stamp)
	end
	check_queue()
	for _, owner in ipairs(owners) do
		select_holder(owner)
		tell(owner, '0')
		end_this('forced', nil, nil, 'forced', by)
	end
	if owners[1] then
		pass_on()
	end
	settle()
	return forced(answer)
end

-- Forgets the last start and the last success. A COMMAND that runs now goes on, and counts if it ends with 0.
local function forget_run()
	local ago = tonumber(match(lock.request and lock.request.answer or '', '^forgot (-?%d+)$'))
	if not ago then
		local last = lock.started or lock.ok_started
		ago = last and math.max(0, now - last) or -1
		mark_request(request, strays, 'forgot ' .. int(ago))
		introduce(note)
		call('HDEL', STATE, 'started', 'done')
		set_started(nil, nil, lock.recall)
	end
	settle()
	return {'forgot', ago}
end

-- include stop_holders.lua

-- The last hold is given back before its time: nobody renews the lock any more, and the first
-- waiter knows when it ends.
local function keep()
	if set_ttl(id, kept_ms) then
		tell_redisson()
	end
	hold.state, hold.holds, hold.ends = 'kept', ',' .. request .. ',', int(now + kept_ms)
	hold.ending = (status or '') .. ':' .. string.gsub(cause or '', ' ', '_')
	save_hold()
	pass_on()
	settle()
	return {'kept', kept_ms}
end

-- One of several holds is over; the others, or the lease, end the lock. The request, sent again, is to give
-- back no other one.
local function give_one_back(given)
	local left = lock.count - 1
	if given == 'w' .. id and hold.ending == 'asked' then
		end_asking(hold)
		hold.keep = '-' -- the holds that are left want no --min-hold
	elseif given and ttl_of_hold() < kept_ms then
		set_ttl(id, kept_ms)
		hold.ends = int(now + kept_ms)
	end
	set_count(left)
	if given then
		end_entry(given)
	end
	mark_request(request, strays, 'released')
	if given and mode == 'any' then
		-- the process whose hold it was learns it when it renews
		local whose = string.sub(given, 2)
		local before = read_request(call('HGET', STATE, 'r:' .. whose))
		note('HSET', STATE, 'r:' .. whose,
			request_text({made = now, strays = before and before.strays or 0, answer = 'given'}))
	end
	return left
end

-- COMMAND ended with 0. Waiters that need not run now are sent away, whether or not there is room for them:
-- the first of them. Those behind learn it when they ask.
local function succeed()
	local started = math.min(number(hold.since) or now, number(hold.token) or now, now)
	if lock.mode ~= 'x' and (lock.ok_started or MOST) <= now then
		started = math.max(started, lock.ok_started) -- one that was started later may have ended sooner
	end
	lock.ok_started, lock.ok_ended = started, now
	call('HDEL', STATE, 'done') -- after it a server out of memory takes the next
	note('HSET', STATE, 'done', int(started) .. ' ' .. stamp)
	local ids = lock.recall and call('LRANGE', QUEUE, 0, LOOK_BEHIND - 1) or {}
	look_up(ids)
	for _, other in ipairs(ids) do
		local waiter = known(other)
		if waiter and is_done(waiter.period, waits_since(other, waiter)) then
			send_away(other, waiter, 1)
		end
	end
end

-- Of several holders, our hash forgot how many holds this owner has: this one is inside another one, which
-- is not over.
local function leave_outer(given)
	if given then
		end_entry(given)
	end
	mark_request(request, strays, 'released')
	settle()
	return {'released', 1}
end

-- given: the entry in `holds`, or nil: our hash does not know it.
local function give_back(given)
	local is_success = mode == 'own' and given == 'w' .. id and status == '0' and cause == 'exit'
	if lock.count > 1 then
		call('HDEL', STATE, 'turn') -- no turn is under way; but after it a server out of memory takes the rest
	end
	check_queue()
	if mode == 'unused' and given == 'w' .. id then
		forget_start() -- going in again starts nothing that counts
	elseif mode == 'any' then
		publish(call, channel(id), '0') -- a keeper of this hold has nothing left to do
	elseif is_success then
		succeed()
	end
	local left = 0
	if lock.count > 1 then
		left = give_one_back(given)
		if is_success then
			pass_on() -- another waiter may be first now
		end
	elseif given and kept_ms > 0 then
		return keep()
	else
		if mode == 'any' then
			mark_request(request, strays, 'released') -- the owner may take the lock again
		end
		let_go('released', status, cause, mode == 'any' and 'released' or nil)
	end
	settle()
	return {'released', left}
end

if mode == 'force' then
	return force()
elseif mode == 'forget' then
	return forget_run()
elseif mode == 'stop' then
	return stop()
end
if lock.owner ~= id then
	if again and has_ended(id, 'released') then
		settle()
		return {'released', 0}
	end
	return not_held()
end
if is_kept() and has_hold(request) then
	return {'kept', kept_ms}
elseif is_kept() and again then
	return {'released', 0} -- it was one of those that were given back before the last
end
local given
if mode ~= 'any' then
	given = entry_of(request)
elseif hold and not is_kept() then
	given = match(hold.holds, ',([ah][^,]+)')
end
local answer = lock.request and lock.request.answer
if answer == 'released' and (mode == 'any' or not given) then
	return {'released', lock.count}
elseif mode ~= 'any' and request ~= id and lock.mode ~= 'x' and not is_known() and answer ~= 'given' then
	return leave_outer(given)
elseif given or not is_known() and answer ~= 'given' then
	return give_back(given) -- if our hash was lost, the lock's own count is what there is
elseif mode == 'any' and not is_kept() then
	return {'not acquired'}
end
return not_held()
