# No fault looks well: for each row of FAULTS in fairlock(7) that keeps locks from being taken or held,
# what `status`, its metrics and `doctor` say while it is so, and with which status they end.
load ../lib/jobs

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_CONNECT_TIMEOUT=1s COLUMNS=100 FAIRLOCK_URL
}

# runs STATUS ARG...: fairlock ends with STATUS
runs() { run --separate-stderr -"$1" timeout 20 "$FAIRLOCK" "${@:2}"; }

# says_why: standard error has one line that says what cannot be done
says_why() {
	assert_equal "${#stderr_lines[@]}" 1
	[[ $stderr = 'fairlock: cannot '* ]] || fail "$stderr"
}

# doctor_finds STATUS CHECK WORDS REMEDY: doctor ends with STATUS; it has one error of
# CHECK, with WORDS in it and REMEDY behind, and tells it once
doctor_finds() {
	runs "$1" doctor --json
	assert_equal "$(jq --arg check "$2" --arg words "$3" --arg remedy "$4" '[.findings[] |
		select(.severity == "error" and .check == $check and .consequence != null and
			(.finding | contains($words)) and (.remedy | contains($remedy)))] | length' <<<"$output")" 1 ||
		fail "$output"
	runs "$1" doctor
	assert_equal "$(grep -Ec "^  error +$2" <<<"$output")" 1
	assert_equal "$stderr" ''
	runs "$1" doctor --quiet
	assert_equal "$(grep -Ec "^  error +$2" <<<"$output")" 1
	assert_equal "$stderr" ''
}

# shows_nothing STATUS COMMAND...: each of these commands ends with STATUS, shows nothing, and says why
shows_nothing() {
	local words

	for words in "${@:2}"; do
		runs "$1" $words
		assert_equal "$output" ''
		says_why
	done
}

# away STATUS WORDS REMEDY: the server cannot be asked
away() {
	shows_nothing "$1" status 'status job' 'status -q job' 'status --json' 'status --prometheus' 'status --prometheus job'
	doctor_finds "$1" reach "$2" "$3"
}

# takes_none CHECK WORDS REMEDY: locks can be seen, and none can be taken
takes_none() {
	local words

	runs 69 wrap -n other true
	for words in 'status --all' 'status job' 'status --json job' 'queue --json job'; do
		runs 69 $words
		assert_output --regexp 'job|"queue"'
		says_why
	done
	for words in 'status --prometheus' 'status --prometheus job'; do
		runs 0 $words
		assert_line 'fairlock_can_grant 0'
		assert_line 'fairlock_held{lock="job"} 0'
	done
	doctor_finds 2 "$1" "$2" "$3"
}

# well: the fault is over, or has not come yet
well() {
	local words

	for words in status 'status job' 'queue job'; do
		runs 0 $words
		assert_equal "$stderr" ''
	done
	runs 0 status --prometheus
	assert_line 'fairlock_can_grant 1'
	run "$FAIRLOCK" doctor --json
	assert_equal "$(jq '[.findings[] | select(.severity == "error")] | length' <<<"$output")" 0
}

# during OPTIONS BEGIN END CHECK...: a server with OPTIONS is well, and knows the lock `job`. From the command BEGIN to the command END,
# if that is not '', CHECK... finds the fault. Then the server is well again.
during() {
	start_server $1
	"$FAIRLOCK" wrap job true
	well
	$2 >/dev/null
	"${@:4}"
	[ -z "$3" ] || { $3 >/dev/null && well; }
}

# ---- The server is not there ----

@test "connection refused is no health" {
	during '' stop_server '' away 69 'Connection refused' 'start the server'
	rm "$SERVER_SOCKET"
	away 69 'No such file' 'start the server'
	FAIRLOCK_URL=redis://127.0.0.1:$(free_port)
	away 69 'Connection refused' 'start the server'
}

@test "a frozen server is no health" {
	during '' 'signal_server STOP' 'signal_server CONT' away 69 'no reply in time' 'see whether the server hangs'
}

@test "CLIENT PAUSE for writes is no health" {
	is_seen() {
		shows_nothing 69 status 'status job' 'status --prometheus' 'status --prometheus job'
		runs 69 doctor
		assert_output --partial 'no reply in time'
	}
	during '' 'cli CLIENT PAUSE 100000 WRITE' 'cli CLIENT UNPAUSE' is_seen
}

@test "BUSY is no health" {
	during '--lua-time-limit 100' run_script 'cli SCRIPT KILL' away 69 '' 'SCRIPT KILL'
}

@test "max number of clients is no health" {
	PORT=$(free_port)
	let_in() { console "CONFIG SET maxclients $1"; }
	during "--port $PORT --bind 127.0.0.1" 'let_in 1' 'let_in 1000' away 69 'clients' 'raise maxclients'
}

@test "no Redis at all is no health" {
	background python3 "$TESTS_DIR/lib/nonsense.py" "$PWD/listener" http
	wait_until test -S listener
	FAIRLOCK_URL=unix:$PWD/listener
	away 70 '' 'see what listens there'
}

@test "a wrong password, and none where one is needed, are no health" {
	during '' 'cli CONFIG SET requirepass secret' '' away 77 '' 'FAIRLOCK_PASSWORD'
	FAIRLOCK_PASSWORD=wrong away 77 '' 'FAIRLOCK_PASSWORD'
	FAIRLOCK_PASSWORD=secret well
}

# ---- The server is there, and takes no writes ----

@test "READONLY is no health" {
	during '' 'cli REPLICAOF 127.0.0.1 1' 'cli REPLICAOF NO ONE' takes_none role 'this is a replica' 'name its master'
}

@test "OOM is no health" {
	during '' 'cli CONFIG SET maxmemory 1' 'cli CONFIG SET maxmemory 1gb' takes_none memory 'memory is full' 'raise maxmemory'
}

@test "NOREPLICAS is no health" {
	during '' 'cli CONFIG SET min-replicas-to-write 1' 'cli CONFIG SET min-replicas-to-write 0' \
		takes_none replicas 'min-replicas-to-write is 1' 'mend the replicas'
}

@test "MISCONF is no health" {
	during '--save 3600 1 --dbfilename x.rdb' save_nothing '' takes_none disk 'snapshot' 'is the disk full'
}

# A user who may see nothing of all that learns it from what a job would be told.
@test "a server that takes no writes is no health for a user without INFO and CONFIG" {
	start_server
	"$FAIRLOCK" wrap job true
	cli ACL SETUSER default -info '+info|server' -config >/dev/null
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	takes_none role 'this is a replica' 'name its master'
	cli REPLICAOF NO ONE >/dev/null
	cli ACL SETUSER default +config >/dev/null
	cli CONFIG SET maxmemory 1 >/dev/null
	cli ACL SETUSER default -config >/dev/null
	takes_none grants '' 'raise maxmemory'
}
