-- --once-per, --once-ok, --supersede.

-- A period. Returns its ms, and whether it is that of --once-ok; nil: there is none.
local function read_period(text)
	local ok, ms = match(text, '^(o?k?)(%d+)$')
	return number(ms), ok == 'ok'
end

-- A job with this period wants to find the last start, or the last success, in our hash: `status` shows the
-- start for another period, too.
function remember(period)
	local ms, is_ok = read_period(period)
	local last, whose, before, recall = numbers(lock.start)
	local wanted = ms and (last or now) + (is_ok and 1 or 2) * ms or 0
	if wanted > (recall or 0) then
		save('start', last, whose, before, wanted)
	end
end

-- Whether this time is less than nine tenths of so many ms ago, whichever way the clock was set.
local function is_recent(time, ms)
	return time and math.abs(now - time) * 10 < ms * 9
end

-- Whether a job with this period is --once-per, and the last start is too short a time ago for it.
local function ran(period)
	local ms, is_ok = read_period(period)
	return ms and not is_ok and is_recent(numbers(lock.start), ms)
end

-- Whether a job with this period is --once-ok, and need not run: a COMMAND ended with 0, and was started a
-- short time ago, or ended since the job began to wait (ms; nil: it begins now), but not in the future.
local function is_done(period, since)
	local ms, is_ok = read_period(period)
	local started, ended = numbers(lock.ok)
	return ms and is_ok and (is_recent(started, ms) or since and ended and ended <= now and ended >= since)
end

-- The COMMAND of this hold is not started after all. Another holder's may have been started since.
local function forget_start(hold)
	local _, whose, before, recall = numbers(lock.start)
	if whose and whose == hold.token then
		save('start', before, nil, nil, recall)
	end
end

-- `newest`, "ID SINCE TICKET": of the processes with --supersede the one that began to wait last; since when
-- it waits, ms, since it may have the ticket of another; and its ticket, until its turn has gone by.
local function read_newest()
	local whose, since, ticket = match(lock.newest, '^(%S+) (%d+) (%S+)$')
	since = number(since)
	return since and whose, since, number(ticket)
end

local function waits_since(id, ticket)
	local newest, since = read_newest()
	return newest == id and since or math.floor(ticket / 1000)
end

local function waited_by(id, ticket)
	return math.max(0, now - waits_since(id, ticket))
end
