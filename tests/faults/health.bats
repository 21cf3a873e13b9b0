# No fault looks well: for each row of FAULTS in fairlock(7) that keeps locks from being taken or held,
# what `status`, its metrics and `doctor` say while it is so, and with which status they end.
load ../lib/helpers
load ../lib/network

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_CONNECT_TIMEOUT=1s COLUMNS=100 FAIRLOCK_URL
	ON=()
}

# runs STATUS ARG...: fairlock, on the host ON if that is set, ends with STATUS
runs() {
	run --separate-stderr -"$1" timeout 20 "${ON[@]}" "$FAIRLOCK" "${@:2}"
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
		# shellcheck disable=SC2086
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
		# shellcheck disable=SC2086
		runs 69 $words
		assert_output --partial job
		says_why
	done
	for words in 'status --prometheus' 'status --prometheus job'; do
		# shellcheck disable=SC2086
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
		# shellcheck disable=SC2086
		runs 0 $words
		assert_equal "$stderr" ''
	done
	runs 0 status --prometheus
	assert_line 'fairlock_can_grant 1'
	run "${ON[@]}" "$FAIRLOCK" doctor --json
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

@test "no host at the address is no health" {
	new_network
	ON=("$NEAR")
	FAIRLOCK_URL=redis://10.77.0.9:7000
	away 69 '' 'see whether 10.77.0.9 is the right address'
}

@test "a network that is cut is no health" {
	new_network
	start_far_server
	ON=("$NEAR") FAIRLOCK_URL=$FAR_URL
	runs 0 wrap job true
	well
	cut_wire
	away 69 'timed out' "see whether $FAR_ADDRESS is the right address"
	mend_wire
	well
}

@test "a name that is not found, and a resolver that is silent, are no health" {
	new_network
	new_names
	ON=("$NEAR" "$NAMED") FAIRLOCK_URL=redis://lock.example
	cut_wire
	away 69 'name' 'getent hosts lock.example'
	echo 'nameserver 127.0.0.1' >resolv.conf
	away 69 'name' 'getent hosts lock.example'
}

@test "a frozen server is no health" {
	begin
	kill -STOP "$SERVER_PID"
	away 69 'no reply in time' 'see whether the server hangs'
	kill -CONT "$SERVER_PID"
	well
}

@test "CLIENT PAUSE is no health" {
	begin
	cli CLIENT PAUSE 100000 >/dev/null
	away 69 'no reply in time' 'CLIENT PAUSE'
}

@test "CLIENT PAUSE for writes is no health" {
	begin
	cli CLIENT PAUSE 100000 WRITE >/dev/null
	for words in status 'status job' 'status --prometheus' 'status --prometheus job'; do
		# shellcheck disable=SC2086
		runs 69 $words
		assert_equal "$output" ''
		says_why
	done
	runs 69 doctor
	assert_output --partial 'no reply in time'
	cli CLIENT UNPAUSE
	well
}

@test "LOADING is no health" {
	start_server --appendonly yes --rdbcompression no
	cli EVAL 'for i = 1, 40 do redis.call("SET", i, string.rep("x", 3000)) end' 0
	cli BGREWRITEAOF >/dev/null
	is_rewritten() { cli INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }
	wait_until is_rewritten
	stop_server
	server_answers() { cli PING | grep -q LOADING; }
	start_server --appendonly yes --key-load-delay 400000 --loading-process-events-interval-bytes 1024
	away 69 '' 'wait until it has read its data'
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
	local port

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

@test "READONLY is no health" {
	begin
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	takes_none role 'this is a replica' 'name its master'
	cli REPLICAOF NO ONE >/dev/null
	well
}

@test "OOM is no health" {
	begin --maxmemory 1gb
	cli CONFIG SET maxmemory 1 >/dev/null
	takes_none memory 'memory is full' 'raise maxmemory'
	cli CONFIG SET maxmemory 1gb >/dev/null
	well
}

@test "a server that can evict nothing more is no health" {
	begin
	# Nothing that has a time to live is big enough.
	cli CONFIG SET maxmemory-policy volatile-ttl maxmemory 1 >/dev/null
	"$FAIRLOCK" doctor --json >found || true
	assert_equal "$(jq -r '[.findings[] | select(.severity == "error" and .check == "memory") | .finding[0:9]] | sort | join(",")' found)" \
		'maxmemory,memory is'
}

@test "an eviction policy is no health though locks can be taken" {
	begin
	cli CONFIG SET maxmemory 1gb maxmemory-policy allkeys-lru >/dev/null
	runs 0 wrap job true
	doctor_finds 2 memory allkeys-lru 'maxmemory-policy noeviction'
}

@test "MISCONF is no health, for an append-only file and for a snapshot that cannot be written" {
	start_server_on_small_disk
	"$FAIRLOCK" wrap job true
	fill_disk
	takes_none disk 'append-only file' 'is the disk full'
	empty_disk
	written() { cli SET filler 1 | grep -q OK; }
	wait_until written
	well
}

@test "NOREPLICAS is no health" {
	begin
	cli CONFIG SET min-replicas-to-write 1 >/dev/null
	takes_none replicas 'min-replicas-to-write is 1' 'mend the replicas'
	cli CONFIG SET min-replicas-to-write 0 >/dev/null
	well
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

# ---- Parts of it ----

@test "a lone node of a cluster with 101 slots is no health" {
	local full

	for full in no yes; do
		start_server --cluster-enabled yes --cluster-port "$(free_port)" \
			--cluster-require-full-coverage "$full" --cluster-config-file "nodes-$full.conf"
		cli CLUSTER ADDSLOTSRANGE 0 100 >/dev/null
		for words in status 'status --prometheus'; do
			# shellcheck disable=SC2086
			runs 69 $words
			assert_equal "$(grep -x 'fairlock_can_grant 1' <<<"$output")" ''
			says_why
		done
		doctor_finds 2 slots 'slots 101-16383: no node has them' 'redis-cli --cluster check'
		stop_server
	done
}

@test "a sentinel that knows no such master, and no sentinel at all, are no health" {
	local port

	port=$(free_port)
	printf '%s\n' "port $port" 'bind 127.0.0.1' "dir $PWD" >sentinel.conf
	background "$SERVER" sentinel.conf --sentinel >log 2>&1
	is_there() { : </dev/tcp/127.0.0.1/"$port"; }
	wait_until is_there
	FAIRLOCK_URL=redis+sentinel://127.0.0.1:$port/mymaster
	away 69 'mymaster' 'SENTINEL MASTERS'
	FAIRLOCK_URL=redis+sentinel://127.0.0.1:$(free_port)/mymaster
	away 69 'Connection refused' 'start the server'
}
