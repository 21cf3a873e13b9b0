#!/usr/bin/env bats
# man/examples/gitlab-ci.yml, with what GitLab's runner does (tests/lib/gitlab.py), in a shell and in a container.

load ../lib/helpers
load ../lib/machine
load ../lib/pipelines

# job NAME EXECUTOR: runs it. start_job NAME EXECUTOR: in the background
job() { start_job "$@" && wait "$RUNNER"; }

start_job() {
	[ -e build.sh ] || script build.sh true
	start_runner MASKED_FAIRLOCK_PASSWORD=secret "$TESTS_DIR/lib/gitlab.py" "$EXAMPLES/gitlab-ci.yml" "$@"
}

# ends: prints how the scripts of the job have ended
ends() { sed -n 's/^== //p' log | paste -sd ,; }

@test "the job deploy runs its command under the lock, in a shell and in a container" {
	local executor

	script build.sh '! fairlock status -q deploy && echo built >>done'
	for executor in shell container; do
		rm -f done
		job deploy $executor
		assert_equal "$(<done)" $'built\ndeployed production'
		is_free deploy
	done
}

@test "the job deploy waits for its turn, shows for which job, and leaves the queue if it is cancelled" {
	script deploy.sh "$STAYS"
	start_job deploy shell
	wait_until runs_under_lock
	mkdir other
	(
		cd other
		script deploy.sh 'touch deployed'
		start_job deploy shell
		wait_until grep -q 'held by .*https://git.example.com/shop/-/jobs/4711' log
		in_queue deploy 1
		cancel
		ends_with 1 "$RUNNER"
	)
	in_queue deploy 0
	[ ! -e other/deployed ]
	kill $(<pids)
}

@test "nothing of a cancelled job runs when the lock is free, in a shell and in a container" {
	local name executor

	script deploy.sh "$STAYS"
	for name in deploy migrate-and-deploy; do
		for executor in shell container; do
			rm -f pids
			start_job $name $executor
			wait_until runs_under_lock
			cancel
			wait_until is_free deploy
			[ $executor = container ] || nothing_runs
			ends_with 1 "$RUNNER"
		done
	done
}

@test "the job migrate-and-deploy holds one lock during its script, in a shell and in a container" {
	local executor

	# shellcheck disable=SC2016
	script migrate.sh 'fairlock status --noheadings -o OWNER deploy | tr -d " " >owner; echo "$FAIRLOCK_OWNER" >told'
	for executor in shell container; do
		rm -f done log
		job migrate-and-deploy $executor
		[ -s told ]
		diff owner told
		assert_equal "$(<done)" 'deployed production'
		is_free deploy
		assert_equal "$(ends)" 'script: 0,after_script: 0'
	done
}

@test "the job migrate-and-deploy gives the lock back if a command fails, in a shell and in a container" {
	local executor

	script migrate.sh 'exit 3'
	for executor in shell container; do
		rm -f log
		run -1 job migrate-and-deploy $executor
		assert_equal "$(ends)" 'script: 1,after_script: 0'
		wait_until is_free deploy
		[ ! -e done ]
	done
}

@test "the job migrate-and-deploy stops the deploy and fails if its lock is broken" {
	script deploy.sh "$STAYS"
	start_job migrate-and-deploy shell
	wait_until runs_under_lock
	"$FAIRLOCK" release --force deploy
	ends_with 1 "$RUNNER"
	nothing_runs
	assert_equal "$(ends)" 'script: 1,after_script: 0'
}

@test "if the runner is killed, the lock of migrate-and-deploy is free when the script has ended" {
	script migrate.sh "$STAYS"
	start_job migrate-and-deploy shell
	wait_until runs_under_lock
	kill -KILL "$RUNNER"
	"$FAIRLOCK" status -q deploy
	kill $(<pids)
	wait_until is_free deploy
}

@test "the lock of a runner's host that died is free when its lease has ended" {
	local name

	script deploy.sh "$STAYS"
	put /etc/fairlock.conf <<<'lease = 3s'
	IN=(unshare --pid --fork --kill-child --mount-proc)
	for name in deploy migrate-and-deploy; do
		rm -f pids
		start_job $name shell
		wait_until runs_under_lock
		kill -KILL "$RUNNER" # the kernel kills all that runs on that host
		"$FAIRLOCK" status -q deploy
		wait_until is_free deploy
	done
}
