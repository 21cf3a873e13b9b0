-- release: gives a hold back; the last one frees the lock and wakes the next. May be sent twice.
--
-- ARGV  2 id
--       3 request   'own': of the holding process; else of the releasing one
--       4 mode      'own': the hold of this request (wrap, keeper)
--                   'unused': the same, and its COMMAND was not started
--                   'any': one hold that acquire took (the release command)
--                   'force': break the lock, whoever holds it; id is not looked at
--       5 token     with 'force': only if it is still the holder's, or ''
--       6 again     '1' when an earlier copy of this request may have arrived
--       7 min       with 'own': the lock stays held for so many ms from its grant on, or ''
--       8 strays    as for acquire
--       9 status    of COMMAND, as a shell shows it, or ''; for the log only, and only from the wrap that
--                   took the lock: its request is the id
--      10 cause     why COMMAND ended: 'exit', 'max-hold', 'lost', the name of a signal; or ''
--
-- Returns {'released', holds left}
--         {'kept', ms}             the last hold was given back; the lock stays held for the rest of its min
--         {'forced', owner, by}    {'free'}
--         {'spelled', name}        another spelling of this name is in use
--         {'version', theirs, ours}   another version of this protocol
--         {'late'}                 this is a late copy
--         {'not held', owner, by}  {'not acquired'}: only wrap's own hold is left

local id, request, mode = ARGV[2], ARGV[3], ARGV[4]
local token, again, min = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])
local strays, status, cause = tonumber(ARGV[8]) or 0, ARGV[9], ARGV[10]
if request ~= id then -- a wrap that went into the lock of another process
	status, cause = '', ''
end

local refusal = denied and may_not_write()
if refusal then
	return refusal
end
local owner, count, copies = read_keys('c:' .. request)
if state.refusal then
	return state.refusal
elseif (copies or strays > 0) and is_late(request, strays, copies) then
	return {'late'}
end

-- Until when the lock stays held whatever is given back. Each process that holds it may demand that.
if min and mode == 'own' and owner == id and state.owner == id and state.since then
	state.keep = math.max(state.keep or 0, state.since + min)
end
local kept_ms = math.max(0, (state.keep or 0) - now)

-- include hold_end.lua

-- The release command: a keeper of this hold has nothing left to do.
local function tell_keeper()
	if mode == 'any' then
		publish(call, channel(id), '0')
	end
end

-- The usual cases: the only hold is given back, and nobody waits, or those who do are in order.
if owner == id and state.owner == id and count == 1 and kept_ms == 0 and state.holds and not state.marked and
	(mode == 'own' and (state.holds == 'w' .. request or state.holds == 'a' .. request) or
	mode == 'any' and string.find(state.holds, '^a%S+$')) then
	if state.empty then
		tell_keeper()
		call('DEL', LOCK)
		end_hold('released', now, status, cause)
		touch()
		tell_outsiders()
		return {'released', 0}
	end
	-- include release_handover.lua
end

-- in a function from here on
-- include holds.lua
-- include patience.lua
-- include queue_head.lua
-- include queue_order.lua

local function not_held()
	settle()
	return {'not held', owner or '', state.by or ''}
end

-- Deletes nothing; but after it a server out of memory takes the rest, too.
local function begin_in_any_case()
	call('HDEL', STATE, 'f:' .. request)
end

-- Breaks the lock. The answer is kept beside the request: sent again, it must not
-- break the lock of the next holder.
local function force()
	local before = call('HGET', STATE, 'f:' .. request)
	if before then
		local whose, by = string.match(before, '^%d+ (%S*) (.*)$')
		return whose == '' and {'free'} or {'forced', whose, by}
	end
	if token and (not owner or owner ~= state.owner or state.token ~= token) then
		return not_held()
	end
	local by = state.owner == owner and state.by or ''
	begin_in_any_case()
	introduce(note)
	note('HSET', STATE, 'f:' .. request, stamp .. ' ' .. (owner or '') .. ' ' .. by)
	state.marked = true
	if not owner then
		settle()
		return {'free'}
	end
	if state.owner == owner and state.token then
		note('HSET', STATE, 'forced', state.token)
		state.forced = nil -- it stays there for its owner, also when the next has the lock at once
	end
	check_queue()
	tell(owner, '0')
	let_go(owner, 'forced')
	settle()
	return {'forced', owner, by}
end

-- The last hold is given back before its time: nobody renews the lock any more, and the first
-- waiter knows when it ends.
local function keep()
	call('PEXPIRE', LOCK, kept_ms)
	set_holds('k' .. request .. ' ' .. (status or '') .. ':' .. (cause or ''))
	call('HSET', STATE, 'until', now + kept_ms, 'keep', state.keep)
	announce(kept_ms)
	settle()
	return {'kept', kept_ms}
end

-- Others hold on: they, or the lease, end it.
local function keep_beside()
	call('HSET', STATE, 'keep', state.keep)
	if call('PTTL', LOCK) < kept_ms then
		call('PEXPIRE', LOCK, kept_ms)
		note('HSET', STATE, 'until', now + kept_ms)
	end
end

local function give_back(entry)
	if count > 1 then
		begin_in_any_case()
	end
	check_queue()
	if mode == 'unused' and request == id and entry == 'w' .. request then
		forget_start() -- going in again starts nothing that counts
	end
	tell_keeper()
	if entry and kept_ms > 0 then
		if count <= 1 then
			return keep()
		end
		keep_beside()
	end
	local left = count > 1 and call('HINCRBY', LOCK, id, -1) or 0
	if left == 0 then
		let_go(id, 'released', status, cause)
	elseif entry then
		end_entry(entry, 'd' .. request)
		if mode == 'any' then
			end_entry('', 'g' .. string.sub(entry, 2))
		end
	else
		add_hold('d' .. request)
	end
	settle()
	return {'released', left}
end

notice_end(owner)

if mode == 'force' then
	return force()
end
if owner ~= id then
	if again and has_ended(id, 'released') then
		settle()
		return {'released', 0}
	end
	return not_held()
end
if has_hold('k' .. request) then
	return {'kept', kept_ms}
elseif is_kept() and again then
	return {'released', 0} -- it was one of those that were given back before the last
elseif has_hold('d' .. request) then
	return {'released', count}
end
if not state.owner then
	return give_back() -- our hash was lost: the lock's own count is what there is
end
if mode == 'own' or mode == 'unused' then
	for _, kind in ipairs({'w', 'a'}) do
		if has_hold(kind .. request) then
			return give_back(kind .. request)
		end
	end
	return not_held()
end
if is_kept() then
	return not_held()
end
local entry = string.match(' ' .. state.holds, ' (a%S+)')
if not entry then
	return {'not acquired'}
end
return give_back(entry)
