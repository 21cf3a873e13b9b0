# release --stop: asks the holders to stop, and waits until they have given the lock back.

load ../lib/one_server
load ../lib/holders
load ../lib/jobs

# holds WORD...: `wrap WORD...` holds job until the test ends, or is asked to stop. Sets HOLDER; its messages come into `said`.
holds() {
	background "$FAIRLOCK" wrap "$@" 2>said
	HOLDER=$!
	wait_until "$FAIRLOCK" status -q job
}

# is_asked NAME: somebody has asked the holder of the lock
is_asked() { "$FAIRLOCK" log --json "$1" | grep -q '"asked"'; }

# stopped PID [FILE]: this wrap ends with 124, and says that it was asked
stopped() {
	ends_with 124 "$1"
	grep -q 'lock job: was asked to stop by fairlock release --stop (pid [0-9]*, .*); stopping' "${2-said.$1}"
}

@test "release --stop has COMMAND stopped, returns when the lock is free, and says who held it; wrap ends with 124" {
	holds --min-hold 10m job sleep 600 # which is waived
	run -0 --separate-stderr "$FAIRLOCK" release --stop job
	is_free job
	assert_output --regexp "^lock job was held by sleep 600 \(pid $HOLDER, .*\) as .*:$HOLDER$"
	assert_equal "$stderr" ''
	stopped "$HOLDER" said
	nothing_left
}

@test "release --stop of a free lock says so, and of a kept one gives it back at once; -q says nothing" {
	"$FAIRLOCK" wrap --min-hold 10m job true
	run -0 "$FAIRLOCK" release --stop job
	assert_output --regexp '^lock job was held by true \(pid '
	is_free job
	run -0 "$FAIRLOCK" release --stop job
	assert_output 'lock job was free'
	run -0 "$FAIRLOCK" release -q --stop job
	refute_output
	hold job
	run -0 "$FAIRLOCK" release -q --stop job
	refute_output
	nothing_left
}

@test "release --stop waits until all that COMMAND started is gone, and the next waiter starts then" {
	start_job -k 1s
	background "$FAIRLOCK" wrap job sh -c 'for pid in $(cat pids); do ! grep -q "^State:.[^ZX]" /proc/$pid/status || echo $pid; done >alive; touch ran'
	WAITER=$!
	wait_until in_queue job 1
	run -0 "$FAIRLOCK" release --stop job
	all_dead
	ends_with 124 "$WRAPPER"
	ends_with 0 "$WAITER"
	assert_equal "$(cat alive)" ''
	[ -e ran ]
}

@test "a COMMAND that ends at once does not give the lock back before a process that it started, which does not" {
	holds -k 1s job sh -c 'sh -c "trap : TERM; echo \$\$ >stubborn; while :; do sleep 0.1; done" & wait'
	wait_until test -s stubborn
	run -0 "$FAIRLOCK" release -q --stop job
	ended "$(<stubborn)"
}

@test "release --stop --wait DUR ends with 75 if the lock is still held then, and the request stays" {
	local began

	holds -l 60s -k 10s -s USR1 job sh -c 'trap "" TERM; trap "touch got" USR1; echo $$ >main; while :; do sleep 0.1; done'
	wait_until test -s main
	began=$(ms)
	run -75 "$FAIRLOCK" release --stop --wait 700ms job
	[ $(($(ms) - began)) -ge 700 ]
	assert_output --regexp "^fairlock: cannot release lock job: after 700ms it is still held by sh -c trap .* \(pid $HOLDER, .*\)$"
	is_asked job
	[ -e got ]
	kill -KILL "$(<main)"
	stopped "$HOLDER" said
	nothing_left
}

@test "release --stop ends with 75 at once if acquire, a keeper or Redisson holds the lock, and names the holder" {
	local owner

	owner=$("$FAIRLOCK" acquire job)
	run -75 "$FAIRLOCK" release --stop job
	assert_output --regexp '^fairlock: cannot release lock job: it is held by hand, and --force breaks that: fairlock acquire \(pid [0-9]+, .*\)$'
	"$FAIRLOCK" release --owner "$owner" job
	owner=$("$FAIRLOCK" acquire --while-pid $$ job)
	run -75 "$FAIRLOCK" release --stop job
	assert_output --partial 'only the wrap that took it can be asked to stop, not '
	"$FAIRLOCK" release --owner "$owner" job
	cli HSET job 5f0c3b4e-6c1d-4d0e-9a7b-000000000000:1 1 >/dev/null
	cli PEXPIRE job 30000 >/dev/null
	run -75 "$FAIRLOCK" release --stop job
	assert_output 'fairlock: cannot release lock job: only the wrap that took it can be asked to stop, not 5f0c3b4e-6c1d-4d0e-9a7b-000000000000:1'
}

@test "with slots or shared holds all holders are asked, and each is named" {
	local option

	for option in '--slots 3' --shared; do
		join_two $option job
		run -0 "$FAIRLOCK" release --stop job
		assert_equal "${#lines[@]}" 2
		assert_line --regexp "^lock job was held by sleep 600 \(pid $FIRST, .*\) as .*:$FIRST$"
		assert_line --regexp "^lock job was held by sleep 600 \(pid $HOLDER, .*\) as .*:$HOLDER$"
		is_free job
		stopped "$FIRST"
		stopped "$HOLDER"
	done
	nothing_left
}

@test "--slot and --owner ask one hold only, and wait for no other" {
	local owner words

	join_two --slots red,blue job
	run -0 "$FAIRLOCK" release --stop --slot blue job
	assert_output --regexp "as .*:$HOLDER$"
	stopped "$HOLDER"
	assert_equal "$(slot_held_by "$FIRST")" red
	[ ! -s "said.$FIRST" ]
	owner=$(id_of "$FIRST")
	for words in '--slot blue' "--owner ${owner%:*}:1"; do
		run -0 "$FAIRLOCK" release --stop $words job
		assert_output 'lock job has no such hold'
	done
	run -0 "$FAIRLOCK" release --stop --owner "$owner" job
	stopped "$FIRST"
	nothing_left
}

@test "FAIRLOCK_OWNER does not count for --stop: inside a wrap it asks the wrap of that lock" {
	background "$FAIRLOCK" wrap job sh -c '"$FAIRLOCK" release --stop --wait 0 job; sleep 600' 2>said
	stopped $! said
	hold other
	run -0 "$FAIRLOCK" wrap job sh -c '"$FAIRLOCK" release --stop other'
	assert_output --partial 'lock other was held by sleep 600'
	ends_with 124 "$HOLDER"
}

# is_zombie_of PID: the only child of this process has ended, and it has not seen that
is_zombie_of() { [ "$(ps -o stat= --ppid "$1" | cut -c 1)" = Z ]; }

@test "a COMMAND that has ended when its guard learns of it keeps its status" {
	local guard stopper

	holds -l 1h job sh -c 'touch runs; while [ ! -e go ]; do sleep 0.05; done; exit 3'
	wait_until test -e runs
	guard=$(pgrep -P "$HOLDER")
	stop "$guard"
	background "$FAIRLOCK" release --stop job
	stopper=$!
	wait_until is_asked job
	touch go
	wait_until is_zombie_of "$guard"
	kill -CONT "$guard"
	ends_with 3 "$HOLDER"
	ends_with 0 "$stopper"
}

@test "release --stop learns that a lease has ended without a release, by itself" {
	local guard

	holds -l 3s job sh -c 'echo $$ >main; exec sleep 600'
	wait_until test -s main
	guard=$(pgrep -P "$HOLDER")
	kill -STOP "$HOLDER" # or else it might give the lock back before it dies
	kill_at_once "$guard" "$HOLDER"
	run -0 "$FAIRLOCK" release --stop --wait 8s job # sooner than it would look anyhow
	assert_output --partial 'lock job was held by sh -c '
	wait_until ended "$(<main)"
}

@test "the log says who asked, broke a lock or removed a waiter, and that COMMAND ended because of that; else it has no column BY" {
	hold job
	run -0 "$FAIRLOCK" log job
	refute_output --partial BY
	join_queue job true
	"$FAIRLOCK" queue --remove "$("$FAIRLOCK" queue --raw --noheadings -o OWNER job)" job
	ends_with 75 "$WAITER"
	"$FAIRLOCK" release --stop job
	ends_with 124 "$HOLDER"
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" release -q --force job
	run -0 "$FAIRLOCK" log --json job
	assert_equal "$(jq -r '.log[] | "\(.event) \(.by // "-" | sub(" .pid [0-9]+, .*"; ""))"' <<<"$output")" "$(cat <<-'END'
		granted -
		left fairlock queue --remove
		asked fairlock release --stop
		released -
		granted -
		forced fairlock release --force
	END
	)"
	assert_equal "$(jq -c '.log[2, 3] | [.pid, .command, .status, .cause]' <<<"$output")" \
		"[$HOLDER,\"sleep 600\",null,null]"$'\n'"[$HOLDER,\"sleep 600\",143,\"asked\"]"
	run -0 "$FAIRLOCK" log job
	assert_line --index 0 --regexp ' BY$'
	assert_line --regexp ' asked .*fairlock release --stop \(pid '
}
