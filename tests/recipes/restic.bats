# man/examples/restic-nightly, with the real restic and a repository on this host.

load ../lib/recipes

# The repository is made once: restic takes half a second to make a key, and as long each time that it needs one.
setup_file() {
	start_server
	# restic keeps the last one of a day: here it is noon.
	TZ=Etc/GMT$(printf %+d $(($(date -u +%-H) - 12)))
	export TZ
	echo secret >"$BATS_FILE_TMPDIR/password"
	RESTIC_PASSWORD_FILE=$BATS_FILE_TMPDIR/password restic init --quiet --repo "$BATS_FILE_TMPDIR/repository"
}

setup() {
	begin_example
	mkdir srv
	installs restic-nightly
	cp -R "$BATS_FILE_TMPDIR/repository" .
	echo data >srv/data
	export RESTIC_REPOSITORY=$PWD/repository RESTIC_PASSWORD_FILE=$BATS_FILE_TMPDIR/password XDG_CACHE_HOME=$PWD/cache
}

# nightly RUNNER ARGUMENT...: the recipe, with the repository of this test
nightly() {
	as_cron "$1" "RESTIC_REPOSITORY=$RESTIC_REPOSITORY RESTIC_PASSWORD_FILE=$RESTIC_PASSWORD_FILE exec restic-nightly ${*:2}"
}

# starts_long_backup: a backup of what comes through a pipe, which lasts until there is a file `go`. Sets JOB; restic's
# process id is in `long.pid`.
starts_long_backup() {
	program restic '[ "$1 $3" != "backup --stdin" ] || echo $$ >long.pid; exec /usr/bin/restic "$@"'
	mkfifo in
	background sh -c 'exec >in; echo data; while test -p in && ! test -e go; do sleep 0.05; done'
	nightly background --stdin --stdin-filename long '<in' >>said 2>&1
	JOB=$!
	wait_until owns_repository 1
}

# owns_repository COUNT: succeeds if so many runs of restic have locked the repository. While restic writes a lock, its file has
# another name.
owns_repository() { [ "$(find repository/locks -type f ! -name '*-tmp-*' | wc -l)" = "$1" ]; }

has_snapshots() { [ "$(find repository/snapshots -type f | wc -l)" = "$1" ]; }

@test "restic-nightly runs backups together, prune alone behind them, and a later backup behind prune" {
	local second third

	starts_long_backup
	# runs beside the long one; then its prune waits
	nightly background srv >>said 2>&1
	second=$!
	wait_until in_queue restic 1
	has_snapshots 1
	nightly background srv >>said 2>&1
	third=$!
	wait_until in_queue restic 2
	touch go
	ends_with 0 "$JOB"
	ends_with 0 "$second"
	ends_with 0 "$third"
	[ ! -s said ]
	run -0 "$FAIRLOCK" log --json restic
	run -0 jq -r '.log[] | select(.event == "granted") | .command' <<<"$output"
	assert_output --regexp '^restic backup .*long
restic backup --quiet srv
sh
restic backup --quiet srv$'
	# of the two backups of one folder on one day, prune came between them
	has_snapshots 3
	restic check --quiet
}

@test "restic-nightly prunes after a backup that was killed, and that left restic's lock in the repository" {
	starts_long_backup
	kill -KILL "$(<long.pid)"
	wait_until ended "$JOB"
	owns_repository 1
	run -0 nightly command srv
	refute_output
	owns_repository 0
	restic check --quiet
}
