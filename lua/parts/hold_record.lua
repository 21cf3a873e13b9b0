-- The record of a hold in our hash. A record is its columns with a blank between them; `-` stands in a column
-- that says nothing, and only the last one may contain blanks. A table that was read from a record has a text
-- for each column. waiter_record.lua and more_records.lua have the others.

-- A hold, in the field `h:OWNER`:
--   state    held; kept: all was given back, and the lock stays held for the rest of a --min-hold;
--            or how the hold ended, if somebody may still ask for it: released; expired; forced, by release
--            --force; gone, its key with it; lost: our hash did not know it any more
--   token    of the grant
--   since    ms: when the hold began; `-`: our hash knows nothing of it but `token` and `holds`
--   ends     ms: when its lease ends, as far as our hash knows
--   lease    ms: that it was taken with; with /MS behind it if a longer one was asked for since
--   waited   for how many ms the owner had waited
--   keep     until when the lock stays held whatever is given back (--min-hold)
--   taken    taken: the hold was taken up after a loss of data; counted: so it was, and key 1 with its hold
--            count had survived
--   unheard  ticket of an owner that was handed the lock and may not have heard the ticket
--   ending   of a kept hold: how its COMMAND ended, "STATUS:CAUSE", with _ for a blank; of a held one: asked,
--            if somebody asks it to stop, see `a:OWNER` in more_records.lua
--   mode     x exclusive, s shared, =SLOT
--   holds    ",wREQUEST,aREQUEST,": w taken by wrap; v by a wrap of several locks that does not have all of
--            them yet; a by acquire --while-pid; h by hand, that is by acquire without --while-pid; of a kept
--            hold: the request that gave back the last one
--   by       host, pid, user, command and perhaps a reason, separated by tabs
--
-- Returns nil for a text of another form.
local function read_hold(id, text)
	local state, token, since, ends, lease, longest, waited, keep, taken, unheard, ending, mode, holds, by =
		match(text or '', '^(%l+) (%d+) ([%d-]%d*) ([%d-]%d*) ([%d-]%d*)(/?%d*) ([%d-]%d*) ([%d-]%d*) (%S+) ' ..
		'([%d-]%d*) (%S+) (%S+) (%S+) (.*)$')
	return state and #token < 17 and (mode == 'x' or mode == 's' or match(mode, '^=.')) and {
		id = id, state = state, token = token, since = since, ends = ends, lease = lease, longest = longest,
		waited = waited, keep = keep, taken = taken, unheard = unheard, ending = ending, mode = mode,
		holds = holds, by = by,
	} or nil
end

local function hold_text(hold)
	return table.concat({hold.state, hold.token, hold.since, hold.ends, hold.lease .. hold.longest, hold.waited,
		hold.keep, hold.taken, hold.unheard, hold.ending, hold.mode, hold.holds, hold.by}, ' ')
end
