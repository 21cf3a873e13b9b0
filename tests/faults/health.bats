# No fault looks well: for each row of FAULTS in fairlock(7) that keeps locks from being taken or held,
# what `status`, its metrics and `doctor` say while it is so, and with which status they end.
load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_CONNECT_TIMEOUT=1s COLUMNS=100 FAIRLOCK_URL
}

# runs STATUS ARG...: fairlock ends with STATUS
runs() {
	run --separate-stderr -"$1" timeout 20 "$FAIRLOCK" "${@:2}"
}

# says_why: standard error has one line that says what cannot be done
says_why() {
	assert_equal "${#stderr_lines[@]}" 1
	[[ $stderr = 'fairlock: cannot '* ]] || fail "$stderr"
}

# doctor_finds STATUS CHECK WORDS REMEDY [OPTION...]: doctor ends with STATUS; it has one error of
# CHECK, with WORDS in it and REMEDY behind, and tells it once
doctor_finds() {
	runs "$1" doctor --json "${@:5}"
	assert_equal "$(jq --arg check "$2" --arg words "$3" --arg remedy "$4" '[.findings[] |
		select(.severity == "error" and .check == $check and .consequence != null and
			(.finding | contains($words)) and (.remedy | contains($remedy)))] | length' <<<"$output")" 1 ||
		fail "$output"
	runs "$1" doctor "${@:5}"
	assert_equal "$(grep -Ec "^  error +$2" <<<"$output")" 1
	assert_equal "$stderr" ''
	runs "$1" doctor --quiet "${@:5}"
	assert_equal "$(grep -Ec "^  error +$2" <<<"$output")" 1
	assert_equal "$stderr" ''
}

# away STATUS WORDS REMEDY: the server cannot be asked. Each command ends with STATUS, and shows nothing.
away() {
	local words

	for words in status 'status job' 'status -q job' 'status --json' 'status --prometheus' 'status --prometheus job'; do
		runs "$1" $words
		assert_equal "$output" ''
		says_why
	done
	doctor_finds "$1" reach "$2" "$3"
}

# takes_none CHECK WORDS REMEDY: locks can be seen, and none can be taken
takes_none() {
	local words

	runs 69 wrap -n other true
	for words in 'status --all' 'status job' 'status --json job'; do
		runs 69 $words
		assert_output --partial job
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

	for words in status 'status job'; do
		runs 0 $words
		assert_equal "$stderr" ''
	done
	runs 0 status --prometheus
	assert_line 'fairlock_can_grant 1'
	run "$FAIRLOCK" doctor --json
	assert_equal "$(jq '[.findings[] | select(.severity == "error")] | length' <<<"$output")" 0
}

# begin [OPTION...]: a server that is well, and has heard of the lock `job`
begin() {
	start_server "$@"
	"$FAIRLOCK" wrap job true
	well
}

# ---- The server is not there ----

@test "connection refused is no health" {
	begin
	stop_server
	away 69 'Connection refused' 'start the server'
	rm "$SERVER_SOCKET"
	away 69 'No such file' 'start the server'
	FAIRLOCK_URL=redis://127.0.0.1:$(free_port)
	away 69 'Connection refused' 'start the server'
}

@test "a frozen server is no health" {
	begin
	kill -STOP "$SERVER_PID"
	away 69 'no reply in time' 'see whether the server hangs'
	kill -CONT "$SERVER_PID"
	well
}

@test "CLIENT PAUSE for writes is no health" {
	begin
	cli CLIENT PAUSE 100000 WRITE >/dev/null
	for words in status 'status job' 'status --prometheus' 'status --prometheus job'; do
		runs 69 $words
		assert_equal "$output" ''
		says_why
	done
	runs 69 doctor
	assert_output --partial 'no reply in time'
	cli CLIENT UNPAUSE
	well
}

@test "BUSY is no health" {
	begin --lua-time-limit 100
	cli EVAL 'while true do end' 0 >script.said 2>&1 &
	is_busy() { cli PING 2>&1 | grep -q ^BUSY; }
	wait_until is_busy
	away 69 '' 'SCRIPT KILL'
	cli SCRIPT KILL
	well
}

@test "max number of clients is no health" {
	PORT=$(free_port)
	begin --port "$PORT" --bind 127.0.0.1
	console 'CONFIG SET maxclients 1'
	away 69 'clients' 'raise maxclients'
	console 'CONFIG SET maxclients 1000'
	well
}

@test "HELLO unknown is no health" {
	start_server --rename-command HELLO ''
	away 69 'unknown command HELLO' 'take its rename-command out'
}

@test "no Redis at all is no health" {
	port=$(free_port)
	background python3 -m http.server --bind 127.0.0.1 "$port" >http 2>&1
	is_there() { : </dev/tcp/127.0.0.1/"$port"; }
	wait_until is_there
	FAIRLOCK_URL=redis://127.0.0.1:$port
	away 70 '' 'see what listens there'
}

@test "a wrong password, and none where one is needed, are no health" {
	begin
	cli CONFIG SET requirepass secret >/dev/null
	away 77 '' 'FAIRLOCK_PASSWORD'
	FAIRLOCK_PASSWORD=wrong away 77 '' 'FAIRLOCK_PASSWORD'
	FAIRLOCK_PASSWORD=secret well
}

# ---- The server is there, and takes no writes ----

@test "READONLY, OOM and NOREPLICAS are no health" {
	begin --maxmemory 1gb
	while IFS=: read -r begins ends finding; do
		cli $begins >/dev/null
		IFS=/ read -r check words remedy <<<"$finding"
		takes_none "$check" "$words" "$remedy"
		cli $ends >/dev/null
		well
	done <<'END'
REPLICAOF 127.0.0.1 1:REPLICAOF NO ONE:role/this is a replica/name its master
CONFIG SET maxmemory 1:CONFIG SET maxmemory 1gb:memory/memory is full/raise maxmemory
CONFIG SET min-replicas-to-write 1:CONFIG SET min-replicas-to-write 0:replicas/min-replicas-to-write is 1/mend the replicas
END
}

@test "MISCONF is no health" {
	begin --save '3600 1' --dbfilename x.rdb
	mkdir x.rdb # so that it cannot write a snapshot
	cli SET a b >/dev/null
	cli BGSAVE >/dev/null
	write_is_refused() { cli SET a b | grep MISCONF; }
	wait_until write_is_refused
	takes_none disk 'snapshot' 'is the disk full'
}

# A user who may see nothing of all that learns it from what a job would be told.
@test "a server that takes no writes is no health for a user without INFO and CONFIG" {
	begin
	cli ACL SETUSER default -info '+info|server' -config >/dev/null
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	takes_none role 'this is a replica' 'name its master'
	cli REPLICAOF NO ONE >/dev/null
	cli ACL SETUSER default +config >/dev/null
	cli CONFIG SET maxmemory 1 >/dev/null
	cli ACL SETUSER default -config >/dev/null
	takes_none grants '' 'raise maxmemory'
}

@test "too few replicas for --replicas are no health" {
	begin
	runs 69 wrap --replicas 1 --connect-timeout 300ms job true
	doctor_finds 2 replicas '--replicas is 1' 'mend the replicas' --replicas 1
}

