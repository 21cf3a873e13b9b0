-- Who holds and who waits, looked at closely: for scripts that are beyond their usual case.

-- Whether the lock is held for the rest of a --min-hold only: all holds were given back.
local function is_kept()
	return string.sub(state.holds or '', 1, 1) == 'k'
end

-- The holds of the present owner, as "wREQUEST aREQUEST dREQUEST gREQUEST": w taken by wrap, a by
-- acquire; of what is over, d: a release that may be repeated, g: a hold that somebody gave back. Only
-- "kREQUEST STATUS:CAUSE": all is over but a --min-hold; REQUEST gave the last hold back, and this is how its
-- COMMAND ended.
local function has_hold(entry)
	return string.find(state.holds or '', entry, 1, true) ~= nil
end

-- The present holder, for people: its owner id, what is known about it, and for how many ms it has held the
-- lock. '', '' and -1: unknown, or nobody holds the lock.
local function about(owner)
	local ours = owner and state.owner == owner
	return owner or '', ours and state.by or '', ours and state.since and math.max(0, now - state.since) or -1
end

-- Present means subscribed, in either way. The count that PUBLISH returns would include pattern
-- subscribers, and so raise the dead. In which way is remembered: nobody else listens there.
local ways = {}
local function present(id)
	local name = channel(id)
	ways[id] = call('PUBSUB', 'NUMSUB', name)[2] > 0 and 'PUBLISH' or
		SHARDED and call('PUBSUB', 'SHARDNUMSUB', name)[2] > 0 and 'SPUBLISH' or nil
	return ways[id] ~= nil
end

-- Ticket and time of the last sign of life of a waiter of ours, whether it may not have heard its ticket
-- yet, and the lease that it wants and its secret if the lock can be handed to it; nil for Redisson's.
local tickets = {} -- the entries that were read in this run; false: there is none
local function known(id)
	local entry = tickets[id]
	if entry == nil then
		entry = call('HGET', STATE, 't:' .. id)
		tickets[id] = entry
	end
	if entry then
		local ticket, seen, lease, secret, unheard = string.match(entry, WAITER)
		return number(ticket), number(seen), unheard == 'unheard', number(lease), secret
	end
end

-- Takes out of our hash what is left there of a hold that is over, but for `holds`, which the caller writes.
local function forget_hold()
	call('HDEL', STATE, 'owner', 'since', 'until', 'lease', 'waited', 'by', 'taken_up', 'keep', 'unheard')
end

local function set_holds(holds)
	state.holds = holds
	call('HSET', STATE, 'holds', holds) -- the first to be refused by a server out of memory
	if not state.owner then
		forget_hold() -- our hash was lost, or knows of the hold before only
	end
end

local function add_hold(entry)
	set_holds(state.holds and state.holds .. ' ' .. entry or entry)
end

-- Whoever runs a COMMAND once in so many ms wants to find its last start in our hash.
local function remember(period)
	local recall = (state.started or now) + 2 * period
	if recall > (state.recall or 0) then
		state.recall = recall
		note('HSET', STATE, 'recall', recall)
	end
end

-- Our hash may describe a hold that is over: nobody runs a script when a lease
-- ends, when a key is deleted, or when Redisson forces a lock open. Returns how it ended, and when.
local function unnoticed_end(owner)
	if not state.owner or state.owner == owner then
		return
	end
	local ends = state['until'] or now
	if ends > now + CLOCK_SLACK_MS then
		return 'forced', now
	end
	return is_kept() and 'released' or 'expired', ends
end

-- One that seems dead cannot bring a ticket that it may not have heard when it comes back all the same: so we
-- keep it. ticket: nil or false if it has heard it.
local function keep_ticket(id, ticket)
	if ticket then
		note('HSET', STATE, 'p:' .. id, stamp .. ' ' .. int(ticket))
		state.marked = true
	end
end

-- Whether the lock was handed to the present owner, which has not renewed it yet.
local function is_untaken()
	return state.owner and state['until'] and state['until'] - (state.since or 0) < (state.lease or 0)
end

-- The owner was handed the lock and hangs: it has missed its turn. The waiter behind it was told when
-- that turn would end, and has had its own since then.
local function notice_missed_turn(time)
	local head = call('LINDEX', QUEUE, 0)
	state.missed = true
	if head and known(head) then
		state.turn, state.turned = head, math.min(time, now)
		note('HSET', STATE, 'turn', head, 'turned', state.turned)
	end
end

local function notice_end(owner)
	if owner and state.turn then
		call('HDEL', STATE, 'turn', 'turned') -- taken, or snatched away by a plain lock
		state.turn = nil
	end
	local event, time = unnoticed_end(owner)
	if event then
		local is_missed = event == 'expired' and is_untaken()
		call('HDEL', STATE, 'owner') -- once something was deleted, a server out of memory takes the rest, too
		if is_missed then
			keep_ticket(state.owner, state.unheard) -- it may not know
		end
		end_hold(event, time)
		save()
		if is_missed and not owner then
			notice_missed_turn(time)
		end
	end
end
