-- The other records in our hash, behind waiter_record.lua; see hold_record.lua for their form.

local function waiter_text(waiter)
	return waiter.state .. ' ' .. int(waiter.ticket) .. ' ' .. int(waiter.seen) .. ' ' .. waiter.lease .. ' ' ..
		waiter.secret .. ' ' .. waiter.kind .. ' ' .. waiter.period .. ' ' .. waiter.want .. ' ' .. waiter.by
end

-- The period of a waiter. Returns its ms, and whether it is that of --once-ok; nil: it has none.
local function read_period(text)
	local ok, ms = match(text, '^(o?k?)(%d+)$')
	ms = number(ms)
	return ms, ms and ok == 'ok'
end

-- The record of a waiter that waits no more, and is to learn why: its state, its last ticket, and whose
-- description it keeps.
local function note_to_waiter(state, ticket, by)
	return waiter_text({
		state = state, ticket = ticket, seen = now, lease = '-', secret = '-', kind = 'w', period = '-', want = 'x',
		by = by,
	})
end

-- A request that was repeated, or that must not be carried out twice, in the field `r:REQUEST`:
--   made     ms: when it came (a number here)
--   strays   how many requests the process had left under way; one with fewer is a late copy (a number here)
--   answer   released: it gave one of several holds back; given: somebody else gave its hold back; "left ID":
--            it took a waiter out; free, or "forced OWNER BY": what it found when it used force;
--            "forgot MS": it made the lock forget its last start, of so long ago, or of none
--            "asked TOKEN LEASE MODE OWNER", a line for each hold that it has asked to stop
local function read_request(text)
	local made, strays, answer = match(text or '', '^(%d+) (%d+) (.*)$')
	return made and {made = number(made) or 0, strays = number(strays) or 0, answer = answer} or nil
end

local function request_text(request)
	return int(request.made) .. ' ' .. int(request.strays) .. ' ' .. request.answer
end

-- The field `a:OWNER`, "REQUEST,REQUEST... BY", names the processes that ask the holder OWNER to stop, and
-- wait for the end of its hold: their requests, and a description of the first. It counts only while
-- `ending` of that hold is `asked`. Returns the requests and the description, or nil.
local function read_asked(text)
	return match(text or '', '^([^ ,]%S*) (.+)$')
end

-- `run`, "ID UP LOST FLOOR": the server process that the waiters queued on; when our hash met this process
-- first (ms; `-` once the pause after a restart was given); when data may have been lost last (ms), and the
-- token that our hash had then. A hold with a larger token, from before, may be taken up.
local function read_run(text)
	local id, up, lost, floor = match(text or '', '^(%S+) (%S+) (%S+) (%S+)$')
	return match(id or '', '^%w+$'), number(up), number(lost), number(floor)
end

-- `turn`, "ID MS": the waiter whose turn it is, and since when. If it makes no sense, or begins later because
-- the clock was set back, it is nobody's ('') until somebody is told his turn: it would not end.
local function read_turn(text)
	local id, since = match(text or '', '^(%S+) (%d+)$')
	since = number(since or nil)
	if since and since < now + TURN_MS then
		return id, math.min(since, now)
	end
	return text and '' or nil, now
end

-- `newest`, "ID MS": of the processes with --supersede the one that began to wait last, and since when it
-- waits: it may have the ticket of another.
local function read_newest(text)
	local id, since = match(text or '', '^(%S+) (%d+)$')
	since = number(since or nil)
	return since and id, since
end

-- `started`, "LAST BEFORE RECALL" in ms: when the last COMMAND of a wrap was started, when the one before,
-- and until when somebody may ask for that. Returns numbers or nil.
local function read_started(text)
	local last, before, recall = match(text or '', '^(%S+) (%S+) (%S+)$')
	return number(last), number(before), number(recall)
end

local function started_text(last, before, recall)
	return (last and int(last) or '-') .. ' ' .. (before and int(before) or '-') .. ' ' ..
		(recall and int(recall) or '-')
end

-- `done`, "STARTED ENDED" in ms: when the last COMMAND that ended with 0 was started, and when it ended.
-- Returns numbers or nil.
local function read_done(text)
	local started, ended = match(text or '', '^(%d+) (%d+)$')
	started, ended = number(started), number(ended)
	return ended and started, started and ended
end
