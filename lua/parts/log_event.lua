-- Writes an event into the log, as far as the server takes it. time, token, waited and held may be text.
-- slot: of the hold, or nil. actor: the description of another process that caused it, or nil.
local function log_event(event, time, owner, token, by, waited, held, status, cause, slot, actor)
	local entry
	if slot or actor then
		local more = slot and {'slot', slot} or {}
		if actor then
			more[#more + 1], more[#more + 2] = 'actor', actor
		end
		entry = pcall_server('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', 'event', event, 'time', time,
			'owner', owner, 'token', token or '', 'by', by or '', 'waited', waited or '', 'held', held or '',
			'status', status or '', 'cause', cause or '', unpack(more))
	else
		entry = pcall_server('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', 'event', event, 'time', time,
			'owner', owner, 'token', token or '', 'by', by or '', 'waited', waited or '', 'held', held or '',
			'status', status or '', 'cause', cause or '')
	end
	if type(entry) == 'string' then
		pcall_server('PEXPIRE', LOG, 604800000) -- a week
	end
end
