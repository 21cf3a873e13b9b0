#!/usr/bin/env bats
# man/examples/terraform-locked. Debian has no Terraform: a program of this name stands in for it, which records its arguments
# and the lock, and answers "workspace show". One test runs the real one, where there is one.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

setup() {
	begin_example
	mkdir shop
	installs terraform-locked
	# shellcheck disable=SC2016
	program terraform '
		case "$*" in
		*"workspace show") cat "${1#-chdir=}/workspace" ;;
		*)
			printf "<%s>" "${FAIRLOCK_NAME-no lock}" "$@" >>"'"$PWD"'/ran"
			echo >>"'"$PWD"'/ran"
			until test -e "'"$PWD"'/go"; do sleep 0.05; done
			;;
		esac'
	echo default >shop/workspace
}

@test "terraform-locked runs plan and apply of a workspace one after the other, with their arguments, and keeps the status" {
	local pids=()

	as_cron background 'terraform-locked -chdir=shop plan -var "name=a  b" -out=plan'
	pids+=($!)
	wait_until has_lines 1 ran
	as_cron background 'cd shop; exec terraform-locked apply -auto-approve ""' 2>said
	pids+=($!)
	wait_until in_queue terraform-shop-default 1
	wait_until grep -q 'held by terraform -chdir=shop plan' said
	touch go
	ends_with 0 "${pids[0]}"
	ends_with 0 "${pids[1]}"
	assert_equal "$(<ran)" '<terraform-shop-default><-chdir=shop><plan><-var><name=a  b><-out=plan>
<terraform-shop-default><apply><-auto-approve><>'
	program terraform 'test "$*" != "-chdir=shop destroy" || exit 3; echo default'
	run -3 cron 'terraform-locked -chdir=shop destroy'
}

@test "terraform-locked runs what changes no state without a lock" {
	hold terraform-shop-default
	touch go
	cron 'cd shop; terraform-locked fmt; terraform-locked -version; terraform-locked; terraform-locked workspace list'
	assert_equal "$(<ran)" $'<no lock><fmt>\n<no lock><-version>\n<no lock>\n<no lock><workspace><list>'
}

# starts_apply: in the background, where a shell would have it ignore SIGINT
starts_apply() {
	as_cron background 'exec env --default-signal=INT terraform-locked -chdir=shop apply'
}

@test "terraform-locked lets Terraform end what it is doing when it must stop" {
	local job

	# shellcheck disable=SC2016
	program terraform 'case "$*" in *show) echo default; exit ;; esac
		trap "sleep 1; touch ended; exit" INT
		touch began
		while test -e began; do sleep 0.05; done'
	starts_apply 2>said
	job=$!
	wait_until test -e began
	"$FAIRLOCK" release --stop --wait 20s terraform-shop-default
	[ -e ended ]
	ends_with 124 "$job"
}
