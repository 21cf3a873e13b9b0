-- The record of a hold that begins now, for ttl ms at first; see hold_record.lua. entry: its first one in
-- `holds`.
local function new_hold(token, ttl, lease, waited, unheard, mode, entry, by)
	local ends = format('%.0f', now + ttl)
	return 'held ' .. token .. ' ' .. stamp .. ' ' .. ends .. ' ' .. lease .. ' ' .. waited .. ' - - ' ..
		unheard .. ' - ' .. mode .. ' ,' .. entry .. ', ' .. by
end
