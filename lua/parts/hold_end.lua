-- How a hold ends, and who is told. For scripts that end one, and in front of holds.lua.

local function channel(id)
	return CHANNEL .. ':' .. id
end

-- Tells whoever listens, in whatever way; run: call, or note. A cluster sends PUBLISH to all of its nodes: so
-- not when only sharded subscribers are here, but when nobody is.
local function publish(run, name, message)
	local heard = SHARDED and run('SPUBLISH', name, message) or 0
	local plain = heard > 0 and run('PUBSUB', 'NUMSUB', name)
	if heard == 0 or plain and plain[2] > 0 then
		run('PUBLISH', name, message)
	end
end

-- Whoever waits for Redisson's plain lock of this name is in no queue: told when nobody is in ours.
local function tell_outsiders()
	publish(note, CHANNEL, '0')
end

-- Writes the end of the hold that our hash describes into the log, and forgets it. The next grant, or save,
-- does so in our hash. status, cause: how COMMAND ended, if the caller knows. During the rest of a --min-hold
-- our hash knows it: see holds.lua.
local function end_hold(event, time, status, cause)
	local token = int(state.token or 0)
	if state.keep and not status then
		status, cause = string.match(state.holds or '', '^k%S+ (%d*):([%w-]*)')
	end
	record(event, time, state.owner, token, state.by, state.waited, time - (state.since or time),
		status, cause)
	state.ended = token
	state.owner, state.holds, state.taken_up, state.by, state.keep = nil, nil, nil, nil, nil
	state.unsaved_end = true
end
