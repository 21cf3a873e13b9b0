-- renew: gives the owner's lock a fresh lease, never a shorter one. A holder whose server lost
-- its data takes the lock up again. May be sent twice.
--
-- ARGV  2 id
--       3 request   of the holding process, or of the renew command
--       4 kind      as for acquire, or '' for the renew command: any hold will do. With w, a hold of kind v
--                   becomes one of kind w, and the start of COMMAND counts, if the process did not go in
--       5 lease     ms, or '': the one that the lock was taken with
--       6 token     that the holder knows, or '': do not take the lock up
--       7 by        as for acquire
--       8 period    as for acquire
--       9 strays    as for acquire
--      10 mode      of the hold: x, s or =SLOT; or nothing: x
--      11 start     '1': a wrap has all of its locks, and is about to start COMMAND; else ''
--      12 want      of a hold of a slot, if it is a count: #N
--
-- Returns {'renewed', ttl ms, token, 1 when taken up again else 0, by}
--                                  token: a new one if the hold is taken up before COMMAND starts
--                                  by: of a process that asks this one to stop, or ''
--         {'not by hand'}          the lease is beyond a day, which only a hold by hand may have
--         {'released'}             the owner holds the lock, but this process's hold was given back
--         {'late'}                 this is a late copy
--         {'spelled', name}        another spelling of this name is in use
--         {'version', theirs, ours}   another version of this protocol
--         {'lost', 'forced' | 'taken' | 'gone', owner, by}

local id, request, kind, lease = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local token, by, period, strays = tonumber(ARGV[6]), ARGV[7], ARGV[8] or '', tonumber(ARGV[9]) or 0
local mode = ARGV[10] or 'x'
local slot, is_start = match(mode, '^=(.*)$'), ARGV[11] == '1'
local has_not_begun = request == id and (kind == 'v' or is_start) -- says the wrap that took this hold

local refusal = denied and may_not_write()
if refusal then
	return refusal
end
local entry = kind .. request -- of `holds`

-- include hold_record.lua

-- The usual case: the owner holds, and nobody waits.
if strays == 0 and kind ~= '' and lease and not is_start and call('LLEN', QUEUE) == 0 and
	call('ZCARD', TIMEOUTS) == 0 and call('HGETALL', LOCK)[1] == id then
	local name, version, holder, record, turn, earlier, ours, started = unpack(call('HMGET', STATE,
		'name', 'v', 'holder', 'h:' .. id, 'turn', 'r:' .. request, 'ours', 'started'))
	local hold = name == LOCK and version == VERSION and ours == '0' and holder == id and
		not (turn or earlier) and read_hold(id, record)
	local taken_with = hold and tonumber(hold.lease) or 0
	if hold and hold.state == 'held' and hold.token == ARGV[6] and hold.mode == 'x' and hold.since ~= '-' and
		hold.keep == '-' and hold.ending == '-' and string.find(hold.holds, ',' .. entry .. ',', 1, true) and
		match(started or '-', '%-$') and lease <= taken_with and call('PTTL', LOCK) <= lease then
		call('PEXPIRE', LOCK, lease)
		hold.ends = format('%.0f', now + lease)
		pcall_server('HSET', STATE, 'h:' .. id, hold_text(hold))
		call('PEXPIRE', STATE, lease + 86400000)
		return {'renewed', lease, hold.token, 0, ''}
	end
end

-- in a function from here on
-- include base.lua new_hold.lua log_event.lua waiter_record.lua more_records.lua lock.lua
-- in a function from here on
-- include publish.lua hold_end.lua holds.lua holds_left.lua capacity.lua changes.lua
-- include patience.lua queue_head.lua lost_hold.lua pass_on.lua queue_order.lua

local refused = begin(id, request, strays, 'late')
if refused then
	return refused
end
local taken_with = lock.owner == id and number(lock.hold and lock.hold.lease) or MOST
lease = lease or taken_with < LONGEST_MS and taken_with or OUR_SCORE_MS

-- A Redisson waiter at the head may be dead. Where only its own kind waits, no script but the holder's
-- sees that: it takes note, so that the release need not wait 5 s, after which no script comes by.
local function look_at_redisson()
	if queue_length() <= lock.ours then
		return
	end
	check_queue()
	local head = call('LINDEX', QUEUE, 0)
	if head and not known(head) then
		first_waiter()
		if passed_over > 0 then
			pass_on()
		end
	end
end

-- If the caller is the wrap that took this hold, returns the description of the process that asks it to stop.
-- Otherwise, or if nobody asks, returns ''. No other process can be asked.
local function asked_by()
	local by
	if (entry == 'w' .. id or entry == 'v' .. id) and lock.hold and lock.hold.ending == 'asked' then
		by = select(2, read_asked(call('HGET', STATE, 'a:' .. id)))
	end
	return by or ''
end

local function renewed(taken_up)
	if queue_length() > lock.ours then
		note_patience() -- it counts from the end that the lease had
	end
	local ttl = extend(lease)
	look_at_redisson()
	settle()
	return {'renewed', ttl, lock.hold and lock.hold.token or int(lock.token or 0), taken_up, asked_by()}
end

-- COMMAND is about to start, or has started. Going in again starts nothing that counts.
local function count_start()
	local began = is_start and now or math.min(now, token or now) -- the token is the time of the grant
	if kind == 'w' and request == id and (lock.started or 0) < began then
		set_started(began, lock.started, lock.recall)
		remember(period)
	end
end

-- Writes into our hash what it forgot about this hold. Others may have had the lock since then: a COMMAND
-- that has not begun gets a newer token than theirs.
-- taken: see read_hold; counted: the lock's own count has the holds of this owner's other processes in it.
local function restore(taken)
	if has_not_begun then
		token = math.max(now, lock.lost or 0, token + 1, (lock.token or 0) + 1)
	end
	call('HDEL', STATE, 'h:' .. id) -- it may say how the hold seemed to end
	introduce(call)
	lock.token = math.max(lock.token or 0, token)
	lock.hold = read_hold(id, new_hold(int(token), lease, lease, '-', '-', mode, entry, by))
	lock.hold.taken = taken
	call('HSET', STATE, 'token', int(lock.token))
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	save_hold()
	count_start()
end

local function take_up()
	enter(call, mode, id, ARGV[12] or '')
	lock.owner, lock.count = id, 1
	set_ttl(id, lease)
	restore('taken')
	pass_on()
	return renewed(1)
end

-- Our hash may come from an old copy of the data, from before the take-up or before the start. The token that
-- COMMAND has counts; before it begins, the newer one does.
local function mend_hold()
	local is_early = kind == 'w' and has_hold('v' .. request) and (is_start or not has_hold(entry))
	local differs = request == id and token and lock.hold and lock.hold.token ~= int(token) and
		not (has_not_begun and comes_from(lock.hold, token))
	if is_early or differs then
		call('HDEL', STATE, 'h:' .. id) -- after it a server out of memory takes the rest
	end
	if is_early then
		end_entry('v' .. request, entry)
		count_start()
	end
	if differs then
		lock.hold.token, lock.token = int(token), math.max(lock.token or 0, token)
		lock.hold.taken = lock.hold.taken == '-' and 'taken' or lock.hold.taken
		call('HSET', STATE, 'token', int(lock.token))
		save_hold()
	end
end

-- Another process of this owner took the lock up first: its hold is not ours.
local function join_hold()
	if not is_known() then
		restore('counted')
	else
		local is_counted = lock.hold.taken == 'counted'
		add_hold(entry)
		if not is_counted then
			set_count(lock.count + 1)
		end
	end
	return renewed(1)
end

if lock.owner == id and is_kept() then
	settle()
	return {'released'}
end
if lock.owner == id and kind == '' and (tonumber(ARGV[5]) or 0) > STATE_TTL_MS and
	not (lock.hold and is_by_hand(lock.hold)) then
	return {'not by hand'}
end
if lock.owner == id then
	local answer = lock.request and lock.request.answer
	if has_hold(entry) or kind == 'w' and has_hold('v' .. request) then
		mend_hold()
		return renewed(0)
	elseif kind == '' then
		return renewed(0)
	elseif token and answer ~= 'given' and answer ~= 'released' and
		(not is_known() or lock.hold.taken ~= '-' and lock.hold.token == int(token)) then
		return join_hold()
	end
	return {'released'}
end

-- Our hash may know how this hold ended.
local ended = token and lock.mine and (comes_from(lock.mine, token) or lock.mine.token == '0') and
	lock.mine.state or nil

-- Only a loss of data excuses a missing hold. When our hash knows how it ended, or knew its token, somebody
-- broke the lock or the lease passed.
if token then
	notice_loss(token)
end
if token and not ended and lock.run then
	check_run(true)
end
if token and not ended and not can_be_lost(token, lease, mode) and token > (lock.token or 0) then
	introduce(note)
	-- where the clock is behind, holds that were lost with this one may have larger tokens
	lock.lost = now >= token and math.max(now, token + 1) or token + lease
	lock.run, lock.up, lock.floor = run_id(), now, lock.token or 0
	save_run(note)
end
if token and not ended and can_be_lost(token, lease, mode) and fit(mode) then
	return take_up()
end

if token and not ended then
	record('lost', stamp, id, int(token), by, nil, nil, nil, nil, slot)
	introduce(note)
	-- remembered until the lease would have ended: the holder may ask again until then
	note('HSET', STATE, 'h:' .. id,
		'lost ' .. int(token) .. ' - ' .. int(now + lease) .. ' - - - - - - ' .. mode .. ' , ' .. by)
	lock.has_marks = true
end
settle()
if fit(mode) then
	return {'lost', ended == 'forced' and 'forced' or 'gone', '', ''}
end
local owner, owner_by = about()
local other = slot and lock.field == SLOT_HOLDS and call('HGET', STATE, 's:' .. slot)
if other and select_hold(other) then
	owner, owner_by = other, lock.hold and lock.hold.by or ''
end
return {'lost', ended == 'forced' and 'forced' or 'taken', owner, owner_by}
