-- Asks holders to give the lock back. A part of release.lua.

local ASKERS_MOST = 20 -- so many are told the end of a hold; others look themselves

-- Writes beside this hold that the caller asks it to stop, once, and has its wrap renew: it learns that then.
local function ask_to_stop(hold_of)
	local requests, first
	if hold_of.ending == 'asked' then
		requests, first = read_asked(call('HGET', STATE, 'a:' .. hold_of.id))
	end
	local others = (requests or '') .. ','
	if not string.find(',' .. others, ',' .. request .. ',', 1, true) and
		select(2, string.gsub(others, ',', '')) < ASKERS_MOST then
		call('HDEL', STATE, 'a:' .. hold_of.id) -- after it a server out of memory takes the rest
		call('HSET', STATE, 'a:' .. hold_of.id,
			(requests and others or '') .. request .. ' ' .. (first or by or '?'))
		hold_of.ending = 'asked'
		save_hold()
		record('asked', stamp, hold_of.id, hold_of.token, hold_of.by, nil,
			int(math.max(0, now - (number(hold_of.since) or now))), nil, nil,
			match(hold_of.mode, '^=(.*)$'), by)
	end
	tell(hold_of.id, '0')
end

-- The hold of an owner that holds no more: whether, and until when, it may be taken up again.
local function away(owner, its_token, lease, its_mode)
	local mine = read_hold(owner, call('HGET', STATE, 'h:' .. owner))
	if not its_token or mine and (comes_from(mine, its_token) or mine.token == '0') then
		return nil
	end
	notice_loss(its_token)
	if lock.run then
		check_run(true)
	end
	if not can_be_lost(its_token, lease, its_mode) or has_ended(owner, 'released') then
		return nil
	end
	-- most holders are back as soon as the waiters
	local back = lock.lost + AWAY_MS
	return 'away', (back > now and back or lock.lost + lease) - now, ''
end

-- Asks one hold. Returns what it is, ttl and by, as the answer has them; nil: it is over.
local function stop_one(owner, its_token, lease, its_mode)
	if not select_holder(owner) then
		return away(owner, number(its_token), number(lease) or 0, its_mode)
	end
	local hold_of, ttl = is_known() and lock.hold, ttl_of_hold()
	local is_wrap = has_hold('w' .. owner) or has_hold('v' .. owner)
	if not hold_of then
		return its_token == '-' and 'alone' or 'away', ttl, ''
	elseif hold_of.token ~= its_token and
		not (is_wrap and hold_of.taken ~= '-' and comes_from(hold_of, number(its_token))) then
		return nil
	elseif hold_of.state == 'kept' then
		local description = hold_of.by
		end_this('released', nil, nil, nil, by)
		return 'kept', 0, description
	elseif not is_wrap then
		-- where several processes hold as one owner, the wrap may take it up after another
		return is_by_hand(hold_of) and 'by hand' or hold_of.taken == '-' and 'alone' or 'away', ttl, hold_of.by
	end
	ask_to_stop(hold_of)
	return 'asked', ttl, hold_of.by
end

-- The holds that there are, as a list.
local function list_holds()
	local lines = {}
	each_holder(function(owner, hold_of)
		lines[#lines + 1] = hold_of and
			hold_of.token .. ' ' .. hold_of.lease .. ' ' .. hold_of.mode .. ' ' .. owner or '- - - ' .. owner
	end)
	return table.concat(lines, '\n')
end

local function stop()
	local before = lock.request and match(lock.request.answer, '^asked (.*)$')
	if list == '' then
		list = before or list_holds()
	end
	if not before then
		-- sent again, the first request is not to ask the next holders
		mark_request(request, strays, 'asked ' .. list)
	end
	introduce(note)
	check_queue()
	local answer, is_free = {'stops'}, false
	for its_token, lease, its_mode, owner in string.gmatch(list, '(%S+) (%S+) (%S+) ([^\n]*)') do
		local what, ttl, whose = stop_one(owner, its_token, lease, its_mode)
		if what then
			answer[#answer + 1] = {what, ttl, whose, its_token .. ' ' .. lease .. ' ' .. its_mode .. ' ' .. owner}
		end
		is_free = is_free or what == 'kept'
	end
	if is_free then
		pass_on()
	end
	settle()
	return answer
end
