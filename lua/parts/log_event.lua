-- Writes an event into the log, as far as the server takes it. time, token, waited and held may be text.
local function log_event(event, time, owner, token, by, waited, held, status, cause)
	local entry = pcall_server('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', 'event', event, 'time', time,
		'owner', owner, 'token', token or '', 'by', by or '', 'waited', waited or '', 'held', held or '',
		'status', status or '', 'cause', cause or '')
	if type(entry) == 'string' then
		pcall_server('PEXPIRE', LOG, 604800000) -- a week
	end
end
