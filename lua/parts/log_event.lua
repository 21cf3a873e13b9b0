-- Writes an event into the log, as far as the server takes it. time, token, waited and held may be text.
-- slot: of the hold, or nil.
local function log_event(event, time, owner, token, by, waited, held, status, cause, slot)
	local fields = {'event', event, 'time', time, 'owner', owner, 'token', token or '', 'by', by or '',
		'waited', waited or '', 'held', held or '', 'status', status or '', 'cause', cause or ''}
	if slot then
		fields[19], fields[20] = 'slot', slot
	end
	local entry = pcall_server('XADD', LOG, 'MAXLEN', '~', LOG_LENGTH, '*', unpack(fields))
	if type(entry) == 'string' then
		pcall_server('PEXPIRE', LOG, 604800000) -- a week
	end
end
