# What wrapper and guard signal, and when.
load ../lib/helpers
load ../lib/one_server
load ../lib/waiters

# stops_before_it_speaks STATUS SIGNALLER TEXT: in `calls`, this process sends SIGTERM before it writes the message
stops_before_it_speaks() {
	ends_with "$1" "$TRACER"
	awk -v pid="$2" -v text="$3" '
		$1 == pid && /kill\([0-9]+, SIGTERM\)/ && !stopped { stopped = NR }
		$1 == pid && /write\(2, / && index($0, text) { said = NR }
		END { print "stopped: " stopped ", said: " said; exit !(stopped && said && stopped < said) }' calls
}

# traced WORD...: `wrap WORD... job sleep 600`, by TRACER. Sets WRAPPER and GUARD.
traced() {
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -qq -f -e trace=kill,write -s 200 -o calls "$FAIRLOCK" wrap "$@" job sleep 600 2>said
	TRACER=$!
	wait_until pgrep -P "$TRACER"
	WRAPPER=$(pgrep -P "$TRACER")
	wait_until holds_lock "$WRAPPER"
	GUARD=$(pgrep -P "$WRAPPER")
	wait_until pgrep -P "$GUARD" -x sleep
}

@test "a wrapper whose guard died stops COMMAND before it says so" {
	traced
	kill -KILL "$GUARD"
	stops_before_it_speaks 76 "$WRAPPER" 'lost the guard of lock job: it died'
}

@test "a guard stops COMMAND before it says why" {
	traced
	"$FAIRLOCK" release --force job
	stops_before_it_speaks 76 "$GUARD" 'lost lock job'
	traced --max-hold 1s
	stops_before_it_speaks 124 "$GUARD" 'as long as --max-hold allows'
	traced
	"$FAIRLOCK" release --stop job
	stops_before_it_speaks 124 "$GUARD" 'lock job: '
	traced -v
	kill -KILL "$WRAPPER"
	stops_before_it_speaks 137 "$GUARD" 'lost the wrapper of lock job'
}
