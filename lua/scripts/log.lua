-- log: what happened to the lock lately, and who holds it and waits now. Changes nothing.
--
-- ARGV  2 after   id of an entry: only what came after it; or ''
--       3 since   only what was written so many ms ago or later; or '@' and the ms since the epoch; or ''
--       4 now     '1': also who holds and waits, else '0'
--
-- Returns {'log', now ms, entries, holder or '', hold, waiters, holds}
--           entries  {{id, {field, value...}}...}, newest first
--           hold     what our hash says of the last one: {owner, token, since, until, waited, by}, or {}
--           waiters  who is present, first is next: {{since ms or '', by}...}
--           holds    those whose end nobody has noticed: {{owner, token, since, until, waited, by, mode,
--                    slot or ''}...}; mode as for `view`
--           of several holders: `holder` and `hold` are those of the one whose lease ends first
--         {'spelled', name}  another spelling of this name is in use

-- include base.lua

local after, since, wants_now = ARGV[2], ARGV[3], ARGV[4] == '1'
local MOST_ENTRIES = 2000 -- twice its length; more are no log of ours

local refusal = lacking and lacking('log', 'XREVRANGE2')
if refusal then
	return refusal
end

-- include holds.lua jobs.lua waiters.lua

-- Not by read_lock: the history is told also when somebody has put something else in the lock's place.
local name = call('HGET', STATE, 'name')
if name and name ~= LOCK then
	return {'spelled', name}
end

local function entries_from(first)
	return call('XREVRANGE', LOG, '+', first, 'COUNT', MOST_ENTRIES)
end

-- When `after` is gone, the log may have begun anew, with earlier ids than it: then it is all of it that the
-- caller has to look through.
local function entries_after()
	local entries = entries_from(after)
	if entries[#entries] and entries[#entries][1] == after then
		entries[#entries] = nil
		return entries
	end
	return entries_from('-')
end

local function beginning()
	local time, ago = tonumber(match(since, '^@(%d+)$')), tonumber(since)
	return time and int(time) or ago and int(math.max(0, now - ago)) or '-'
end

local function present_waiters()
	local found = {}
	for _, waiter in ipairs(everybody(MANY)) do
		if waiter.is_here then
			found[#found + 1] = {waiter.ticket and int(waits_since(waiter.id, waiter.ticket)) or '',
				waiter.record and waiter.record.by or ''}
		end
	end
	return found
end

local entries = after ~= '' and entries_after() or entries_from(beginning())
if not wants_now then
	return {'log', stamp, entries, '', {}, {}, {}}
end
read_lock('')
if lock.refusal and lock.refusal.err then
	return lock.refusal
end

local function row_of(hold)
	return {hold.id, int(hold.token), int(hold.since), int(hold.ends or now), maybe(hold.waited) or '',
		by_of(hold), string.sub(hold.mode, 1, 1), match(hold.mode, '^=(.*)$') or ''}
end

local holders, rows = {}, {}
if MODES[lock.field] then
	for _, owner in ipairs(call('ZRANGE', HOLDERS, 0, MANY - 1)) do
		holders[#holders + 1] = read_hold(owner, call('HGET', STATE, 'h:' .. owner))
	end
	table.sort(holders, function(one, other)
		return one.token < other.token or one.token == other.token and one.id < other.id
	end)
elseif MODES[lock.holder] then
	holders = holds_left()
elseif lock.holder then
	holders[1] = read_hold(lock.holder, call('HGET', STATE, 'h:' .. lock.holder))
end
for _, hold in ipairs(holders) do
	if hold.since then
		rows[#rows + 1] = row_of(hold)
	end
end
local last = lock.field and first_holder()
local holder = last and last.id or ''
if not MODES[lock.field] then
	last = holders[1]
end
return {'log', stamp, entries, holder, last and last.since and row_of(last) or {}, present_waiters(), rows}
