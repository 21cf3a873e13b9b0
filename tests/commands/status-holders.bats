#!/usr/bin/env bats
# fairlock status of a lock with several holders.

load ../lib/helpers
load ../lib/one_server

# rows NAME COLUMNS: prints these columns of each row of a lock
rows() {
	"$FAIRLOCK" status --raw --noheadings -o "$2" "$1"
}

@test "status has a row for each slot that is held, in the order of their grants" {
	local db2 db1 rest

	read -r db2 rest < <("$FAIRLOCK" acquire --slots db2 job)
	read -r db1 rest < <("$FAIRLOCK" acquire --slots db1,db2 job)
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	assert_equal "$(rows job NAME,STATE,MODE,SLOT,OWNER,HOLDS,WAITERS)" \
		"job held slots db2 $db2 1 1"$'\n'"job held slots db1 $db1 1 1"
	assert_equal "$("$FAIRLOCK" status --json job | jq -c '[.locks[] | [.state, .mode, .slot, .owner, .client]]')" \
		"[[\"held\",\"slots\",\"db2\",\"$db2\",\"fairlock\"],[\"held\",\"slots\",\"db1\",\"$db1\",\"fairlock\"]]"
	[ "$(rows job TOKEN)" = "$(rows job TOKEN | sort -n)" ]
	assert_equal "$(lock job .slot)" '"db2"'
}

@test "status shows MODE and SLOT to people only if a lock is shared or has slots" {
	"$FAIRLOCK" acquire alone >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +USER +HOST'
	"$FAIRLOCK" acquire --shared books >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +USER +HOST'
	assert_line --regexp '^alone +by hand until [^ ]+ +exclusive +'
	assert_line --regexp '^books +by hand until [^ ]+ +shared +'
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +SLOT +USER +HOST'
	assert_line --regexp '^job +by hand until [^ ]+ +slots +1 +'
	run -0 "$FAIRLOCK" status -o NAME,MODE,SLOT alone
	assert_line --index 0 --regexp '^NAME +MODE +SLOT$'
}

@test "status shows a kept slot as kept beside one that is held" {
	"$FAIRLOCK" wrap --slots 2 --min-hold 1h job true
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	"$FAIRLOCK" wrap free true
	assert_equal "$(rows job STATE,SLOT,HOLDS)" $'kept 1 -\nheld 2 1'
	run -0 "$FAIRLOCK" status --noheadings -o STATE,SLOT
	assert_line --index 0 --regexp '^kept until .* 1$'
	assert_line --index 1 --regexp '^by hand until .* 2$'
	assert_equal "${#lines[@]}" 2
}
