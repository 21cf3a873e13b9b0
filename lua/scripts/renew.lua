-- renew: gives the owner's lock a fresh lease, never a shorter one. A holder whose server lost
-- its data takes the lock up again. May be sent twice.
--
-- ARGV  2 id
--       3 request   of the holding process, or of the renew command
--       4 kind      'w' for wrap, 'a' for acquire, or '' for the renew command: any hold will do
--       5 lease     ms, or '': the one that the lock was taken with
--       6 token     of the holder, or '': do not take the lock up
--       7 by        as for acquire
--       8 period    as for acquire
--       9 strays    as for acquire
--
-- Returns {'renewed', ttl ms, token, 1 when taken up again else 0}
--         {'released'}             the owner holds the lock, but this process's hold was given back
--         {'late'}                 this is a late copy
--         {'spelled', name}        another spelling of this name is in use
--         {'version', theirs, ours}   another version of this protocol
--         {'lost', 'forced' | 'taken' | 'gone', owner, by}

local id, request, kind, lease = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local token, by, period, strays = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]) or 0

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
lease = lease or state.lease or OUR_SCORE_MS

local function extend()
	local ttl = call('PTTL', LOCK)
	if ttl < lease then
		call('PEXPIRE', LOCK, lease)
		ttl = lease
	end
	note('HSET', STATE, 'until', now + ttl)
	return ttl
end

-- The usual case: the owner holds, and nobody waits.
if owner == id and state.owner == id and state.empty and not state.turn and not state.marked and
	kind ~= '' and state.holds and string.find(state.holds, kind .. request, 1, true) then
	local ttl = extend()
	touch()
	return {'renewed', ttl, int(state.token or 0), 0}
end

-- in a function from here on
-- include hold_end.lua
-- include holds.lua
-- include patience.lua
-- include queue_head.lua
-- include queue_order.lua

-- A Redisson waiter at the head may be dead. Where only its own kind waits, no script but the holder's
-- sees that: it takes note, so that the release need not wait 5 s, after which no script comes by.
local function look_at_redisson(ttl)
	if queue_length() <= state.ours then
		return
	end
	check_queue()
	local head = call('LINDEX', QUEUE, 0)
	if head and not known(head) then
		first_waiter(false)
		if passed_over > 0 then
			announce(ttl)
		end
	end
end

local function renewed(taken_up)
	local ttl = extend()
	look_at_redisson(ttl)
	settle()
	return {'renewed', ttl, int(state.token or 0), taken_up}
end

-- Writes into our hash what it forgot about this hold.
-- counted: whether the lock's own count survived, with the holds of this owner's other processes in it.
local function restore(counted)
	state.token, state.holds, state.owner = token, nil, id
	forget_hold() -- first: once something was deleted, a server out of memory takes the rest, too
	introduce(call)
	call('HSET', STATE, 'token', token, 'owner', id, 'since', now,
		'lease', lease, 'by', by, 'taken_up', (counted and 'counted ' or '') .. int(token))
	add_hold(kind .. request)
	local granted = math.min(now, token) -- the token is the time of the grant
	if kind == 'w' and request == id and (state.started or 0) < granted then
		call('HSET', STATE, 'started', granted, 'before', state.started or '')
		state.started = granted
		if period then
			remember(period)
		end
	end
end

local function take_up()
	call('HSET', LOCK, id, 1)
	call('PEXPIRE', LOCK, lease)
	restore(false)
	announce(lease)
	return renewed(1)
end

-- Another process of this owner took the lock up first: its hold is not ours.
local function join_hold()
	if not state.owner then
		restore(true)
	else
		add_hold(kind .. request)
		if state.taken_up == int(token) then
			call('HSET', LOCK, id, count + 1)
		end
	end
	return renewed(1)
end

notice_end(owner)

if owner == id and is_kept() then
	settle()
	return {'released'}
end
if owner == id then
	if kind == '' or has_hold(kind .. request) then
		return renewed(0)
	elseif token and not has_hold('g' .. request) and not has_hold('d' .. request) and
		(not state.owner or state.taken_up and string.match(state.taken_up, '%d+$') == int(token)) then
		return join_hold()
	end
	return {'released'}
end

-- Only a loss of data excuses a missing lock: when our hash still names the token, or a
-- newer one, somebody broke the lock or the lease passed.
if token then
	notice_loss(token)
end
if not owner and token and (not state.token or state.token < token) then
	return take_up()
end

if token and state.ended ~= int(token) then
	record('lost', now, id, token, by)
	introduce(note)
	note('HSET', STATE, 'ended', token)
end
settle()
if token and state.forced == int(token) then
	return {'lost', 'forced', owner or '', state.by or ''}
end
return {'lost', owner and 'taken' or 'gone', owner or '', state.by or ''}
