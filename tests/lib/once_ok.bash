# --once-ok in the scripts: `load ../lib/once_ok` behind `load ../lib/scripts`.

# succeed ID [WORD=VALUE...]: its COMMAND ends with 0
succeed() {
	release "$1" status=0 cause=exit "${@:2}"
}

# is_told_to_ask ID: a message says that something has changed
is_told_to_ask() {
	[[ $'\n'$(heard "$1")$'\n' = *$'\n0\n'* ]]
}

# is_told_first ID: the last message says that there may be room for it, or that it is its turn
is_told_first() {
	[[ $(heard "$1" | tail -n 1) =~ ^(first\ [0-9]+|0)$ ]]
}

# many COUNT [SECRET]: waiters w1 to wCOUNT with --once-ok are present and queue in this order
many() {
	local id

	mapfile -t ids < <(seq -f w%g "$1")
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' "by $id" ok60000 0 "${2-}" x
	done | cli >/dev/null
	assert_equal "$(cli ZCARD "$(key_ours)")" "$1"
}
