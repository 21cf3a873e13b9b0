-- The holder and the waiters, looked at closely: for scripts that are beyond their usual case.

-- Whether the lock is held for the rest of a --min-hold only: all holds were given back.
local function is_kept()
	return lock.hold ~= nil and lock.hold.state == 'kept'
end

-- Whether the present hold is that of the owner of key 1, and our hash knows more of it than its token.
local function is_known()
	return lock.hold ~= nil and lock.hold.id == lock.owner and number(lock.hold.since) ~= nil
end

-- entry: as in `holds`
local function has_hold(entry)
	return lock.hold ~= nil and string.find(lock.hold.holds, ',' .. entry .. ',', 1, true) ~= nil
end

-- The entry of this request, or nil.
local function entry_of(request)
	for kind in string.gmatch('wvah', '.') do
		if has_hold(kind .. request) then
			return kind .. request
		end
	end
end

-- Whether a hold was taken by hand, and no process of ours looks after it.
local function is_by_hand(hold)
	return hold.state == 'held' and match(hold.holds, '^,h') and not match(hold.holds, ',[^h]')
end

-- The holder that people see first: the only one, or of several the one whose lease ends first; with `living`
-- one that has given its hold back only if the next ones have, too. Returns its id and when the first lease
-- ends (ms), or nil; and its hold, if our hash knows more of it than its token.
local function first_holder(living)
	if not MODES[lock.field] then
		local ttl = lock.owner and call('PTTL', LOCK) or -1
		return lock.owner, ttl >= 0 and now + ttl or nil, is_known() and lock.hold or nil
	end
	local found = call('ZRANGE', HOLDERS, '(' .. stamp, '+inf', 'BYSCORE', 'LIMIT', 0, 20, 'WITHSCORES')
	local id, hold
	for i = 1, #found, 2 do
		local other = read_hold(found[i], call('HGET', STATE, 'h:' .. found[i]))
		local is_over = living and other and other.state == 'kept'
		if i == 1 or not is_over then
			id, hold = found[i], other
		end
		if not is_over then
			break
		end
	end
	return id, end_of(found[2]), hold and number(hold.since) and hold or nil
end

-- The first holder, for people. Returns its owner id, its description, and for how many ms it has held the
-- lock; '', '' or -1 for what is unknown, and if the lock is free. Of a kept hold, which nobody holds: who
-- held it, and in place of the time a negative number, until when (ms since the epoch) it is kept. Then how
-- the lock is held: x, s, =, =N of N counted slots, or '' if it is free; the number of holders; in how many
-- ms the lease of the first ends, -1 if nobody knows; and '1' if the first holder took the lock by hand, else
-- '0'.
local function about()
	local owner, ends, hold = first_holder(true)
	local held = hold and math.max(0, now - number(hold.since)) or -1
	if hold and hold.state == 'kept' then
		held = -(number(hold.ends) or 1)
	end
	local holders = lock.owner and 1 or 0
	if MODES[lock.field] then -- a hold whose lease has ended is none, though no script has noticed it
		holders = call('ZCARD', HOLDERS) - #call('ZRANGE', HOLDERS, '-inf', stamp, 'BYSCORE')
	end
	return owner or '', hold and hold.by or '', held, (lock.mode or '') .. (lock.slots or ''), holders,
		ends and ends - now or -1, hold and is_by_hand(hold) and '1' or '0'
end

-- Whether a waiter is subscribed to its channel, plainly or sharded. tell() uses the way that was found:
-- nobody else listens there.
local ways = {}
local function present(id)
	local name = channel(id)
	ways[id] = call('PUBSUB', 'NUMSUB', name)[2] > 0 and 'PUBLISH' or
		SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] > 0 and 'SPUBLISH' or nil
	return ways[id] ~= nil
end

-- The waiters that this script has looked up: the record, or its text; false: no waiter of ours.
local waiters = {}

local function learn(id, text)
	waiters[id] = text and (match(text, '^waits ') or match(text, '^new ')) and text or false
end

-- The record of a waiter of ours, or nil: Redisson's have none.
local function known(id)
	if waiters[id] == nil then
		learn(id, call('HGET', STATE, 'w:' .. id))
	end
	if type(waiters[id]) == 'string' then
		waiters[id] = read_waiter(waiters[id]) or false
	end
	return waiters[id] or nil
end

-- Since when a waiter waits, ms. With --supersede it may have the ticket of the one before.
local function waits_since(id, waiter)
	return lock.newest == id and lock.newest_since or math.floor(waiter.ticket / 1000)
end

-- For how many ms it has waited.
local function waited_by(id, waiter)
	return math.max(0, now - waits_since(id, waiter))
end

-- Writes the record of the present hold.
local function save_hold()
	local hold = lock.hold
	local holder = hold.mode == 'x' and hold.id or hold.mode == 's' and SHARED_HOLDS or SLOT_HOLDS
	call('HSET', STATE, 'holder', holder, 'h:' .. hold.id, hold_text(hold))
end

-- A hold that our hash did not know becomes known by its token only.
local function add_hold(entry)
	if not lock.hold then
		lock.hold = read_hold(lock.owner, 'held ' .. int(lock.token or 0) .. ' - - - - - - - - ' ..
			lock.mode .. ' , ')
	end
	lock.hold.holds = lock.hold.holds .. entry .. ','
	save_hold() -- the first to be refused by a server out of memory
end

-- Takes one entry out of `holds`, and puts another one in its place if there is one.
local function end_entry(entry, other)
	local first, last = string.find(lock.hold.holds, ',' .. entry .. ',', 1, true)
	if first then
		lock.hold.holds = string.sub(lock.hold.holds, 1, first) .. (other and other .. ',' or '') ..
			string.sub(lock.hold.holds, last + 1)
		save_hold()
	end
end

-- How and when a hold ended that our hash describes, and key 1 does not.
local function unnoticed_end(hold)
	local ends = number(hold.ends) or now
	if ends > now + CLOCK_SLACK_MS then
		return 'forced', now
	end
	return hold.state == 'kept' and 'released' or 'expired', ends
end

-- Whether the lock was handed to this owner, which has not renewed it yet.
local function is_untaken(hold)
	local since, ends, lease = number(hold.since), number(hold.ends), number(hold.lease)
	return since and ends and lease and ends - since < lease
end

-- The longest lease that was asked for, ms, or nil.
local function longest_lease(hold)
	return number(match(hold.longest, '%d+') or hold.lease)
end

-- How far the clock was set back after this hold began, as far as that shows, ms.
local function set_back_by(hold)
	return math.max(0, (number(hold.since) or 0) - now)
end

-- For how many ms at most a hold may go on from now, whatever its keys say, by its record; nil: nobody knows.
local function most_left(hold)
	local back = set_back_by(hold)
	if hold.state == 'kept' then
		return math.max(1, (number(hold.ends) or MOST) - back - now)
	end
	local lease = longest_lease(hold)
	return lease and math.max(1, lease, (number(hold.keep) or 0) - back - now)
end

-- Whether a lease of so many ms is longer than its hold may have.
local function is_too_long(hold, ttl)
	local most = hold and number(hold.since) and most_left(hold)
	return most and ttl > most + CLOCK_SLACK_MS
end
