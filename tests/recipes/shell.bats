#!/usr/bin/env bats
# The small programs of man/examples that are a few lines of shell, and metrics-crontab with alerts.yml.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

setup() {
	begin_example
}

@test "build-site builds alone, and inside its own lock when it releases" {
	# shellcheck disable=SC2016
	program make 'echo "made $1"'
	installs build-site
	run -0 cron 'build-site release'
	assert_output $'made all\nmade release'
	run -0 cron build-site
	assert_output 'made all'
	is_free site
	run -64 cron 'build-site relase'
}

@test "deploy-newest lets the newest preview wait in the place of the one before" {
	local pids=()

	installs deploy-newest
	printf '#!/bin/sh\necho "$1" >>ran; until test -e go; do sleep 0.05; done\n' >deploy-preview
	chmod +x deploy-preview
	as_cron background 'deploy-newest one'
	pids+=($!)
	wait_until has_lines 1 ran
	for branch in two three; do
		as_cron background "deploy-newest $branch" 2>>said
		pids+=($!)
		wait_until in_queue preview 1
	done
	ends_with 75 "${pids[1]}"
	touch go
	ends_with 0 "${pids[0]}"
	ends_with 0 "${pids[2]}"
	assert_equal "$(<ran)" $'one\nthree'
	grep -q 'cannot get lock preview: superseded by ./deploy-preview' said
}

@test "migrate-site migrates when it has the site, its cache and its database, and nobody else has one of them" {
	local job

	installs migrate-site
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nfor lock in cache db site; do fairlock status -q "$lock" || exit; done; echo migrated >>ran\n' >migrate.sh
	chmod +x migrate.sh
	hold db
	as_cron background migrate-site
	job=$!
	wait_until in_queue db 1
	[ ! -e ran ]
	kill "$HOLDER"
	ends_with 0 "$job"
	has_lines 1 ran
	for lock in cache db site; do
		is_free "$lock"
	done
	hold site
	sed -i 's/--wait 10m/--wait 100ms/' bin/migrate-site
	run -75 cron migrate-site
	has_lines 1 ran
}

# metrics_line: prints the command of metrics-crontab, with a folder of ours
metrics_line() {
	sed -n 's/^\* \* \* \* \*	root	//p' "$EXAMPLES/metrics-crontab" | sed "s,/var/lib/prometheus/node-exporter,$PWD/textfiles,"
}

@test "metrics-crontab replaces the file of metrics, or keeps it if the server is away" {
	local line

	mkdir textfiles
	"$FAIRLOCK" wrap job true
	line=$(metrics_line)
	run -0 cron "$line"
	refute_output
	grep -qx 'fairlock_grants_total{lock="job"} 1' textfiles/fairlock.prom
	"$FAIRLOCK" wrap job true
	FAIRLOCK_URL=unix:$PWD/none run -69 cron "$line"
	assert_output --partial 'fairlock: cannot reach '
	grep -qx 'fairlock_grants_total{lock="job"} 1' textfiles/fairlock.prom
	run -0 cron "$line"
	grep -qx 'fairlock_grants_total{lock="job"} 2' textfiles/fairlock.prom
	# no other file for the collector to read
	assert_equal "$(ls textfiles)" fairlock.prom
}

@test "the rules of alerts.yml are valid and use metrics that exist" {
	local metric

	find_promtool
	cp "$EXAMPLES/alerts.yml" rules.yml
	run -0 "$PROMTOOL" check rules rules.yml
	assert_output --partial '4 rules found'
	"$FAIRLOCK" status --prometheus >known
	for metric in $(grep -oE 'fairlock_[a-z_]+' rules.yml); do
		grep -q "^# TYPE $metric " known || fail "there is no $metric"
	done
}
