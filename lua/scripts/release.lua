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
--         {'spelled', name}        another spelling of this name is in use
--         {'version', theirs, ours}   another version of this protocol
--         {'late'}                 this is a late copy
--         {'not held', owner, by}  {'not acquired'}: only wrap's own hold is left

-- include base.lua

local id, request, mode = ARGV[2], ARGV[3], ARGV[4]
local min, strays, status, cause = tonumber(ARGV[7]), tonumber(ARGV[8]) or 0, ARGV[9], ARGV[10]
if request ~= id then -- a wrap that went into the lock of another process
	status, cause = '', ''
end
local refusal = lacking and lacking()
if refusal then
	return refusal
end

read_lock(id)
if lock.refusal then
	return lock.refusal
end
if strays > 0 then
	make_room() -- for the last word
end
local late, word = is_late(request, strays)
local hold -- that ends

-- COMMAND ended with 0. After a loss of data, the token says when the hold began.
local function note_success()
	local started, runs = math.min(hold.since or now, hold.token or now, now), lock.runs
	if hold.mode ~= 'x' and (runs.ok_started or MOST) <= now then
		started = math.max(started, runs.ok_started) -- one that was started later may have ended sooner
	end
	runs.ok_started, runs.ok_ended = started, now
	note('HSET', STATE, 'runs', runs_text(runs))
end

-- Waiters that need not run after a success are told to ask, whether or not there is room for them.
local tell_satisfied

-- The hold ends that is all of its owner's.
local function give_all_back()
	local is_success = mode == 'own' and has_entry(hold, 'w' .. id) and status == '0' and cause == 'exit'
	end_hold(hold, 'released', status, cause)
	if is_success then
		note_success()
	end
	if is_success and tell_satisfied then
		tell_satisfied()
	end
	if pass_on then
		pass_on()
		settle()
	else
		publish(CHANNEL, '0') -- a client that waits for Redisson's plain lock of this name is in no queue
		touch()
	end
	return {'released', 0}
end

if late then
	return {'late'}
end

-- Usually a process gives back the only hold of the lock, and that is all of it.
hold = mode == 'own' and not min and not word and strays == 0 and lock.mode == 'x' and
	lock.holder == lock.field and find_hold(id)
local is_usual = hold and hold.since and hold.count == 1 and not hold.keep and hold.state == 'held' and
	hold.notes == '-' and string.sub(hold.holds, 3) == request .. ','
if is_usual and not lock.is_queued then
	return give_all_back()
end

-- in a function from here on
-- include holds.lua recover.lua jobs.lua waiters.lua queue.lua

local token, again, only, list_asked = number(ARGV[5]), ARGV[6] == '1', ARGV[11] or '', ARGV[13] or ''
local by = ARGV[12] ~= '' and ARGV[12] or nil

-- The first of them. Those behind learn it with their sign of life.
function tell_satisfied()
	if (lock.runs.recall or 0) < now then
		return -- nobody asks
	end
	local found, ids = call('ZRANGE', OURS, 0, 199, 'WITHSCORES'), {}
	for i = 1, #found, 2 do
		ids[#ids + 1] = found[i]
	end
	look_up(ids)
	for i, other in ipairs(ids) do
		local waiter = waiter_of(other)
		if waiter and is_done(waiter.period, waits_since(other, tonumber(found[2 * i]))) then
			tell(other, '0')
		end
	end
end

local function not_held()
	settle()
	local owner, owner_by = about()
	return {'not held', owner, owner_by}
end

-- ---- One of several holds, and --min-hold ----

-- The last hold is given back before its time: nobody renews the lock any more, and the first waiter knows
-- when it ends.
local function keep(ms)
	hold.state, hold.holds = 'kept', ',' .. request .. ','
	hold.notes = (status or '') .. ':' .. string.gsub(cause or '', ' ', '_')
	if set_ttl(hold, ms) then
		tell_redisson()
	end
	save_hold(hold)
	pass_on()
	settle(hold)
	return {'kept', ms}
end

-- One of several holds is over; the others, or the lease, end the lock.
local function give_one_back(given, kept_ms)
	if given == 'w' .. id and hold.notes ~= '-' then
		tell_askers(hold)
		-- the holds that are left want no --min-hold
		hold.notes, hold.by, hold.keep = '-', by_of(hold), nil
	elseif given and ttl_of(hold) < kept_ms then
		set_ttl(hold, kept_ms)
	end
	set_count(hold, hold.count - 1)
	if given then
		replace_entry(hold, given)
	end
	settle(hold)
	return {'released', hold.count}
end

-- given: the entry in `holds`, or nil: our hash does not know it, and the lock's own count is what there is.
local function give_back(given)
	local is_success = mode == 'own' and given == 'w' .. id and status == '0' and cause == 'exit'
	local keep_until = hold.keep or 0
	if min and mode == 'own' and hold.since then
		-- if the clock was set back, the hold seems to begin later
		hold.since = math.min(hold.since, now)
		keep_until = math.max(keep_until, hold.since + min)
		hold.keep = keep_until
	end
	local kept_ms = math.max(0, keep_until - now)
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
	if not given and lock.mode ~= 'x' and request ~= id and mode ~= 'any' then
		settle(hold)
		return {'released', 1} -- nobody knows how many holds its owner has
	elseif hold.count > 1 then
		if is_success then
			note_success()
			tell_satisfied()
			pass_on() -- another waiter may be first now
		end
		return give_one_back(given, kept_ms)
	elseif given and kept_ms > 0 then
		if is_success then
			note_success()
			tell_satisfied()
		end
		return keep(kept_ms)
	end
end

-- ---- Of others ----

-- Calls it for each holder, or for the one that the caller means, with its hold.
local function each_holder(visit)
	local slot, owners = match(only, '^=(.*)$'), {lock.field}
	if MODES[lock.field] then
		owners = call('ZRANGE', HOLDERS, '(' .. stamp, '+inf', 'BYSCORE')
	end
	local wanted = slot and call('HGET', STATE, 's:' .. slot) or only
	for _, owner in ipairs(owners) do
		if (only == '' or owner == wanted) and find_hold(owner) then
			visit(find_hold(owner))
		end
	end
end

-- The answer to `force`, as its last word has it.
local function forced(answer)
	if answer == 'free' then
		return {'free'}
	end
	local reply = {'forced'}
	for owner, owner_by in string.gmatch(match(answer, '^forced (.*)$') or ' ', '(%S*) ([^\n]*)\n?') do
		reply[#reply + 1], reply[#reply + 2] = owner, owner_by
	end
	return reply
end

-- Breaks the lock, or one hold.
local function force()
	local broken, lines = {}, {}
	if word then
		return forced(word)
	end
	each_holder(function(one)
		if not token or one.token == token then
			broken[#broken + 1], lines[#lines + 1] = one, one.id .. ' ' .. by_of(one)
		end
	end)
	if token and not broken[1] then
		return not_held()
	end
	local answer = broken[1] and 'forced ' .. table.concat(lines, '\n') or 'free'
	set_last_word(request, answer)
	for _, one in ipairs(broken) do
		if not one.token then
			-- a token that nobody has had, lest its owner takes the hold up again
			introduce()
			lock.token = math.max(now, lock.token)
			call('HSET', STATE, 'token', int(lock.token))
		end
		for held_by in string.gmatch(one.holds .. 'w' .. one.id, ',%l([^,]+)') do
			set_last_word(held_by, 'forced') -- so this process is told why
		end
		publish(channel(one.id), '0')
		forget_loss(one.token or lock.token)
		end_hold(one, 'forced', nil, nil, by)
	end
	if broken[1] then
		pass_on()
	end
	settle()
	return forced(answer)
end

-- Forgets the last start and the last success. A COMMAND that runs now goes on, and counts if it ends with
-- 0.
local function forget_run()
	local ago = match(word or '', '^forgot (-?%d+)$')
	if not ago then
		local runs = lock.runs
		local last = runs.last or runs.ok_started
		ago = last and int(math.max(0, now - last)) or '-1'
		set_last_word(request, 'forgot ' .. ago)
		runs.last, runs.whose, runs.before, runs.ok_started, runs.ok_ended = nil, nil, nil, nil, nil
		introduce()
		save_runs()
		settle()
	end
	return {'forgot', tonumber(ago)}
end

-- ---- stop ----

local ASKERS_MOST = 20 -- so many are told the end of a hold; others look themselves

-- Writes beside this hold that the caller asks it to stop, once, and has its wrap renew: it learns that
-- then.
local function ask_to_stop(one)
	local askers = one.notes ~= '-' and one.notes or ''
	if not string.find(',' .. askers .. ',', ',' .. request .. ',', 1, true) and
		select(2, string.gsub(askers, ',', '')) < ASKERS_MOST - 1 then
		one.notes = (askers ~= '' and askers .. ',' or '') .. request
		one.by = askers ~= '' and one.by or one.by .. '\n' .. (by or '?')
		save_hold(one)
		record('asked', stamp, one.id, int(one.token), by_of(one), nil,
			int(math.max(0, now - (one.since or now))), nil, nil, match(one.mode, '^=(.+)$'), by)
	end
	publish(channel(one.id), '0')
end

-- The hold of an owner that holds no more: whether, and until when, it may be taken up again.
local function away(owner, its_token, lease, its_mode)
	if not its_token then
		return nil
	end
	notice_loss(its_token, its_token > lock.token)
	if read_run() then
		check_run(true)
	end
	local floor, at = match(lock.lost, '^(%d+) (%d+) ')
	if not can_be_lost(its_token, lease, its_mode) or has_released(owner) then
		return nil
	end
	-- from the first of us on that sees it, a lease may pass until its holder is back
	at = floor == int(lock.token) and number(at) or note_loss(its_token, lease)
	-- most holders are back as soon as the waiters
	local ends = at + AWAY_MS > now and at + AWAY_MS or at + lease
	return ends > now and 'away' or nil, ends - now, ''
end

-- Asks one hold. Returns what it is, ttl and by, as the answer has them; nil: it is over. Each wrap has an
-- id of its own, and may have taken its hold up under a newer token.
local function stop_one(owner, its_token, lease, its_mode)
	local one = find_hold(owner)
	if not one then
		return away(owner, number(its_token), number(lease) or 0, its_mode)
	end
	local ttl, is_wrap = ttl_of(one), has_entry(one, 'w' .. owner) or has_entry(one, 'v' .. owner)
	if not one.token then
		return its_token == '-' and 'alone' or 'away', ttl, ''
	elseif int(one.token) ~= its_token and not is_wrap then
		return nil
	elseif one.state == 'kept' then
		end_hold(one, 'released', nil, nil, by)
		return 'kept', 0, by_of(one)
	elseif not is_wrap then
		-- where several processes hold as one owner, the wrap may take it up after another
		return is_by_hand(one) and 'by hand' or one.since and 'alone' or 'away', ttl, by_of(one)
	end
	ask_to_stop(one)
	return 'asked', ttl, by_of(one)
end

local function stop()
	local lines, answer, is_free = {}, {'stops'}, false
	if list_asked == '' and match(word or '', '^asked ') then
		list_asked = string.sub(word, 7)
	elseif list_asked == '' then
		each_holder(function(one)
			lines[#lines + 1] = not one.token and '- - - ' .. one.id or
				table.concat({int(one.token), column(one.lease), one.mode, one.id}, ' ')
		end)
		list_asked = table.concat(lines, '\n')
		-- sent again, this request is not to ask the next holders
		set_last_word(request, 'asked ' .. list_asked)
	end
	for its_token, lease, its_mode, owner in string.gmatch(list_asked, '(%S+) (%S+) (%S+) ([^\n]*)') do
		local what, ttl, whose = stop_one(owner, its_token, lease, its_mode)
		if what then
			answer[#answer + 1] = {what, ttl, whose, its_token .. ' ' .. lease .. ' ' .. its_mode .. ' ' .. owner}
		end
		is_free = is_free or what == 'kept'
	end
	if is_free then
		pass_on()
	end
	settle()
	return answer
end

if is_usual then
	return give_all_back()
end
make_room()
local refused = begin(id)
if refused then
	return refused
elseif mode == 'force' then
	return force()
elseif mode == 'forget' then
	return forget_run()
elseif mode == 'stop' then
	return stop()
end
hold = find_hold(id)
local given = hold and entry_of(hold, request)
if mode == 'any' then
	given = hold and hold.state == 'held' and match(hold.holds, ',([ah][^,]+)') or nil
end
local left = match(word or '', '^released (%d+)$')
if left and (mode == 'any' or not given) then
	return again and {'released', tonumber(left)} or {'late'} -- this is a copy
elseif not hold then
	return again and not word and has_released(id) and {'released', 0} or not_held()
elseif hold.state == 'kept' and mode ~= 'any' and (again or has_entry(hold, request)) then
	return has_entry(hold, request) and {'kept', ttl_of(hold)} or {'released', 0}
elseif given or not hold.since and not word then
	return give_back(given) or give_all_back()
elseif mode == 'any' and hold.state ~= 'kept' then
	return {'not acquired'}
elseif again and mode ~= 'any' and not word then
	return {'released', hold.count} -- an earlier copy gave it back
end
return not_held()
