# The programs of man/examples that are a few lines of shell or Python, and metrics-crontab with alerts.yml.

load ../lib/recipes

# A COMMAND's end: it stays until there is a file `go` in this folder.
stays() { echo "until test -e '$PWD/go'; do sleep 0.05; done"; }

# start COMMAND: runs it as cron does, in the background. Adds its process id to PIDS; its messages come into `said`.
start() {
	as_cron background "$1" 2>>said
	PIDS+=($!)
}

# all_end STATUS...: so do those in PIDS, in this order
all_end() {
	local pid

	for pid in "${PIDS[@]}"; do
		ends_with "$1" "$pid"
		shift
	done
}

@test "build-site builds alone, and inside its own lock when it releases" {
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
	installs deploy-newest
	in_folder deploy-preview "echo \"\$1\" >>ran; $(stays)"
	start 'deploy-newest one'
	wait_until has_lines 1 ran
	start 'deploy-newest two'
	wait_until in_queue preview 1
	start 'deploy-newest three'
	ends_with 75 "${PIDS[1]}"
	grep -q 'cannot get lock preview: superseded by ./deploy-preview' said
	touch go
	ends_with 0 "${PIDS[0]}"
	ends_with 0 "${PIDS[2]}"
	assert_equal "$(<ran)" $'one\nthree'
}

@test "migrate-site migrates when it has the site, its cache and its database, and nobody else has one of them" {
	installs migrate-site
	in_folder migrate.sh 'for lock in cache db site; do fairlock status -q "$lock" || exit; done; echo migrated >>ran'
	hold db
	start migrate-site
	wait_until in_queue db 1
	[ ! -e ran ]
	kill "$HOLDER"
	all_end 0
	has_lines 1 ran
	for lock in cache db site; do
		is_free "$lock"
	done
	hold site
	sed -i 's/--wait 10m/--wait 100ms/' bin/migrate-site
	run -75 cron migrate-site
	has_lines 1 ran
}

@test "check-in-turn runs the tests of a repository's worktrees and clones in the order in which agents asked, through pipes" {
	local name

	export GIT_CONFIG_GLOBAL=$PWD/gitconfig GIT_CONFIG_NOSYSTEM=1
	git config --global user.name test
	git config --global user.email test@example.com
	git init --quiet --initial-branch=main shop
	mkdir shop/scripts
	install -m 755 "$EXAMPLES/check-in-turn" shop/scripts/check
	# The tests of the repository must be alone.
	program heavy-tests "mkdir '$PWD/in' || exit; basename \"\$PWD\" >>'$PWD/ran'; $(stays); rmdir '$PWD/in'"
	printf 'check:\n\t@heavy-tests\n' >shop/Makefile
	git -C shop add .
	git -C shop commit --quiet --message first
	git -C shop worktree add --quiet ../second
	git clone --quiet "$PWD/shop/.git" third
	# agent FOLDER NAME WAITING: FOLDER.said has all that the agent reads, with the status as the last line
	agent() {
		start "cd $1; export AGENT=$2; { scripts/check; echo status \$?; } 2>&1 | cat >$PWD/$1.said"
		wait_until test -s ran
		wait_until in_queue check-shop "$3"
	}
	agent shop ann 0
	agent second ben 1
	agent third cleo 2
	run -0 "$FAIRLOCK" queue --raw --noheadings -o REASON check-shop
	assert_output $'ben\\x20in\\x20second,\\x20branch\\x20second\ncleo\\x20in\\x20third,\\x20branch\\x20main'
	touch go
	for name in shop second third; do
		wait_until grep -qx 'status 0' "$name.said"
	done
	assert_equal "$(<ran)" $'shop\nsecond\nthird'
	assert_equal "$(<shop.said)" 'status 0'
	run -0 cat third.said
	assert_line --index 0 --regexp 'place 2 of 2.* held by make: ann in shop, branch main'
}

@test "with-test-database gives three runs a database each, and a fourth one waits" {
	mkdir databases
	installs with-test-database
	sqlite3 databases/template.sqlite 'CREATE TABLE orders (name); INSERT INTO orders VALUES ("first")'
	# Writes its argument into its database, stays, and prints what it has.
	program itest 'sqlite3 "$TEST_DATABASE" "INSERT INTO orders VALUES (\"$1\")"
		echo "${TEST_DATABASE##*/}" >>used
		'"$(stays)"'
		sqlite3 "$TEST_DATABASE" "SELECT group_concat(name) FROM orders"'
	for number in 1 2 3; do
		start "TEST_DATABASES=$PWD/databases exec with-test-database itest run-$number" >out$number
	done
	wait_until has_lines 3 used
	assert_equal "$(sort used)" $'db1.sqlite\ndb2.sqlite\ndb3.sqlite'
	start "TEST_DATABASES=$PWD/databases exec with-test-database itest 'run  4'" >out4
	wait_until in_queue test-databases 1
	wait_until grep -q 'all 3 slots are held' said
	touch go
	all_end 0 0 0 0
	assert_equal "$(cat out?)" $'first,run-1\nfirst,run-2\nfirst,run-3\nfirst,run  4'
}

# ---- terraform-locked: Debian has no Terraform, so a program of this name stands in for it, which answers "workspace show"

# terraform TEXT: what it does else
terraform() {
	mkdir shop
	installs terraform-locked
	program terraform 'case "$*" in *"workspace show") echo default; exit ;; esac
		'"$1"
}

@test "terraform-locked runs plan and apply of a workspace one after the other, with their arguments and status, and the rest without a lock" {
	terraform '{ printf "<%s>" "${FAIRLOCK_NAME-no lock}" "$@"; echo; } >>'"$PWD/ran; $(stays)"'; test "$2" != destroy || exit 3'
	start 'terraform-locked -chdir=shop plan -var "name=a  b" -out=plan'
	wait_until has_lines 1 ran
	start 'cd shop; exec terraform-locked apply -auto-approve ""'
	wait_until in_queue terraform-shop-default 1
	wait_until grep -q 'held by terraform -chdir=shop plan' said
	touch go
	all_end 0 0
	run -3 cron 'terraform-locked -chdir=shop destroy'
	hold terraform-shop-default
	cron 'cd shop; terraform-locked fmt; terraform-locked -version; terraform-locked; terraform-locked workspace list'
	assert_equal "$(<ran)" "$(cat <<-'END'
		<terraform-shop-default><-chdir=shop><plan><-var><name=a  b><-out=plan>
		<terraform-shop-default><apply><-auto-approve><>
		<terraform-shop-default><-chdir=shop><destroy>
		<no lock><fmt>
		<no lock><-version>
		<no lock>
		<no lock><workspace><list>
	END
	)"
}

@test "terraform-locked lets Terraform end what it is doing when it must stop" {
	terraform 'trap "sleep 1; touch ended; exit" INT; touch began; while test -e began; do sleep 0.05; done'
	start 'exec env --default-signal=INT terraform-locked -chdir=shop apply' # in the background a shell would have it ignored
	wait_until test -e began
	"$FAIRLOCK" release --stop --wait 20s terraform-shop-default
	[ -e ended ]
	all_end 124
}

# ---- fairlock_lock.py

# python RUNNER CODE: runs it beside fairlock_lock.py
python() {
	local file

	cp -n "$EXAMPLES/fairlock_lock.py" .
	file=$(mktemp code-XXXXXX.py)
	printf 'import os, sys, subprocess, time\nfrom fairlock_lock import fairlock\n%s\n' "$2" >"$file"
	as_cron "$1" "exec python3 $file"
	PIDS+=($!)
}

# A block that writes the token into `ran`, and stays.
stay='with fairlock("job") as hold:
    print(hold["token"], file=open("ran", "a"))
    while os.path.exists("bin") and not os.path.exists("go"):
        time.sleep(0.05)'

@test "fairlock_lock.py runs blocks of several processes one at a time, in order, and the tokens grow" {
	local i

	for i in 0 1 2; do
		python background "$stay"
		wait_until test -s ran
		wait_until in_queue job "$i"
	done
	has_lines 1 ran
	run -0 "$FAIRLOCK" status --raw --noheadings -o PID job
	assert_output "${PIDS[0]}"
	run -0 "$FAIRLOCK" queue --raw --noheadings -o PID job
	assert_output "${PIDS[1]}"$'\n'"${PIDS[2]}"
	touch go
	all_end 0 0 0
	assert_equal "$(<ran)" "$(sort -n ran | uniq)"
	has_lines 3 ran
	is_free job
}

@test "fairlock_lock.py frees the lock when its process is killed, and while it waits leaves the queue or raises TimeoutError" {
	python background "$stay"
	wait_until test -s ran
	python background "$stay"
	wait_until in_queue job 1
	run -0 python command 'try:
    with fairlock("job", "--wait", "100ms"):
        print("ran")
except TimeoutError as error:
    print(error)'
	assert_line --index 0 --partial 'fairlock: cannot get lock job: timed out after 100ms; held by python3'
	assert_line --index 1 'cannot get lock job'
	[ "${#lines[@]}" = 2 ]
	kill -KILL "${PIDS[1]}"
	wait_until in_queue job 0
	run -1 is_free job
	kill -KILL "${PIDS[0]}"
	wait_until is_free job
	has_lines 1 ran
}

# ---- metrics-crontab and alerts.yml

@test "metrics-crontab replaces the file of metrics, or keeps it if the server is away" {
	local line

	mkdir textfiles
	"$FAIRLOCK" wrap job true
	line=$(sed -n 's/^\* \* \* \* \*	root	//p' "$EXAMPLES/metrics-crontab" | sed "s,/var/lib/prometheus/node-exporter,$PWD/textfiles,")
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
