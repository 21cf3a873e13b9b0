# acquire by hand on a terminal: what it tells the person there, and what the waiting line tells others.
load ../lib/one_server
load ../lib/screens

@test "acquire on a terminal tells until when the lock is held, and the command that gives it back, but not with --quiet or --while-pid" {
	local name

	for name in "it's a \$job" -n job; do
		export NAME=$name
		terminal 200
		type_line 'clear; "$FAIRLOCK" acquire -l 2h -- "$NAME"'
		wait_until shows '; to give it back: fairlock release '
		shows '^fairlock: lock .* is held by hand until ([A-Z][a-z]{2} .. )?[0-9]{2}:[0-9]{2}; to give'
		ln -sf "$FAIRLOCK" fairlock
		type_line "clear; PATH=\$PWD:\$PATH; $(screen | sed -n 's/.*to give it back: //p')"
		wait_until is_free "$name"
		on_terminal kill-server
	done
	terminal 200
	type_line 'clear; "$FAIRLOCK" acquire -q job; "$FAIRLOCK" acquire two 2>said; "$FAIRLOCK" acquire --while-pid $$ three; echo done'
	wait_until shows '^done$'
	shows_not '^fairlock: |release'
	[ ! -s said ]
}

@test "on a terminal, release without an owner gives back the hold that this user took by hand, and says whose it was" {
	local owner

	owner=$("$FAIRLOCK" acquire -l 10s job)
	terminal 200
	type_line 'clear; "$FAIRLOCK" renew -l 2h job; echo renewed $?'
	wait_until shows '^renewed 0$'
	[ "$(cli PTTL job)" -gt 3600000 ]
	for outer in '' '"$FAIRLOCK" wrap outer'; do # whose hold is another one
		type_line "clear; $outer \"\$FAIRLOCK\" release job </dev/null; echo ended \$?"
		wait_until shows '^ended 64$'
	done
	type_line 'clear; sh -c "\$FAIRLOCK release job; echo script ended \$?"'
	wait_until shows '^script ended 64$'
	type_line 'clear; "$FAIRLOCK" wrap outer bash --norc -ic "\"\$FAIRLOCK\" release job; echo ended \$?"'
	wait_until shows '^ended 0$'
	shows "^lock job was held by fairlock acquire \\(pid [0-9]+, $(id -un)@$(uname -n)\\) as $owner\$"
	is_free job
}

@test "on a terminal, release gives back no hold of another user, of a keeper or a wrap, and none of two" {
	local name

	LOGNAME=anna "$FAIRLOCK" acquire hers
	"$FAIRLOCK" acquire --while-pid $$ kept
	background "$FAIRLOCK" wrap run sleep 600
	wait_until "$FAIRLOCK" status -q run
	"$FAIRLOCK" acquire --slots 2 two
	"$FAIRLOCK" acquire --slots 2 two
	terminal 200
	for name in hers kept run two; do
		type_line "clear; \"\$FAIRLOCK\" release $name; echo $name ended \$?"
		wait_until shows "^$name ended 64\$"
		shows "^fairlock: cannot release lock $name: say who you are"
		"$FAIRLOCK" status -q "$name"
	done
}
