-- Messages: for scripts that tell somebody something.

local function channel(id)
	return CHANNEL .. ':' .. id
end

-- Tells all who listen, in whatever way; run: call, or pcall_server. A cluster sends PUBLISH to all of its
-- nodes: so not when only sharded subscribers are here, but when nobody is.
local function publish(run, name, message)
	local heard = SHARDED and run('SPUBLISH', name, message) or 0
	local plain = heard ~= 0 and run('PUBSUB', 'NUMSUB', name)
	if heard == 0 or plain and plain[2] ~= 0 then
		run('PUBLISH', name, message)
	end
end

-- A client that waits for Redisson's plain lock of this name is in no queue: it is told when nobody is in
-- ours.
local function tell_outsiders()
	publish(pcall_server, CHANNEL, '0')
end
