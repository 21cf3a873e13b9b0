# Which signals reach COMMAND, and how often: by who sent them, and under three wraps inside each other.
load ../lib/one_server
load ../lib/jobs

setup() {
	begin
	write_catcher
}

@test "each signal that a process can catch reaches COMMAND once if somebody sends it to wrap" {
	# fairlock keeps the others: see fairlock-wrap(1)
	count=0 names='HUP INT QUIT TRAP ABRT USR1 USR2 ALRM TERM STKFLT CONT URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS 34 50'

	start_catcher 1
	for name in $names; do
		kill -s "$name" "$WRAPPER"
		wait_until lines_in got $((++count))
	done
	got_only $names
}

@test "COMMAND dies of the two signals that a C library keeps for itself, if somebody sends one to wrap" {
	for signo in 32 33; do
		background "$BUILD/programs/defaults" "$FAIRLOCK" wrap job sleep 600
		wrapper=$!
		wait_until has_guard "$wrapper"
		wait_until pgrep -P "$GUARD" -x sleep
		kill -s "$signo" "$wrapper"
		ends_with $((128 + signo)) "$wrapper"
		assert_equal "$("$FAIRLOCK" log --noheadings -o CAUSE job | tail -n 1)" "$signo"
	done
}

@test "a signal that somebody sends to one of three wraps inside each other reaches COMMAND once" {
	start_catcher 3
	middle=$(pgrep -P "$(pgrep -P "$WRAPPER")") # COMMAND of the first one's guard
	kill -s HUP "$WRAPPER"
	wait_until lines_in got 1
	kill -s 50 "$WRAPPER"
	kill -s 50 "$WRAPPER"
	kill -s USR1 "$middle"
	wait_until lines_in got 4
	got_only HUP 50 50 USR1
}

@test "a signal that COMMAND, a child that ends, or a descendant in another session sends to the process group reaches COMMAND once" {
	for wraps in 1 3; do
		rm -f go got pid
		start_catcher "$wraps" 'os.kill(0, 1); os.kill(0, 50); os.kill(0, 50)'
		wait_until lines_in got 3
		got_only HUP 50 50
	done
	# COMMAND does not wait for its child
	for sender in 'if os.fork() == 0: os.kill(0, 1); os._exit(0)' \
		$'group = os.getpgrp()\nif os.fork() == 0: os.setsid(); os.killpg(group, 1); time.sleep(60)'; do
		rm -f go got pid
		start_catcher 3 "$sender"
		wait_until lines_in got 1
		got_only HUP
	done
}

@test "an alarm that wrap has inherited ends COMMAND, whenever it comes" {
	run -142 perl -e 'alarm 1; exec @ARGV' "$FAIRLOCK" wrap job sleep 20
	for us in {1..20}000; do
		run -142 perl -MTime::HiRes=ualarm -e 'ualarm shift; exec @ARGV' "$us" "$FAIRLOCK" wrap job sleep 20
	done
	nothing_left
}

@test "an alarm that wrap has inherited ends its wait, and reaches COMMAND each time it comes" {
	hold job
	run -142 perl -e 'alarm 1; exec @ARGV' "$FAIRLOCK" wrap job true
	in_queue job 0
	background perl -MTime::HiRes=setitimer,ITIMER_REAL -e 'setitimer(ITIMER_REAL, 2, 0.1); exec @ARGV' "$FAIRLOCK" wrap other python3 catcher.py
	WRAPPER=$!
	wait_until lines_in got 3
	touch go
	ends_with 0 "$WRAPPER"
	assert_equal "$(sort -u got)" "$(kill -l ALRM)"
}

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
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -qq -f -e trace=kill,write -s 200 -o calls "$FAIRLOCK" wrap -k 300ms "$@" job \
		sh -c 'trap "" TERM; exec sleep 600' 2>said # COMMAND's own end when its guard dies would be too early
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
