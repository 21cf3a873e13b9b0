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

local after, since, wants_now = ARGV[2], ARGV[3], ARGV[4] == '1'
local MOST_ENTRIES = 2 * LOG_LENGTH -- more are no log of ours
local MOST_WAITERS = 1000

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua log_event.lua more_records.lua lock.lua
-- include publish.lua hold_end.lua holds.lua holds_left.lua all_holders.lua

local refusal = denied and denied(LOG, 'XREVRANGE2')
if refusal then
	return refusal
end
-- Not by read_lock: the history is told also when somebody has put something else in the lock's place.
local name = call('HGET', STATE, 'name')
if name and name ~= LOCK then
	return {'spelled', name}
end

local function entries_from(first)
	return call('XREVRANGE', LOG, '+', first, 'COUNT', MOST_ENTRIES)
end

-- When `after` is gone, the log may have begun anew, with earlier ids than it: then it is all of it that
-- the caller has to look through.
local function entries_after()
	local entries = entries_from(after)
	if entries[#entries] and entries[#entries][1] == after then
		entries[#entries] = nil
		return entries
	end
	return entries_from('-')
end

local function beginning()
	local time, ago = tonumber(string.match(since, '^@(%d+)$')), tonumber(since)
	return time and int(time) or ago and int(math.max(0, now - ago)) or '-'
end

local function text(column)
	return number(column) and column or ''
end

local function present_waiters()
	local found = {}
	for _, id in ipairs(call('LRANGE', QUEUE, 0, MOST_WAITERS - 1)) do
		if present(id) then
			local waiter = known(id)
			found[#found + 1] = {waiter and int(waits_since(id, waiter)) or '', waiter and waiter.by or ''}
		end
	end
	return found
end

local entries
if after ~= '' then
	entries = entries_after()
else
	entries = entries_from(beginning())
end
if not wants_now then
	return {'log', stamp, entries, '', {}, {}, {}}
end
read_lock('', '')
if lock.refusal and lock.refusal.err then
	return lock.refusal
end

local function row_of(hold)
	return {hold.id, hold.token, hold.since, int(number(hold.ends) or now), text(hold.waited), hold.by,
		string.sub(hold.mode, 1, 1), match(hold.mode, '^=(.*)$') or ''}
end

local holds = {}
if MODES[lock.field] then
	for i, holder in ipairs(holders_from('-inf')) do
		holds[i] = holder.hold
	end
elseif lock.were_many then
	holds = holds_left()
else
	holds[1] = lock.hold
end
local rows = {}
for _, hold in pairs(holds) do
	if number(hold.since) then
		rows[#rows + 1] = row_of(hold)
	end
end
local holder, _, last = first_holder()
if not MODES[lock.field] then
	last = lock.hold
end
return {'log', stamp, entries, holder or '', last and number(last.since) and row_of(last) or {},
	present_waiters(), rows}
