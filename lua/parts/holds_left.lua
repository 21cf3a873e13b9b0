-- Finds the holds in our hash after key 1 has gone with several holders in it. Behind holds.lua.

-- Returns the records of shared holds and holds of slots, the one that ended first in front. The caller knows
-- that all of them are over: key 1 was deleted, or all leases have ended. It may miss some: one script looks
-- through about a thousand fields.
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
	table.sort(left, function(one, other)
		return (number(one.ends) or 0) < (number(other.ends) or 0)
	end)
	return left
end
