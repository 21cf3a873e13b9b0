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
--                   signal; or ''. `exit` with the status 0 is a success; others are for the log only. A
--                   keeper may say 'max-hold', too, of the hold that its acquire took
--      11 only      with 'force' and 'stop': the hold of this owner only, or of =SLOT; or ''
--      12 by        with 'force' and 'stop': of the caller, as for acquire
--      13 list      with 'stop': the holds that this request has asked before, as `stops` told them, with a
--                   newline between; '' at first: it asks the holds that there are
--
-- Returns {'released', holds left}
--         {'kept', ms}             the last hold was given back; the lock stays held for the rest of its min
--         {'forced', owner, by...}   for each hold that was broken
--         {'free'}
--         {'forgot', ms ago}       when the start was that is forgotten; -1: there was none
--         {'stops', {what, ttl ms, by, hold}...}   the holds that are not over
--             what  asked: its wrap knows, or will; alone: no process can be asked, since it is Redisson's,
--                   or that of acquire; by hand: nor here, since a person took it; kept: it was kept for
--                   the rest of its min, and is over now; away: the server has lost its data, and this hold
--                   may be taken up again
--             ttl   until it is worth while to look again, since the hold may be over; -1: nobody knows
--             hold  "TOKEN LEASE MODE OWNER", with `-` for what our hash does not know
--         {'not held', HOLDER...}  see `about` in holds.lua
--         {'not acquired'}         only wrap's own hold is left

local id, request, mode, strays, late = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[8]) or 0, {'late'}
local min, status, cause = tonumber(ARGV[7]), ARGV[9], ARGV[10]
if request ~= id then -- a wrap that went into the lock of another process
	status, cause = '', ''
end

-- include base.lua ends.lua

-- Usually a process gives back the only hold of a lock for which nobody waits, and that is all of it.
local hold = read_hold(id, my_text)
if hold and mode == 'own' and not (min or word or asks) and lock.field == id and lock.holder == id and
	lock.value == '1' and hold.state == 'held' and hold.since and not hold.keep and hold.notes == '-' and
	string.sub(hold.holds, 3) == request .. ',' and
	call('EXISTS', LIST, TIMEOUTS, OURS) == 0 then
	call('DEL', LOCK)
	set_free()
	forget_hold(hold, 'released', now, status, cause)
	if status == '0' and cause == 'exit' and hold.holds == ',w' .. id .. ',' then
		note_success(hold)
	end
	publish(CHANNEL, '0') -- a client that waits for Redisson's plain lock of this name is in no queue
	touch()
	return {'released', 0}
end

-- in a function from here on
-- include grant.lua holds.lua recover.lua jobs.lua waiters.lua queue.lua

local token, again, only, list_asked = number(ARGV[5]), ARGV[6] == '1', ARGV[11] or '', ARGV[13] or ''
local by = ARGV[12] ~= '' and ARGV[12] or nil

begin(true)

-- Each holder, or the one that the caller means.
local function holders_meant()
	local found, slot, meant = owners(-1), match(only, '^=(.*)$'), {}
	local wanted = slot and call('HGET', STATE, 's:' .. slot) or only
	for i = 1, #found, 2 do
		if only == '' or found[i] == wanted then
			meant[#meant + 1] = find_hold(found[i])
		end
	end
	return meant
end

local function not_held()
	settle()
	return {'not held', about()}
end

-- Whether the log, read once, says that this owner has given its hold back.
local released
local function has_released(owner)
	if not released then
		released = {}
		for _, entry in ipairs(note('XREVRANGE', LOG, '+', '-', 'COUNT', LOG_LENGTH) or {}) do
			if entry[2][2] == 'released' then
				released[entry[2][6] or ''] = true
			end
		end
	end
	return released[owner]
end

if mode == 'force' then
	local answer = {'forced'}
	for _, one in ipairs(holders_meant()) do
		if not token or one.token == token then
			answer[#answer + 1], answer[#answer + 2] = one.id, by_of(one)
			if not one.token then
				-- a token that nobody has had, lest its owner takes the hold up again
				raise_token(now)
			end
			for held_by in string.gmatch(one.holds .. 'w' .. one.id, ',%l([^,]+)') do
				set_last_word(held_by, 'forced') -- so this process is told why
			end
			publish(channel(one.id), '0')
			forget_loss(one.token or lock.token)
			end_hold(one, 'forced', nil, nil, by)
		end
	end
	if answer[2] then
		pass_on()
	elseif token then
		return not_held()
	end
	settle()
	return answer_for_good(answer[2] and answer or {'free'})
end

-- ---- forget: a COMMAND that runs now goes on, and counts if it ends with 0 ----

if mode == 'forget' then
	local last, _, _, recall = numbers(lock.start)
	last = last or numbers(lock.ok)
	introduce()
	save('start', nil, nil, nil, recall)
	call('HDEL', STATE, 'ok')
	settle()
	return answer_for_good({'forgot', last and math.max(0, now - last) or -1})
end

local ASKERS_MOST = 20 -- so many are told the end of a hold; others look themselves

-- Asks one hold. Returns what it is, ttl and by, as the answer has them; nil: it is over. Each wrap has an
-- id of its own, and may have taken its hold up under a newer token.
local function stop_one(owner, its_token, lease, its_mode)
	local one, known = find_hold(owner), number(its_token)
	local is_wrap = one and (has_entry(one, 'w' .. owner) or has_entry(one, 'v' .. owner))
	if not one and known and can_be_lost(known, lease, its_mode) and not has_released(owner) then
		-- from the first of us on that sees the loss, a lease may pass until the holder is back
		local floor, at = numbers(lock.lost)
		at = floor == lock.token and at or note_loss(known, lease)
		return at + lease > now and 'away' or nil, math.min(AWAY_MS, at + lease - now), ''
	elseif not one or one.token and one.token ~= known and not is_wrap then
		return nil
	elseif not one.token then
		return known and 'away' or 'alone', ttl_of(one), ''
	elseif one.state == 'kept' then
		end_hold(one, 'released', nil, nil, by)
		return 'kept', 0, by_of(one)
	elseif not is_wrap then
		-- where several processes hold as one owner, the wrap may take it up after another
		return is_by_hand(one) and 'by hand' or one.since and 'alone' or 'away', ttl_of(one), by_of(one)
	end
	-- written beside the hold, once; its wrap renews, and learns it
	local askers = one.notes ~= '-' and one.notes .. ',' or ''
	if not string.find(',' .. askers, ',' .. request .. ',', 1, true) and
		select(2, string.gsub(askers, ',', '')) < ASKERS_MOST then
		one.by = askers == '' and one.by .. '\n' .. (by or '?') or one.by
		one.notes = askers .. request
		save_hold(one)
		record('asked', now, one.id, one.token, by_of(one), nil, math.max(0, now - (one.since or now)), nil, nil,
			match(one.mode, '^=(.+)$'), by)
	end
	publish(channel(one.id), '0')
	return 'asked', ttl_of(one), by_of(one)
end

if mode == 'stop' then
	local lines, answer, is_free = {}, {'stops'}, false
	if list_asked == '' and match(word or '', '^asked ') then
		list_asked = string.sub(word, 7)
	elseif list_asked == '' then
		for i, one in ipairs(holders_meant()) do
			lines[i] = one.token and columns(4, one.token, one.lease, one.mode, one.id) or '- - - ' .. one.id
		end
		list_asked = table.concat(lines, '\n')
		-- sent again, this request is not to ask the next holders
		set_last_word(request, 'asked ' .. list_asked)
	end
	for line in string.gmatch(list_asked, '[^\n]+') do
		local its_token, lease, its_mode, owner = match(line, '^(%S+) (%S+) (%S+) (.*)$')
		local what, ttl, whose = stop_one(owner or '', its_token, number(lease) or 0, its_mode)
		if what then
			answer[#answer + 1] = {what, ttl, whose, line}
		end
		is_free = is_free or what == 'kept'
	end
	if is_free then
		pass_on()
	end
	settle()
	return answer
end

-- ---- A hold is given back ----

hold = find_hold(id)
local given = hold and entry_of(hold, request) -- nil: our hash does not know it
if mode == 'any' then
	given = hold and hold.state == 'held' and match(hold.holds, ',([ah][^,]+)') or nil
end
local left = match(word or '', '^released (%d+)$')
-- after a loss of data the holds that are counted may be those of other processes only, who were back first
local are_others = hold and not given and hold.count <= count_entries(hold)
if left and (mode == 'any' or not given) then
	return again and {'released', tonumber(left)} or late -- this is a copy
elseif not hold then
	return again and not word and has_released(id) and {'released', 0} or not_held()
elseif hold.state == 'kept' and mode ~= 'any' and (again or has_entry(hold, request)) then
	return has_entry(hold, request) and {'kept', ttl_of(hold)} or {'released', 0}
elseif not given and (hold.since or word or are_others and mode == 'any') then
	if mode == 'any' and hold.state ~= 'kept' then
		return {'not acquired'}
	end
	-- an earlier copy gave it back
	return again and mode ~= 'any' and not word and {'released', hold.count} or not_held()
end

if min and mode == 'own' and hold.since then
	hold.since = math.min(hold.since, now) -- if the clock was set back, the hold seems to begin later
	hold.keep = math.max(hold.keep or 0, hold.since + min)
end
local kept_ms = math.max(0, (hold.keep or 0) - now)
if kept_ms > LONGEST_MS or hold.notes ~= '-' then
	kept_ms = 0
end

if mode == 'unused' and given == 'w' .. id then
	forget_start(hold) -- going in again starts nothing that counts
elseif mode == 'any' then
	-- the process whose hold it was has nothing left to do, and learns it when it renews
	set_last_word(request, 'released ' .. hold.count - 1)
	if given then
		set_last_word(string.sub(given, 2), 'given')
	end
	publish(channel(id), '0')
elseif strays > 0 or not given then
	set_last_word(request, 'released ' .. hold.count - 1)
end
if mode ~= 'any' and (are_others or not given and lock.mode ~= 'x' and request ~= id) then
	settle()
	return {'released', 1} -- nobody knows how many holds its owner has
end

local answer = {'released', hold.count - 1}
if hold.count > 1 then -- the others, or the lease, end the lock
	if given == 'w' .. id and hold.notes ~= '-' then
		tell_askers(hold)
		-- the holds that are left want no --min-hold
		hold.notes, hold.by, hold.keep = '-', by_of(hold), nil
	elseif given and ttl_of(hold) < kept_ms then
		set_ttl(hold, kept_ms)
	end
	change_entries(hold, hold.count - 1, given or '')
elseif given and kept_ms > 0 then
	-- before its time: nobody renews the lock any more, and the first waiter knows when it ends
	hold.state, hold.holds = 'kept', ',' .. request .. ','
	hold.notes = (status or '') .. ':' .. string.gsub(cause or '', ' ', '_')
	set_ttl(hold, kept_ms)
	save_hold(hold)
	answer = {'kept', kept_ms}
else
	end_hold(hold, 'released', status, cause)
end
local is_success = mode == 'own' and given == 'w' .. id and status == '0' and cause == 'exit'
if is_success then
	note_success(hold)
	-- the first waiters that need not run now are told to ask; those behind learn it with their sign of life
	for _, waiter in ipairs((select(4, numbers(lock.start)) or 0) >= now and everybody(200) or {}) do
		if waiter.record and is_done(waiter.record.period, waits_since(waiter.id, waiter.ticket)) then
			tell(waiter.id, '0')
		end
	end
end
if is_success or answer[1] == 'kept' or answer[2] == 0 then
	pass_on()
end
settle()
return answer
