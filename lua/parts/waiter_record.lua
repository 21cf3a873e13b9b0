-- The record of a waiter in our hash; see hold_record.lua for the form.

-- A waiter, in the field `w:ID`:
--   state    waits; new: it waits, and may not have heard its ticket; dropped: it was new, and seemed dead;
--            removed: somebody took it out of the queue; superseded: a newer one has its place
--   ticket   µs since the epoch: its right to a place (a number here)
--   seen     ms: its last sign of life; of one that waits no more: when it was dropped, removed or superseded
--            (a number here)
--   lease    that it wants, ms
--   secret   of its last question; `-`: the lock cannot be handed to it
--   kind     w for wrap, a for acquire
--   period   of its --once-per in ms
--   want     x: the lock alone; s: a shared hold; #N: one of the slots 1 to N; =A,B: one of these slots
--   by       as of a hold; of one that was superseded: that of the newer one
local function read_waiter(text)
	local state, ticket, seen, lease, secret, kind, period, want, by = match(text or '',
		'^(%l+) (%d+) (%d+) ([%d-]%d*) (%S+) (%l) ([%d-]%d*) (%S+) (.*)$')
	return state and #ticket < 17 and #seen < 17 and {
		state = state, ticket = tonumber(ticket), seen = tonumber(seen), lease = lease, secret = secret,
		kind = kind, period = period, want = want, by = by,
	} or nil
end
