# The commands of man/examples/github-*.yml, gitlab-ci.yml and kubernetes-*.yml in plain shells, with the variables of the file.

load ../lib/machine

setup() {
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip 'there is no python3-yaml here'
	begin
	cli ACL SETUSER default resetpass '>secret' >/dev/null
	export REDISCLI_AUTH=secret # for the test itself
	put /run/secrets/fairlock/password <<<secret
	script migrate.sh 'fairlock status -q deploy && echo migrated >>done'
	script deploy.sh 'fairlock status -q deploy && echo "deployed $1" >>done'
	script build.sh '! fairlock status -q deploy && echo built >>done'
}

# script NAME TEXT: makes a script in this folder
script() {
	printf '#!/bin/bash\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# part FILE KEY...: prints what the file has there: a text, or a line for each item of a list and for each variable
part() {
	/usr/bin/python3 - "$EXAMPLES/$1" "${@:2}" <<-'END'
		import sys, yaml
		found = yaml.safe_load(open(sys.argv[1]))
		for key in sys.argv[2:]:
		    found = found[int(key) if isinstance(found, list) else key]
		if isinstance(found, dict):
		    found = [{"name": name, "value": value} for name, value in found.items()]
		for item in [found] if isinstance(found, str) else found:
		    print(item if isinstance(item, str) else "{name}={value}".format(**item))
	END
}

# The runners of GitHub and GitLab set CI=true.

# start COMMAND...: runs it on the host in the background, with VARIABLES only. Sets JOB, and writes `log`.
start() {
	background "$HOST" env --default-signal=INT -i HOME="$PWD" PATH=/usr/local/bin:/usr/bin:/bin \
		"${VARIABLES[@]}" "$@" >>log 2>&1
	JOB=$!
}

# github FILE KEY...: prints this part of the only job, with the values that GitHub has for its expressions
github() {
	part "$1" jobs deploy "${@:2}" | sed 's,\${{ secrets.FAIRLOCK_PASSWORD }},secret,
		s,\${{ github.repository }},shop/site,; s,\${{ github.run_id }},4711,'
}

github_deploy() {
	local shell

	mapfile -t VARIABLES < <(echo CI=true; github github-deploy.yml env)
	shell=$(github github-deploy.yml steps 1 shell)
	github github-deploy.yml steps 1 run >step
	printf '%s\nexit $?\n' "${shell/\{0\}/step}" >runner
	start bash runner
}

github_steps() {
	local shell number

	mapfile -t VARIABLES < <(echo CI=true; github github-steps.yml env)
	shell=$(github github-steps.yml defaults run shell)
	for number in 1 2 3 4; do
		github github-steps.yml steps $number run >step$number
	done
	cat >runner <<-END
		export GITHUB_ENV=variables
		bash -e step1 || exit
		export \$(cat variables)
		${shell/\{0\}/step2} && ${shell/\{0\}/step3}
		status=\$?
		bash -e step4 || status=\$?
		exit \$status
	END
	start bash runner
}

# gitlab JOB: starts its script
gitlab() {
	mapfile -t VARIABLES < <(echo CI=true; echo FAIRLOCK_PASSWORD=secret
		part gitlab-ci.yml variables | sed 's,\$CI_JOB_URL,https://git.example.com/shop/-/jobs/4711,')
	: >lines
	[ "$1" = deploy ] || part gitlab-ci.yml "$1" before_script >>lines
	part gitlab-ci.yml "$1" script >>lines
	start bash -eo pipefail lines
}

# pod PART VERSION KEY...: starts the container that this file has there; PART: command, or command and args
pod() {
	local words part

	mapfile -t VARIABLES < <(part "${@:3}" env)
	mapfile -t words < <(for part in $1; do part "${@:3}" "$part"; done)
	start "${words[@]//'$(VERSION)'/$2}"
}
migration() { pod command "${1-7}" kubernetes-migration.yml spec template spec initContainers 0; }
report() { pod 'command args' '' kubernetes-cronjob.yml spec jobTemplate spec template spec containers 0; }

@test "the commands of github-deploy.yml run under the lock, and the first one that fails ends them" {
	github_deploy
	ends_with 0 "$JOB"
	assert_equal "$(<done)" $'migrated\ndeployed production'
	script migrate.sh 'exit 3'
	github_deploy
	ends_with 3 "$JOB"
	is_free deploy
	[ "$(wc -l <done)" = 2 ]
}

@test "github-deploy.yml and the job deploy of gitlab-ci.yml wait for their turn, and say for which run" {
	script build.sh true
	hold --reason 'another deploy' deploy
	github_deploy
	wait_until in_queue deploy 1
	gitlab deploy
	wait_until in_queue deploy 2
	wait_until grep -q 'held by .*another deploy' log
	run -0 "$FAIRLOCK" queue --raw --noheadings -o REASON deploy
	assert_line --index 0 --partial 'run\x204711'
	assert_line --index 1 https://git.example.com/shop/-/jobs/4711
	kill "$HOLDER"
	ends_with 0 "$JOB"
	assert_equal "$(<done)" $'migrated\ndeployed production\ndeployed production'
}

@test "the steps of github-steps.yml and the lines of gitlab-ci.yml run under one lock, which is given back at the end" {
	local job

	script migrate.sh 'fairlock status --noheadings -o OWNER deploy | tr -d " " >owner; echo "$FAIRLOCK_OWNER" >told'
	for job in github_steps 'gitlab migrate-and-deploy'; do
		$job
		ends_with 0 "$JOB"
		[ -s told ]
		diff owner told
		if [ "$job" != github_steps ]; then
			part gitlab-ci.yml migrate-and-deploy after_script >after
			start bash -e after
			ends_with 0 "$JOB"
		fi
		is_free deploy
	done
	assert_equal "$(<done)" $'deployed production\ndeployed production'
	script migrate.sh 'exit 3'
	for job in github_steps 'gitlab migrate-and-deploy'; do
		$job
		ends_with 3 "$JOB"
		wait_until is_free deploy
	done
}

@test "one of four pods migrates, and all start; later pods start at once, and those of a new version migrate" {
	local pods=() pod

	program migrate 'echo started >>ran; until [ -e end ]; do sleep 0.05; done'
	for _ in 1 2 3 4; do
		migration
		pods+=("$JOB")
	done
	wait_until in_queue migrate-shop-7 3
	touch end
	for pod in "${pods[@]}"; do
		ends_with 0 "$pod"
	done
	migration
	ends_with 0 "$JOB"
	assert_equal "$(<ran)" started
	migration 8
	ends_with 0 "$JOB"
	assert_equal "$(<ran)" $'started\nstarted'
}

@test "the cron job runs its report in one of two clusters, shows it no password, and ends it on SIGTERM" {
	local first

	program report 'echo "$*" >>ran; ! env | grep =secret >>ran; until [ -e end ]; do sleep 0.05; done'
	report
	first=$JOB
	wait_until test -s ran
	report
	ends_with 0 "$JOB"
	kill -TERM "$first"
	ends_with 143 "$first"
	is_free nightly-report
	assert_equal "$(<ran)" --night
	[ ! -s log ]
}
