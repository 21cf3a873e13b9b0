#!/usr/bin/env bats
# man/examples/github-*.yml, with what the runner of GitHub Actions does (tests/lib/actions.py).

load ../lib/helpers
load ../lib/machine
load ../lib/pipelines

# workflow NAME: runs it. start_workflow NAME: in the background
workflow() { start_workflow "$1" && wait "$RUNNER"; }

start_workflow() {
	start_runner SECRET_FAIRLOCK_PASSWORD=secret SIGINT_S=1 SIGTERM_S=0.5 "$TESTS_DIR/lib/actions.py" "$EXAMPLES/$1"
}

# steps: prints how each step has ended, and the job
steps() { sed -n '/^== ends the orphan/d; s/^== //p' log | paste -sd ,; }

DEPLOY='actions/checkout@v4: success,Deploy: %s,the job: %s'

@test "the step of github-deploy.yml runs its commands under the lock" {
	workflow github-deploy.yml
	# shellcheck disable=SC2059
	assert_equal "$(steps)" "$(printf "$DEPLOY" success success)"
	assert_equal "$(<done)" $'migrated\ndeployed production'
	is_free deploy
}

@test "a command that fails ends the step of github-deploy.yml, fails the job and frees the lock" {
	script migrate.sh 'exit 3'
	run -1 workflow github-deploy.yml
	# shellcheck disable=SC2059
	assert_equal "$(steps)" "$(printf "$DEPLOY" failure failure)"
	[ ! -e done ]
	is_free deploy
}

@test "the step of github-deploy.yml waits for its turn, and its log says for which run" {
	script deploy.sh "$STAYS"
	start_workflow github-deploy.yml
	wait_until runs_under_lock
	mkdir other
	(
		cd other
		script migrate.sh true
		script deploy.sh 'touch deployed'
		start_workflow github-deploy.yml
		wait_until grep -q 'held by .*shop/site, run 4711' log
		kill $(<../pids) # the first deploy fails
		wait "$RUNNER"
	)
	[ -e other/deployed ]
}

@test "a cancelled run of github-deploy.yml leaves the queue, and the next waiter gets the lock" {
	local next

	hold deploy
	start_workflow github-deploy.yml
	wait_until in_queue deploy 1
	background "$FAIRLOCK" wrap deploy touch next
	next=$!
	wait_until in_queue deploy 2
	cancel
	ends_with 1 "$RUNNER"
	# shellcheck disable=SC2059
	assert_equal "$(steps)" "$(printf "$DEPLOY" cancelled cancelled)"
	kill "$HOLDER"
	ends_with 0 "$next"
	[ ! -e done ]
}

@test "nothing of a cancelled deploy runs when github-deploy.yml frees the lock" {
	script deploy.sh "trap 'touch told; exit' TERM; $STAYS"
	start_workflow github-deploy.yml
	wait_until runs_under_lock
	cancel
	wait_until is_free deploy
	nothing_runs
	[ -e told ]
	ends_with 1 "$RUNNER"
	# shellcheck disable=SC2059
	assert_equal "$(steps)" "$(printf "$DEPLOY" cancelled cancelled)"
}

@test "nothing of a cancelled deploy that ignores signals runs when github-deploy.yml frees the lock" {
	put /etc/fairlock.conf <<<'lease = 6s' # or else the second process of fairlock waits 10 s before SIGKILL
	script deploy.sh "trap '' INT TERM; $STAYS"
	start_workflow github-deploy.yml
	wait_until runs_under_lock
	cancel
	wait_until is_free deploy
	nothing_runs
	ends_with 1 "$RUNNER"
}

STEPS='actions/checkout@v4: success,Take the lock: %s,Migrate: %s,Deploy: %s,Give the lock back: %s,the job: %s'

# have_ended RESULT...: checks how the steps of github-steps.yml have ended
have_ended() {
	# shellcheck disable=SC2059
	assert_equal "$(steps)" "$(printf "$STEPS" "$@")"
}

@test "all steps of github-steps.yml run under one lock, which the last one gives back" {
	# shellcheck disable=SC2016
	script migrate.sh 'fairlock status --noheadings -o OWNER,STATE deploy >owner; echo "$FAIRLOCK_OWNER" >told'
	workflow github-steps.yml
	have_ended success success success success success
	[ -s told ]
	assert_equal "$(awk '{ print $1 }' owner)" "$(<told)"
	assert_equal "$(<done)" 'deployed production'
	is_free deploy
}

@test "github-steps.yml gives the lock back if a step fails" {
	script migrate.sh 'exit 3'
	run -1 workflow github-steps.yml
	have_ended success failure skipped success failure
	is_free deploy
}

@test "github-steps.yml gives the lock back if the run is cancelled, and nothing of the deploy runs then" {
	script deploy.sh "$STAYS"
	start_workflow github-steps.yml
	wait_until runs_under_lock
	cancel
	wait_until is_free deploy
	nothing_runs
	ends_with 1 "$RUNNER"
	have_ended success success cancelled success cancelled
}

@test "a cancelled run of github-steps.yml leaves the queue, and has nothing to give back" {
	hold deploy
	start_workflow github-steps.yml
	wait_until in_queue deploy 1
	cancel
	wait_until in_queue deploy 0
	ends_with 1 "$RUNNER"
	have_ended cancelled skipped skipped skipped cancelled
}

@test "github-steps.yml stops the deploy and fails if its lock is broken" {
	script deploy.sh "$STAYS"
	start_workflow github-steps.yml
	wait_until runs_under_lock
	"$FAIRLOCK" release --force deploy
	ends_with 1 "$RUNNER"
	nothing_runs
	have_ended success success failure failure failure
}

@test "if the runner's process is killed, the lock of github-steps.yml is free when the step that still runs has ended" {
	script migrate.sh "$STAYS"
	start_workflow github-steps.yml
	wait_until runs_under_lock
	kill -KILL "$RUNNER"
	once() { [ "$(cli HVALS deploy)" = 1 ]; }
	wait_until once # the process in the background has given the lock back
	run -75 "$FAIRLOCK" wrap -n deploy true
	kill $(<pids)
	wait_until is_free deploy
}

@test "the lock of a runner's host that died is free when its lease has ended" {
	local workflow

	script migrate.sh "$STAYS"
	put /etc/fairlock.conf <<<'lease = 3s'
	IN=(unshare --pid --fork --kill-child --mount-proc)
	for workflow in github-deploy.yml github-steps.yml; do
		rm -f pids
		start_workflow "$workflow"
		wait_until runs_under_lock
		kill -KILL "$RUNNER" # the kernel kills all that runs on that host
		"$FAIRLOCK" status -q deploy
		wait_until is_free deploy
	done
}
