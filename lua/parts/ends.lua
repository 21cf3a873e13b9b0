-- How a hold ends, and how others are told.

local function channel(id)
	return CHANNEL .. ':' .. id
end

-- Tells all who listen, in whatever way. A cluster sends PUBLISH to all of its nodes: so not when only
-- sharded subscribers are here, but when nobody is. It may fail where a slot moves: no message is needed.
local function publish(name, message)
	local heard = SHARDED and pcall_server('SPUBLISH', name, message) or 0
	local plain = heard ~= 0 and pcall_server('PUBSUB', 'NUMSUB', name)
	if heard == 0 or plain and plain[2] ~= 0 then
		pcall_server('PUBLISH', name, message)
	end
end

-- A hold by its record, or nil. Of one without a token, nobody knows since when it is held.
local function read_hold(id, text)
	local state, token, since, ends, lease, longest, waited, keep, mode, holds, notes, by = match(text or '',
		'^(%l+) (%d+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) ([xs=]%S*) (,%S*) (%S+) (.*)$')
	token, since, lease = number(token), number(since), number(lease)
	return token and (state == 'held' or state == 'kept') and (lease or 0) <= LONGEST_MS and {
		id = id, state = state, token = token > 0 and token or nil, since = token > 0 and since or nil,
		ends = number(ends), lease = lease, longest = number(longest), waited = number(waited),
		keep = number(keep), mode = mode, holds = holds, notes = notes, by = by,
	} or nil
end

-- Who holds, without the process that asks it to stop.
local function by_of(hold)
	return match(hold.by, '^[^\n]*')
end

local function tell_askers(hold)
	for request in string.gmatch(hold.notes ~= '-' and hold.notes or '', '[^,]+') do
		publish(channel(request), '0')
	end
end

-- A hold is over, and key 1 does not know it any more. status, cause: how COMMAND ended, or nil. actor: as in
-- `record`.
local function forget_hold(hold, event, time, status, cause, actor)
	local slot = match(hold.mode, '^=(.+)$')
	holds[hold.id] = false
	call('HDEL', STATE, 'h:' .. hold.id, hold.mode == 'x' and 'holder' or '-')
	if slot and call('HGET', STATE, 's:' .. slot) == hold.id then
		call('HDEL', STATE, 's:' .. slot) -- else another has it by now
	end
	if hold.state == 'kept' then
		status, cause = match(hold.notes, '^(%d*):(.*)$')
		cause = string.gsub(cause or '', '_', ' ')
	else
		tell_askers(hold)
	end
	record(event, time, hold.id, hold.token, by_of(hold), hold.waited,
		hold.since and math.max(0, time - hold.since), status, cause, slot, actor)
end

local function set_free()
	lock.field, lock.value, lock.mode, lock.slots, lock.holder, lock.ttl = nil, nil, nil, nil, nil, nil
end

-- The columns of a record that has only numbers, so many as it has.
local function numbers(text)
	local one, two, three, four = match(text, '^(%S+) (%S+) ?(%S*) ?(%S*)$')
	return number(one), number(two), number(three), number(four)
end

-- Writes a record that `lock` keeps as text, if it is another one now.
local function save(name, ...)
	local text = columns(select('#', ...), ...)
	if text ~= lock[name] then
		lock[name] = text
		note('HSET', STATE, name, text)
	end
end

-- COMMAND ended with 0. After a loss of data, the token says when the hold began.
local function note_success(hold)
	local started, before = math.min(hold.since or now, hold.token or now, now), numbers(lock.ok)
	if hold.mode ~= 'x' and (before or MOST) <= now then
		started = math.max(started, before) -- one that was started later may have ended sooner
	end
	save('ok', started, now)
end
