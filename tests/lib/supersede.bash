# Waiters that ask with --supersede, as the scripts see them: `load scripts`, then this.

# since when each waits, as it knows it
declare -gA SINCE

# asks_newest ID [WORD=VALUE...]: it asks with --supersede for the first time, and listens
asks_newest() {
	present "$1"
	acquire "$1" newest=0 "${@:2}"
	SINCE[$1]=${reply[5]-}
}

# asks_again ID [WORD=VALUE...]: the sign of life of one that does
asks_again() {
	ask "$1" newest="${SINCE[$1]-0}" "${@:2}"
}

# superseded_events: the fields of these events in the log, "owner by waited actor", one a line
superseded_events() {
	on_keys EVAL '
		local found = {}
		for _, entry in ipairs(redis.call("XRANGE", KEYS[5], "-", "+")) do
			local field = {}
			for i = 1, #entry[2], 2 do
				field[entry[2][i]] = entry[2][i + 1]
			end
			if field.event == "superseded" then
				found[#found + 1] = table.concat({field.owner, field.by, field.waited, field.actor}, " ")
			end
		end
		return found'
}

# is_superseded ID [WORD=VALUE...]: asks, and is answered that; then it has neither the lock nor a place
is_superseded() {
	asks_again "$@"
	answered superseded
	[[ " $(waiting) $(owner) $(scored) " != *" $1 "* ]]
}
