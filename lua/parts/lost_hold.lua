-- Whether our hash can have lost a hold with this token: it had an older one when the loss was noticed. All
-- holds that were lost with it have such tokens, whichever is taken up first. An exclusive hold is over if
-- anybody has been granted the lock since. When the loss is a lease ago, the lease of each hold that was not
-- taken up since has passed.
local function can_be_lost(token, lease, mode)
	return lock.lost ~= nil and token < lock.lost and token > (lock.floor or 0) and now < lock.lost + lease and
		(mode ~= 'x' or token > (lock.token or 0))
end

-- Whether this record is that of the hold with this token, or of what became of it: it may have been taken up
-- under a newer one.
local function comes_from(record, token)
	return (number(record.token) or 0) >= (token or MOST)
end
