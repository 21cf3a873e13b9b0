-- All holds at once, of several holders or of one. Behind holds.lua.

-- The holds of several holders whose end nobody has noticed, if key 1 knows nothing of them: it was deleted,
-- or all leases have ended. There may be more than one script can look for.
local function holds_left()
	local left, cursor, pages = {}, '0', 0
	repeat
		local page = call('HSCAN', STATE, cursor, 'MATCH', 'h:*', 'COUNT', 10 * SHORT_QUEUE)
		cursor, pages = page[1], pages + 1
		for i = 1, #page[2], 2 do
			local hold = read_hold(string.sub(page[2][i], 3), page[2][i + 1])
			if hold and hold.mode ~= 'x' and (hold.state == 'held' or hold.state == 'kept') then
				left[#left + 1] = hold
			end
		end
	until cursor == '0' or pages == 5
	return left
end

-- Several holders, in the order of their grants. first: only those whose leases end then or later, as a word
-- for ZRANGE with BYSCORE. Returns for each its id, the end of its lease (ms) and its hold, if our hash knows it.
local function holders_from(first)
	local found, fields = {}, {}
	local scores = call('ZRANGE', HOLDERS, first, '+inf', 'BYSCORE', 'LIMIT', 0, MANY, 'WITHSCORES')
	for i = 1, #scores, 2 do
		found[#found + 1] = {id = scores[i], ends = tonumber(scores[i + 1])}
		fields[#fields + 1] = 'h:' .. scores[i]
	end
	for i, text in ipairs(#fields > 0 and call('HMGET', STATE, unpack(fields)) or {}) do
		found[i].hold = read_hold(found[i].id, text or '')
	end
	table.sort(found, function(a, b)
		local one, other = a.hold and tonumber(a.hold.token) or MOST, b.hold and tonumber(b.hold.token) or MOST
		return one < other or one == other and a.id < b.id
	end)
	return found
end
