-- renew: gives the owner's lock a fresh lease, never a shorter one. A holder whose server lost its data takes
-- the lock up again. May be sent twice.
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
--         {'lost', 'forced' | 'taken' | 'gone', owner, by}  of taken: who holds it

local id, request, kind, mode, is_start = ARGV[2], ARGV[3], ARGV[4], ARGV[10] or 'x', ARGV[11] == '1'
local by, period, strays, late = ARGV[7], ARGV[8] or '', tonumber(ARGV[9]) or 0, {'late'}
local entry, slot = kind .. request, string.match(mode, '^=(.*)$') -- entry: of `holds`

-- include base.lua
-- include ends.lua grant.lua holds.lua recover.lua jobs.lua waiters.lua queue.lua

begin(true)
local token, hold, taken_up = number(ARGV[6]), find_hold(id), 0
local lease = number(ARGV[5]) or hold and (hold.lease or 0) > 0 and hold.lease or 30000
local has_not_begun = request == id and (kind == 'v' or is_start) -- says the wrap that took this hold

local function renewed()
	local ttl = extend(hold, lease)
	if not hold.token and lock.mode == '=' and not lock.is_new then -- see free_slot
		local floor, at = numbers(lock.lost)
		save('lost', floor, at, now + lock_ttl())
	end
	-- a Redisson waiter at the head may be dead: where only its own kind waits, only the holder's scripts see
	-- that
	if list[1] and not marker_of(list[1]) then
		first_waiter()
		if passed_over > 0 then
			pass_on()
		end
	end
	settle()
	-- no process can be asked to stop but the wrap that took this hold
	local asker = hold.state == 'held' and hold.notes ~= '-' and (entry == 'w' .. id or entry == 'v' .. id) and
		match(hold.by, '\n(.*)$')
	return {'renewed', ttl, int(hold.token or lock.token), taken_up, asker or ''}
end

-- COMMAND is about to start, or has started. Going in again starts nothing that counts.
local function count_start()
	local last, _, _, recall = numbers(lock.start)
	local began = is_start and now or math.min(now, token or now) -- the token is the time of the grant
	if kind == 'w' and request == id and (last or 0) < began then
		save('start', began, hold.token, last, recall)
		remember(period)
	end
end

-- Writes into our hash what it forgot about this hold. Others may have had the lock since then: a COMMAND
-- that has not begun gets a newer token than theirs. since: unknown, `now` would say that it began just now.
local function restore()
	token = has_not_begun and math.max(now, token + 1, lock.token + 1) or token
	raise_token(token)
	hold.token, hold.lease, hold.holds, hold.by, hold.mode = token, lease, hold.holds .. entry .. ',', by, mode
	if slot then
		call('HSET', STATE, 's:' .. slot, id)
	end
	lock.holder = lock.field
	save_hold(hold)
	count_start()
	taken_up = 1
end

if hold and hold.state == 'kept' or word == 'given' then
	settle()
	return {'released'}
elseif word and word ~= 'forced' and word ~= 'lost' and not (hold and has_entry(hold, entry)) then
	return {'late'}
elseif hold and kind == '' then
	if lease > STATE_TTL_MS and not (hold.token and is_by_hand(hold)) and ARGV[5] ~= '' then
		return {'not by hand'}
	end
	return renewed()
elseif hold and (has_entry(hold, entry) or kind == 'w' and has_entry(hold, 'v' .. request)) then
	if not has_entry(hold, entry) then
		change_entries(hold, hold.count, 'v' .. request, entry)
		count_start()
	end
	-- our hash may come from an old copy of the data, from before the take-up or before the start. The token
	-- that COMMAND has counts; before it begins, the newer one does
	local is_newer = has_not_begun and token and (hold.token or 0) > token
	if request == id and token and hold.token ~= token and not is_newer then
		hold.token = token
		raise_token(token)
		save_hold(hold)
	end
	return renewed()
elseif hold and token and (not hold.token or hold.token == token) then
	-- another process of this owner took the lock up first; or our hash was lost, and key 1 counts all holds
	if not hold.token then
		restore()
	else
		hold.holds = hold.holds .. entry .. ','
	end
	local known = count_entries(hold)
	change_entries(hold, lock.mode == 'x' and math.max(known, hold.count) or known, entry, entry)
	taken_up = 1
	return renewed()
elseif hold then
	return {'released'}
end

-- Only a loss of data excuses a missing hold. When our hash knew its token, somebody broke the lock or the
-- lease passed.
local known = read_hold(id, my_text) -- as it was before this script
if token and not word and not (known and known.token == token) and can_be_lost(token, lease, mode) and
	fit(mode) then
	note_loss(token, lease)
	enter(call, mode, id, ARGV[12] or '')
	hold = {id = id, state = 'held', mode = mode, holds = ',', notes = '-', count = 1}
	holds[id] = hold
	set_ttl(hold, lease)
	restore()
	pass_on()
	return renewed()
end

-- It is lost. Our hash cannot have known a hold that is younger than the loss of data before which it was
-- granted: then no script has logged its end.
local floor, at = numbers(lock.lost)
local has_room, other = fit(mode), slot and lock.mode == '=' and call('HGET', STATE, 's:' .. slot)
if token and not word and (token > lock.token or floor and at and token > floor and token < at) then
	record('lost', now, id, token, by, nil, nil, nil, nil, slot)
	introduce()
	set_last_word(request, 'lost')
end
settle()
local owner, owner_by = about()
if other and find_hold(other) then
	owner, owner_by = other, by_of(find_hold(other))
end
return {'lost', word == 'forced' and 'forced' or has_room and 'gone' or 'taken', owner, owner_by}
