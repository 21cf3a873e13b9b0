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

@test "status --json has a numbered slot as a string, and no slot of a shared or an exclusive hold" {
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	"$FAIRLOCK" acquire --shared books >/dev/null
	"$FAIRLOCK" acquire alone >/dev/null
	assert_equal "$("$FAIRLOCK" status --json | jq -c '[.locks[] | [.name, .mode, .slot]]')" \
		'[["alone","exclusive",null],["books","shared",null],["job","slots","1"]]'
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

@test "status sorts the rows of one lock by --sort" {
	for _ in $(seq 11); do "$FAIRLOCK" acquire --slots 11 job >/dev/null; done
	"$FAIRLOCK" release --force -q --slot 2 job
	"$FAIRLOCK" acquire --slots 11 job >/dev/null
	assert_equal "$(rows job SLOT | paste -sd ' ')" '1 3 4 5 6 7 8 9 10 11 2'
	assert_equal "$("$FAIRLOCK" status --raw --noheadings --sort slot -o SLOT job | paste -sd ' ')" \
		'1 2 3 4 5 6 7 8 9 10 11'
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

@test "status -q says that a lock is held while one of several holds it" {
	local anna ben

	read -r anna _ < <("$FAIRLOCK" acquire --slots 2 job)
	read -r ben _ < <("$FAIRLOCK" acquire --slots 2 job)
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$anna" job
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$ben" job
	run -1 "$FAIRLOCK" status -q job
}

@test "status lists a lock with several holders once, although it has one more key" {
	"$FAIRLOCK" acquire --shared job >/dev/null
	[ "$(cli EXISTS 'fairlock_holders:{job}')" = 1 ]
	assert_equal "$("$FAIRLOCK" status --raw --noheadings -o NAME)" job
	assert_equal "$("$FAIRLOCK" log --raw --noheadings -o NAME)" job
	run -0 "$FAIRLOCK" queue
	refute_output --partial fairlock_holders
}

@test "status shows each of 1,000 holders" {
	"$FAIRLOCK" acquire --shared -l 1h job >/dev/null
	cli --raw EVAL 'local ends = redis.call("ZRANGE", KEYS[1], 0, 0, "WITHSCORES")
		local record = redis.call("HGET", KEYS[2], "h:" .. ends[1])
		for i = 1, 999 do
			redis.call("ZADD", KEYS[1], ends[2], "a:" .. i)
			redis.call("HSET", KEYS[2], "h:a:" .. i, record)
		end' 2 'fairlock_holders:{job}' 'fairlock:{job}' >/dev/null
	assert_equal "$(rows job OWNER | sort -u | wc -l)" 1000
	assert_equal "$("$FAIRLOCK" status --json job | jq '[.locks[] | select(.state == "held" and .mode == "shared" and .holds == 1)] | length')" 1000
	assert_equal "$("$FAIRLOCK" status --noheadings job | awk '{ print NF }' | sort -u | wc -l)" 1
}
