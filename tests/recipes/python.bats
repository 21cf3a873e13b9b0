#!/usr/bin/env bats
# man/examples/fairlock_lock.py, imported by real Python processes.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

setup() {
	begin_example
	cp "$EXAMPLES/fairlock_lock.py" .
}

# python RUNNER CODE: runs it in the folder of fairlock_lock.py
python() {
	local file

	file=$(mktemp code-XXXXXX.py)
	printf 'import os, sys, subprocess, time\nfrom fairlock_lock import fairlock\n%s\n' "$2" >"$file"
	as_cron "$1" "exec python3 $file"
}

# A block that writes the token into `ran`, and stays until there is a file `go`.
stay='with fairlock("job") as hold:
    print(hold["token"], file=open("ran", "a"))
    while os.path.exists("bin") and not os.path.exists("go"):
        time.sleep(0.05)'

@test "fairlock_lock.py runs blocks of several processes one at a time, in order, and the tokens grow" {
	local pids=() i

	for i in 0 1 2; do
		python background "$stay"
		pids+=($!)
		[ "$i" = 0 ] || wait_until in_queue job "$i"
		wait_until test -s ran
	done
	has_lines 1 ran
	run -0 "$FAIRLOCK" status --raw --noheadings -o PID job
	assert_output "${pids[0]}"
	run -0 "$FAIRLOCK" queue --raw --noheadings -o PID job
	assert_output "${pids[1]}"$'\n'"${pids[2]}"
	touch go
	for i in "${pids[@]}"; do
		ends_with 0 "$i"
	done
	assert_equal "$(<ran)" "$(sort -n ran | uniq)"
	has_lines 3 ran
	is_free job
}

@test "fairlock_lock.py frees the lock when its process is killed, and while it waits leaves the queue" {
	local holder waiter

	python background "$stay"
	holder=$!
	wait_until test -s ran
	python background "$stay"
	waiter=$!
	wait_until in_queue job 1
	kill -KILL "$waiter"
	wait_until in_queue job 0
	run -1 is_free job
	kill -KILL "$holder"
	wait_until is_free job
	has_lines 1 ran
}

@test "fairlock_lock.py raises TimeoutError when the lock is busy for too long, and runs nothing" {
	hold job
	run -0 python command 'try:
    with fairlock("job", "--wait", "100ms"):
        print("ran")
except TimeoutError as error:
    print(error)'
	assert_line --index 0 --partial 'fairlock: cannot get lock job: timed out after 100ms; held by sleep 600'
	assert_line --index 1 'cannot get lock job'
	[ "${#lines[@]}" = 2 ]
}
