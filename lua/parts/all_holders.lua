-- For scripts that show every holder, behind holds.lua.

-- Several holders, in the order of their grants. first: only those whose leases end then or later, as a word
-- for ZRANGE with BYSCORE. Returns for each its id, the end of its lease (ms) and its hold, if our hash
-- knows it.
local function holders_from(first)
	local found, fields = {}, {}
	local scores = call('ZRANGE', HOLDERS, first, '+inf', 'BYSCORE', 'LIMIT', 0, MANY, 'WITHSCORES')
	for i = 1, #scores, 2 do
		found[#found + 1] = {id = scores[i], ends = end_of(scores[i + 1])}
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
