-- How a hold ends. For scripts that end one, and in front of holds.lua.

-- No process that can stop has this hold any more: tells all who have asked it to stop to look again.
local function end_asking(hold)
	if hold.ending ~= 'asked' then
		return
	end
	local requests = read_asked(call('HGET', STATE, 'a:' .. hold.id))
	for request in string.gmatch(requests or '', '[^,]+') do
		publish(pcall_server, channel(request), '0')
	end
	call('HDEL', STATE, 'a:' .. hold.id)
	hold.ending = '-'
end

-- Writes the end of a hold that our hash describes into the log, and forgets the hold. status, cause: how
-- COMMAND ended, if the caller knows. state: somebody may still ask for this hold, and is to find this in its
-- record. actor: see log_event. A hold of which our hash knows too little is just forgotten. Those who have
-- asked it to stop are told.
local function end_hold(hold, event, time, status, cause, state, actor)
	local slot = match(hold.mode, '^=(.*)$')
	end_asking(hold)
	if hold.mode == 'x' then
		call('HDEL', STATE, 'holder', 'h:' .. hold.id)
	else
		call('HDEL', STATE, 'h:' .. hold.id)
	end
	if slot and call('HGET', STATE, 's:' .. slot) == hold.id then
		call('HDEL', STATE, 's:' .. slot) -- else another has it by now
	end
	if lock.hold and lock.hold.id == hold.id then
		lock.hold = nil
	end
	if hold.since == '-' then
		return
	end
	if hold.state == 'kept' and not status then
		status, cause = match(hold.ending, '^(%d*):([%w_-]*)$')
		cause = cause and string.gsub(cause, '_', ' ')
	end
	if state then
		hold.state = state
		note('HSET', STATE, 'h:' .. hold.id, hold_text(hold))
		lock.has_marks = true
	end
	record(event, int(time), hold.id, hold.token, hold.by, hold.waited ~= '-' and hold.waited,
		int(math.max(0, time - (number(hold.since) or time))), status, cause, slot, actor)
end
