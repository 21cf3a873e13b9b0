# Workspaces and deploys for the recipes of CI: `load helpers`, `load machine`, then `load pipelines`.

setup() {
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip 'there is no python3-yaml here'
	begin
	user deploy
	script migrate.sh 'fairlock status -q deploy && echo migrated >>done'
	# shellcheck disable=SC2016
	script deploy.sh 'fairlock status -q deploy && echo "deployed $1" >>done'
}

# script NAME TEXT: makes a script in the workspace, which is this folder
script() {
	printf '#!/bin/bash\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# The text of a script that waits for its child, as most do, and writes both process ids.
# shellcheck disable=SC2016
STAYS='sleep 600 & echo $$ $! >pids; wait'

# start_runner COMMAND...: runs it on the host in the background, through the words of IN. Sets RUNNER, and writes `log`.
start_runner() {
	background "$HOST" "${IN[@]}" env -i HOME="$PWD" PATH=/usr/local/bin:/usr/bin:/bin "$@" >>log 2>&1
	RUNNER=$!
}

# cancel: does what the button on the web page does
cancel() { kill -USR1 "$RUNNER"; }

# runs_under_lock: succeeds if a script of the text STAYS runs, and the lock is held
runs_under_lock() { [ -s pids ] && "$FAIRLOCK" status -q deploy; }

# nothing_runs: succeeds if that script and its child are gone
nothing_runs() {
	local pid

	for pid in $(<pids); do
		ended "$pid" || return
	done
}
