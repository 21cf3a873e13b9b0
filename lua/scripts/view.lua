-- view: what somebody who waits on a terminal wants to know. Changes nothing.
--
-- ARGV  2 id      of the waiter
--       3 known   token of the hold whose usual length the caller has been told, or ''
--
-- Returns {'view', place or 0, waiters, owner or '', by, held ms or -1, token or '', usual}
--           usual  of holds that were given back lately: {how many of the holder's user and command, the
--                  median of their lengths in ms, how many of whomever, their median}; {} when it is known
--         {'spelled', name}  another spelling of this name is in use

local id, known_token = ARGV[2], ARGV[3]
local PLACES = 1000 -- are told; behind them one is far away
local ENTRIES = 150 -- are looked at
local SAMPLES = 20  -- are enough

-- include hold_end.lua
-- include holds.lua

local refusal = denied and denied(LOG, 'XREVRANGE2')
if refusal then
	return refusal
end
local owner = read_keys()
if state.spelled then
	return {'spelled', state.spelled}
end

-- Who is present counts; whoever stands far behind in a long queue is taken to be. Nobody needs to know a
-- place behind thousands, and to fetch the ids of ten thousand takes 3 ms.
local place, waiters = 0, 0
for i, waiter in ipairs(call('LRANGE', QUEUE, 0, PLACES - 1)) do
	if i > LOOK_BEHIND or waiter == id or present(waiter) then
		waiters = waiters + 1
		if waiter == id then
			place = waiters
		end
	end
end
waiters = waiters + math.max(0, call('LLEN', QUEUE) - PLACES)

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

local holder, by, held = about(owner)
local token = owner and state.owner == owner and int(state.token or 0) or ''
return {'view', place, waiters, holder, by, held, token, token ~= '' and token ~= known_token and usual(by) or {}}
