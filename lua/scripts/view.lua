-- view: the place in the queue and the holder, for a waiter on a terminal. Changes nothing.
--
-- ARGV  2 id      of the waiter
--       3 known   token of the hold whose usual length the caller has been told, or ''
--
-- Returns {'view', place or 0, waiters, owner or '', by, held, token or '', usual, mode, holders, next,
--          by hand}
--           of several holders: owner, by, held and token of the one whose lease ends first; of one that has
--           given its hold back only if the next ones have, too
--           held   ms, or -1; below that: nobody holds the lock, which --min-hold of `by` keeps until -held
--                  (ms since the epoch)
--           usual  of holds that were given back lately: {how many of the holder's user and command, the
--                  median of their lengths in ms, how many of all, their median}; {} when it is known
--           mode   x: one holds the lock, alone; s: shared holds; =: holds of slots; =N: of N counted ones;
--                  '': it is free
--           holders   how many there are; 0 when it is free
--           next   in how many ms the lease of a holder ends, or -1
--           by hand   '1' if that holder took the lock by hand, and it is held, else '0'
--         {'spelled', name}  another spelling of this name is in use

local id, known_token = ARGV[2], ARGV[3]
local PLACES = 1000 -- are told; behind them one is far away
local ENTRIES = 150 -- are looked at
local SAMPLES = 20  -- are enough

-- in a function from here on
-- include base.lua hold_record.lua waiter_record.lua log_event.lua more_records.lua lock.lua
-- include publish.lua hold_end.lua holds.lua

local refusal = denied and denied(LOG, 'XREVRANGE2')
if refusal then
	return refusal
end
read_lock('', '')
if lock.refusal and lock.refusal.err then
	return lock.refusal
end
if lock.spelled then
	return {'spelled', lock.spelled}
end

-- Only present waiters count; behind the first 200 each is taken for present. A place behind thousands is of
-- no use, and to fetch the ids of ten thousand takes 3 ms.
local place, waiting = 0, 0
for i, waiter in ipairs(call('LRANGE', QUEUE, 0, PLACES - 1)) do
	if i > LOOK_BEHIND or waiter == id or present(waiter) then
		waiting = waiting + 1
		if waiter == id then
			place = waiting
		end
	end
end
waiting = waiting + math.max(0, call('LLEN', QUEUE) - PLACES)

-- User and command, from wherever they run and for whatever reason.
local function job(by)
	return string.match(by, '^[^\t]*\t[^\t]*\t([^\t]*\t[^\t]*)') or by
end

local function add(samples, held)
	if #samples < SAMPLES then
		samples[#samples + 1] = held
	end
end

local function median(samples)
	table.sort(samples)
	return samples[math.ceil(#samples / 2)] or 0
end

local function usual(by)
	local of_job, of_all = {}, {}
	for _, entry in ipairs(call('XREVRANGE', LOG, '+', '-', 'COUNT', ENTRIES)) do
		local fields = {}
		for i = 1, #entry[2] - 1, 2 do
			fields[entry[2][i]] = entry[2][i + 1]
		end
		local held = fields.event == 'released' and number(fields.held)
		if held then
			add(of_all, held)
			if job(fields.by or '') == job(by) then
				add(of_job, held)
			end
		end
	end
	return {#of_job, median(of_job), #of_all, median(of_all)}
end

local _, _, hold = first_holder(true)
local token = hold and hold.token or ''
local owner, by, held, mode, holders, next_end, by_hand = about()
return {'view', place, waiting, owner, by, held, token,
	token ~= '' and token ~= known_token and usual(by) or {}, mode, holders, next_end, by_hand}
