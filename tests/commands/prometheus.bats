#!/usr/bin/env bats
# status --prometheus: the format, as Prometheus' own tools read it, and the meaning of the numbers.

load ../lib/helpers
load ../lib/one_server
load ../lib/proxy

setup_file() {
	start_server
	# The library is Debian's, and only Debian's Python may find it.
	for PYTHON in python3 /usr/bin/python3; do
		! "$PYTHON" -c 'import prometheus_client' 2>/dev/null || break
	done
	export PYTHON
}

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

# read_metrics: prints the metrics of the standard input as JSON
read_metrics() {
	"$PYTHON" "$TESTS_DIR/commands/prometheus.py"
}

# metrics [NAME...]: prints the metrics of these locks as JSON; `metrics.prom` has them as they came
metrics() {
	"$FAIRLOCK" status --prometheus -- "$@" >metrics.prom
	read_metrics <metrics.prom
}

# metric NAME LOCK: prints this metric of the lock, or null
metric() {
	metrics "$2" | jq --arg metric "fairlock_$1" --arg lock "$2" '.[$metric][$lock]'
}

# counters LOCK: prints its numbers of grants, expiries, breaks and losses
counters() {
	"$FAIRLOCK" status --prometheus -- "$1" |
		sed -nE 's/^fairlock_(grants|expiries|breaks|losses)_total\{.*\} //p' | paste -sd ' '
}

# make_all_kinds: makes locks of all kinds
make_all_kinds() {
	"$FAIRLOCK" acquire held >/dev/null
	background "$FAIRLOCK" acquire held
	wait_until in_queue held 1
	"$FAIRLOCK" wrap free true
	"$FAIRLOCK" acquire 'a "b" \n \\ {c} ünï 锁 🔒' >/dev/null
	"$FAIRLOCK" acquire 'back\' >/dev/null
	"$FAIRLOCK" wrap foreign true
	cli HSET foreign $redisson 2 >/dev/null
}

# ---- The format ----

@test "status --prometheus prints metrics that Prometheus can read for all kinds of locks, sorted by name" {
	make_all_kinds
	metrics | jq -S 'map_values(keys) | {fairlock_locks, fairlock_held, fairlock_hold_seconds, fairlock_grants_total}' >found
	jq -nS --argjson odd "$(jq -Rn 'input' <<<'a "b" \n \\ {c} ünï 锁 🔒')" --argjson back "$(jq -Rn 'input' <<<'back\')" \
		'[$odd, $back, "foreign", "free", "held"] as $all | {fairlock_locks: [""], fairlock_held: $all,
			fairlock_hold_seconds: ($all - ["foreign"]), fairlock_grants_total: $all}' >expected
	diff expected found
	assert_equal "$(sed -n 's/^fairlock_held{lock="\(.*\)"} .*/\1/p' metrics.prom | sed -n 1,2p)" \
		$'a \\"b\\" \\\\n \\\\\\\\ {c} ünï 锁 🔒\nback\\\\'
}

@test "promtool finds no mistake in the metrics of status --prometheus" {
	find_promtool
	make_all_kinds
	for name in '' held foreign unheard-of; do
		"$FAIRLOCK" status --prometheus ${name:+"$name"} >metrics.prom
		run -0 "$PROMTOOL" check metrics <metrics.prom
		refute_output
	done
	cli FLUSHALL
	"$FAIRLOCK" status --prometheus >metrics.prom
	run -0 "$PROMTOOL" check metrics <metrics.prom
	refute_output
}

@test "the reader of metrics that these tests use finds mistakes in them" {
	"$FAIRLOCK" acquire job
	metrics >/dev/null
	for change in 's/^(fairlock_held.*job.*)/\1\n\1/' 's/"}/}/' '/^# TYPE fairlock_held/d' 's/^fairlock_held/Held/' \
		's/^fairlock_waiters.*/&\nfairlock_held{lock="x"} 1/' 's/\} 1$/} one/' 's/job/j"b/' 's/job/j\\b/'; do
		run ! read_metrics < <(sed -E "$change" metrics.prom)
	done
}

@test "status --prometheus reports a number of 0 if there is no lock" {
	assert_equal "$(metrics | jq -c)" '{"fairlock_locks":{"":0},"fairlock_can_grant":{"":1}}'
	assert_equal "$(cli DBSIZE)" 0
}

@test "status --prometheus leaves out invalid names that other programs wrote" {
	"$FAIRLOCK" acquire job
	cli HSET $'fairlock:{\xff\xfe}' name $'\xff\xfe' >/dev/null
	cli HSET $'fairlock:{a\nb}' name $'a\nb' >/dev/null
	cli HSET 'fairlock:foreign' name job >/dev/null
	cli HSET 'fairlock:{other}' name $'"} 1\nx{lock="' >/dev/null
	assert_equal "$(metrics | jq -c '[.fairlock_locks, .fairlock_held]')" '[{"":1},{"job":1}]'
	run -64 "$FAIRLOCK" status --prometheus $'\xff'
}

@test "status --prometheus reports a lock once that is named twice" {
	"$FAIRLOCK" acquire b
	assert_equal "$(metrics b a b b a | jq -c '[.fairlock_locks, .fairlock_held]')" '[{"":2},{"a":0,"b":1}]'
}

@test "status --prometheus reports 1,500 locks" {
	for i in {1..1500}; do
		echo "HSET fairlock:{job$i} name job$i n:granted $i"
	done | cli >/dev/null
	assert_equal "$(metrics | jq -c '[.fairlock_locks[""], (.fairlock_grants_total | length, add)]')" '[1500,1500,1125750]'
}

@test "the manual describes exactly the metrics that status --prometheus prints" {
	diff <("$FAIRLOCK" status --prometheus | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort) \
		<(sed -n 's/^\.It Cm \(fairlock_[a-z_]*\)$/\1/p' "$TESTS_DIR"/../man/*.[1-9] | sort)
}

# ---- Usage ----

@test "status --prometheus refuses options that shape a table, as a usage error" {
	for option in --json --raw --noheadings --output=NAME -oNAME --watch --watch=2s --quiet -q; do
		for words in "--prometheus $option" "$option --prometheus"; do
			# shellcheck disable=SC2086
			run -64 "$FAIRLOCK" status $words job
			assert_line --index 0 --regexp "^fairlock: cannot use option '--[a-z]+': it does not go with --prometheus$"
		done
	done
	run -64 "$FAIRLOCK" queue --prometheus job
}

@test "status --prometheus prints despite FAIRLOCK_QUIET, and ends with 0 although the lock is free" {
	FAIRLOCK_QUIET=yes run -0 "$FAIRLOCK" status --prometheus job
	assert_line 'fairlock_held{lock="job"} 0'
}

@test "status --prometheus ends with 69 and prints no metrics if the server is out of reach" {
	run -69 --separate-stderr "$FAIRLOCK" status --prometheus --url "unix:$PWD/none"
	refute_output
	run -69 --separate-stderr "$FAIRLOCK" status --prometheus --url "unix:$PWD/none" job
	refute_output
}

@test "status --prometheus ends with 71 if its output cannot be written" {
	run -71 sh -c '"$FAIRLOCK" status --prometheus >/dev/full'
}

@test "status --prometheus reports the other locks if something else uses a name, and ends with 78" {
	"$FAIRLOCK" acquire a
	"$FAIRLOCK" acquire b
	cli DEL a
	cli SET a x
	run -78 --separate-stderr "$FAIRLOCK" status --prometheus
	assert_equal "$(read_metrics <<<"$output" | jq -c .fairlock_held)" '{"b":1}'
	[[ $stderr == 'fairlock: cannot use the name a: '* ]]
}

# ---- The meaning of the numbers ----

@test "status --prometheus reports 0 everywhere for an unused lock, and writes nothing to the server" {
	assert_equal "$(metrics job | jq -c 'del(.fairlock_locks, .fairlock_can_grant) | [keys[], (map(.job) | unique)]')" \
		"$(jq -nc '["breaks_total", "expiries_total", "grants_total", "held", "hold_seconds", "holders", "holds",
			"lease_remaining_seconds", "losses_total", "oldest_wait_seconds", "slots", "waiters" | "fairlock_" + .] + [[0]]')"
	assert_equal "$(cli DBSIZE)" 0
}

@test "status --prometheus reports how long a lock has been held, and the rest of its lease" {
	"$FAIRLOCK" acquire --lease 1h job
	lock=job change "$(lock=job holder_field)" "since=$(($(holder_column job since) - 100000))"
	cli PEXPIRE job 50000 >/dev/null
	metrics job >found
	jq -e '.fairlock_held.job == 1 and .fairlock_holds.job == 1 and .fairlock_grants_total.job == 1
		and .fairlock_hold_seconds.job >= 100 and .fairlock_hold_seconds.job < 140
		and .fairlock_lease_remaining_seconds.job <= 50 and .fairlock_lease_remaining_seconds.job > 10' found
	grep -qE '^fairlock_hold_seconds\{lock="job"\} 1[0-9]{2}\.[0-9]{3}$' metrics.prom
}

@test "status --prometheus reports a lock that was given back as free" {
	"$FAIRLOCK" wrap job true
	assert_equal "$(metrics | jq -c 'map_values(.job) | [.fairlock_held, .fairlock_holds, .fairlock_hold_seconds,
		.fairlock_lease_remaining_seconds, .fairlock_grants_total]')" '[0,0,0,0,1]'
}

@test "status --prometheus reports an infinite lease for a lock without a time to live" {
	"$FAIRLOCK" acquire job
	cli PERSIST job
	assert_equal "$(metric lease_remaining_seconds job)" '"+Inf"'
}

@test "status --prometheus counts a nested wrap as a hold, and not as a grant" {
	run -0 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap job "$FAIRLOCK" status --prometheus job
	assert_line 'fairlock_holds{lock="job"} 2'
	assert_line 'fairlock_grants_total{lock="job"} 1'
}

@test "status --prometheus leaves out the time of a hold that Redisson began, and counts no grant for it" {
	cli HSET job $redisson 2
	cli PEXPIRE job 30000
	assert_equal "$(metrics job | jq -c 'map_values(.job) | [.fairlock_held, .fairlock_holds, .fairlock_grants_total]')" '[1,2,0]'
	assert_equal "$(metric hold_seconds job)" null
}

@test "status --prometheus counts living waiters, and reports the longest wait among them" {
	waits() { metrics job | jq -e "$1"; }

	hold job
	assert_equal "$(metric oldest_wait_seconds job)" 0
	background "$FAIRLOCK" acquire job
	first=$!
	wait_until in_queue job 1
	background "$FAIRLOCK" acquire job
	wait_until waits '.fairlock_waiters.job == 2 and .fairlock_oldest_wait_seconds.job > 0.5'
	# the first waiter began long ago
	id=$(cli ZRANGE 'fairlock_queue:{job}' 0 0)
	cli ZINCRBY 'fairlock_queue:{job}' -1000000000 "$id"
	wait_until waits '.fairlock_oldest_wait_seconds.job > 1000 and .fairlock_oldest_wait_seconds.job < 1060'
	kill -KILL $first
	wait_until waits '.fairlock_waiters.job == 1 and .fairlock_oldest_wait_seconds.job < 60'
	kill $!
	wait_until waits '.fairlock_waiters.job == 0 and .fairlock_oldest_wait_seconds.job == 0'
}

@test "status --prometheus reports no wait of Redisson's waiters, but that of fairlock's waiters behind them" {
	"$FAIRLOCK" acquire job
	cli RPUSH 'redisson_lock_queue:{job}' $redisson >/dev/null
	cli ZADD 'redisson_lock_timeout:{job}' 99999999999999 $redisson >/dev/null
	background "$CLI" -s "$SERVER_SOCKET" SUBSCRIBE "redisson_lock__channel:{job}:$redisson" >/dev/null
	counted() { [ "$(metric waiters job)" = "$1" ]; }
	wait_until counted 1
	assert_equal "$(metric oldest_wait_seconds job)" null
	background "$FAIRLOCK" acquire job
	wait_until counted 2
	[ "$(metric oldest_wait_seconds job)" != null ]
}

# ---- Counters ----

@test "a killed holder counts as one expiry, even before the next grant" {
	counts() { [ "$(counters job)" = "$*" ]; }

	hold -l 6s job
	# Or else the one that dies last might give the lock back.
	wait_until pgrep -P "$HOLDER"
	kill_at_once "$(pgrep -P "$HOLDER")" "$HOLDER"
	wait_until counts 1 1 0 0
	assert_equal "$(cli HGET 'fairlock:{job}' n:expired)" ''
	"$FAIRLOCK" wrap job true
	counts 2 1 0 0
	"$FAIRLOCK" wrap job true
	counts 3 1 0 0
}

@test "a request counts once if a waiter sends it again because the answer was lost" {
	holds_now() { [ "$(cli HKEYS job)" = "$1" ]; }

	start_proxy "$SERVER_SOCKET"
	owner=$("$FAIRLOCK" acquire -l 10m job)
	background "$FAIRLOCK" wrap --url "redis://$PROXY_ADDRESS" job touch ran
	waiter=$!
	wait_until in_queue job 1
	id=$(cli ZRANGE 'fairlock_queue:{job}' 0 0)
	# The waiter hears of its turn 2 s late, asks, is granted the lock at once, and does not
	# hear that.
	proxy delay 2000 down
	"$FAIRLOCK" release --owner "$owner" job
	wait_until holds_now "$id"
	proxy reset
	[ ! -e ran ]
	proxy delay 0 down
	wait "$waiter"
	[ -e ran ]
	assert_equal "$(counters job)" '2 0 0 0'
}

@test "release --force counts as a break if the lock is held, and not if it is free" {
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" release --force job
	"$FAIRLOCK" release --force job
	assert_equal "$(counters job)" '1 0 1 0'
}

@test "a request that does not get the lock changes no counter" {
	hold job
	run -75 "$FAIRLOCK" wrap -n job true
	run -75 "$FAIRLOCK" wrap -w 50ms job true
	assert_equal "$(counters job)" '1 0 0 0'
}

@test "no counter falls under 60 random commands and losses of keys" {
	local before='0 0 0 0' after act acts=(
		'wrap -n job true' 'wrap -w 100ms job true' 'wrap job false' 'acquire -n -l 1s job' 'acquire -w 100ms -l 1s job'
		'release --force job' 'release --owner x job' 'renew --owner x job' 'wrap -n --min-hold 1s job true'
		'wrap -n --once-per 1s job true'
	)

	RANDOM=7
	for _ in {1..60}; do
		act=${acts[RANDOM % ${#acts[@]}]}
		# make sure that there is a hold to break, even on a slow machine
		[[ $act != *--force* ]] || "$FAIRLOCK" acquire -n -l 1m job >/dev/null 2>&1 || true
		# shellcheck disable=SC2086
		"$FAIRLOCK" $act >/dev/null 2>&1 || true
		[ $((RANDOM % 8)) -gt 0 ] || cli DEL job 'fairlock_log:{job}' >/dev/null
		after=$(counters job)
		paste -d ' ' <(tr ' ' '\n' <<<"$before") <(tr ' ' '\n' <<<"$after") >both
		awk '$2 < $1 || NF != 2 { exit 1 }' both || fail "$before, then $after"
		before=$after
	done
	read -r grants expiries breaks losses <<<"$after"
	[ "$grants" -gt 10 ] && [ "$breaks" -gt 1 ] || fail "too little happened: $after"
}

@test "status --prometheus reports how many hold the lock, and how many slots it has" {
	"$FAIRLOCK" acquire --slots 3 job >/dev/null
	assert_equal "$(metrics job | jq -c '[.fairlock_held.job, .fairlock_holders.job, .fairlock_slots.job]')" '[1,1,3]'
	"$FAIRLOCK" acquire --slots 3 job >/dev/null
	assert_equal "$(metrics job | jq -c '[.fairlock_held.job, .fairlock_holders.job, .fairlock_slots.job]')" '[1,2,3]'
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap --slots 3 job true
	wait_until in_queue job 2
	assert_equal "$(metrics job | jq -c '[.fairlock_held.job, .fairlock_holders.job, .fairlock_slots.job]')" '[1,2,3]'
	"$FAIRLOCK" acquire --slots db1,db2 names >/dev/null
	"$FAIRLOCK" acquire --slots db1,db2 names >/dev/null
	assert_equal "$(metrics names | jq -c '[.fairlock_holders.names, .fairlock_slots.names]')" '[2,2]'
	"$FAIRLOCK" acquire --shared books >/dev/null
	"$FAIRLOCK" acquire --shared books >/dev/null
	assert_equal "$(metrics books | jq -c '[.fairlock_holders.books, .fairlock_slots.books]')" '[2,0]'
}
