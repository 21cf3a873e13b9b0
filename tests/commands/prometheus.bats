# status --prometheus: the format, and the meaning of the numbers.

load ../lib/one_server

# metric NAME LOCK: prints this metric of the lock
metric() { "$FAIRLOCK" status --prometheus -- "$2" | sed -n "s/^fairlock_$1{lock=\"$2\"} //p"; }

# metrics LOCK NAME...: prints these metrics of the lock
metrics() {
	local name

	for name in "${@:2}"; do
		metric "$name" "$1"
	done | paste -sd ' '
}

# is NAME LOCK FROM TO: succeeds if this metric is in this range
is() { metric "$1" "$2" | awk -v from="$3" -v to="$4" '{ exit !($1 >= from && $1 <= to) }'; }

# make_all_kinds: makes locks of all kinds
make_all_kinds() {
	"$FAIRLOCK" acquire held >/dev/null
	background "$FAIRLOCK" acquire held
	wait_until in_queue held 1
	"$FAIRLOCK" wrap free true
	"$FAIRLOCK" acquire 'a "b" \n \\ {c} ünï 锁 🔒' >/dev/null
	"$FAIRLOCK" wrap foreign true
	cli HSET foreign $redisson 2 >/dev/null
}

@test "status --prometheus prints each metric of every lock once, sorted by name, and the manual describes these metrics" {
	make_all_kinds
	cli HSET $'fairlock:{\xff\xfe}' name $'\xff\xfe' >/dev/null # no name of a lock
	"$FAIRLOCK" status --prometheus >metrics.prom
	assert_equal "$(sed -n 's/^fairlock_held{lock="\(.*\)"} \(.\)$/\2 \1/p' metrics.prom)" \
		$'1 a \\"b\\" \\\\n \\\\\\\\ {c} ünï 锁 🔒\n1 foreign\n0 free\n1 held'
	grep -qx 'fairlock_locks 4' metrics.prom
	grep -qx 'fairlock_can_grant 1' metrics.prom
	assert_equal "$(grep -v '^#' metrics.prom | sed 's/ [^ ]*$//' | sort | uniq -d)" ''
	run ! grep -vE '^(# (HELP|TYPE) fairlock_[a-z_]+ .+|fairlock_[a-z_]+(\{lock=".+"\})? ([0-9]+(\.[0-9]+)?|\+Inf))$' metrics.prom
	diff <(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' metrics.prom | sort) \
		<(sed -n 's/^\.It Cm \(fairlock_[a-z_]*\)$/\1/p' "$TESTS_DIR"/../man/*.[1-9] | sort)
}

@test "status --prometheus ends with 69 and prints no metrics if the server is out of reach" {
	run -69 --separate-stderr "$FAIRLOCK" status --prometheus --url "unix:$PWD/none"
	refute_output
}

@test "promtool finds no mistake in the metrics of status --prometheus" {
	find_promtool
	make_all_kinds
	for name in '' held foreign unheard-of; do
		"$FAIRLOCK" status --prometheus ${name:+"$name"} >metrics.prom
		run -0 "$PROMTOOL" check metrics <metrics.prom
		refute_output
	done
}

@test "status --prometheus reports how long a lock has been held, and the rest of its lease" {
	"$FAIRLOCK" acquire --lease 1h job
	lock=job change "$(lock=job holder_field)" "since=$(($(holder_column job since) - 100000))"
	cli PEXPIRE job 50000 >/dev/null
	assert_equal "$(metrics job held holds grants_total)" '1 1 1'
	is hold_seconds job 100 140
	is lease_remaining_seconds job 10 50
	cli PERSIST job
	assert_equal "$(metric lease_remaining_seconds job)" +Inf
}

@test "status --prometheus counts living waiters, and reports the longest wait among them" {
	hold job
	assert_equal "$(metric oldest_wait_seconds job)" 0.000
	background "$FAIRLOCK" acquire job
	first=$!
	wait_until in_queue job 1
	background "$FAIRLOCK" acquire job
	wait_until is waiters job 2 2
	# the first waiter began long ago
	cli ZINCRBY 'fairlock_queue:{job}' -1000000000 "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)"
	wait_until is oldest_wait_seconds job 1000 1060
	kill -KILL $first
	wait_until is waiters job 1 1
	wait_until is oldest_wait_seconds job 0 60
}

@test "a killed holder counts as one expiry, even before the next grant, and a lock that is broken as one break" {
	counts() { [ "$(metrics job {grants,expiries,breaks,losses}_total)" = "$*" ]; }

	hold -l 3s job
	# Or else the one that dies last might give the lock back.
	wait_until pgrep -P "$HOLDER"
	kill_at_once "$(pgrep -P "$HOLDER")" "$HOLDER"
	wait_until counts 1 1 0 0
	"$FAIRLOCK" wrap job true
	counts 2 1 0 0
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" release --force job
	"$FAIRLOCK" release --force job
	counts 3 1 1 0
}

@test "status --prometheus reports how many hold the lock, and how many slots it has" {
	"$FAIRLOCK" acquire --slots 3 job >/dev/null
	assert_equal "$(metrics job held holders slots)" '1 1 3'
	"$FAIRLOCK" acquire --slots 3 job >/dev/null
	assert_equal "$(metrics job held holders slots)" '1 2 3'
	"$FAIRLOCK" acquire --slots db1,db2 names >/dev/null
	assert_equal "$(metrics names holders slots)" '1 1'
	"$FAIRLOCK" acquire --shared books >/dev/null
	"$FAIRLOCK" acquire --shared books >/dev/null
	assert_equal "$(metrics books holders slots)" '2 0'
}
