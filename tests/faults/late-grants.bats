# A grant that comes late, because the waiter was stopped or the server is far away: COMMAND does
# not begin on a lease that is as good as over, and the waiter asks again.
load ../lib/jobs
load ../lib/proxy

setup() {
	start_in_folder
	"$FAIRLOCK" wrap other true # so that the server knows the scripts
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	proxy delay 300
}

# comes_late WORD...: `fairlock WORD...`, in WAITER, is granted job, and stopped until that is over
comes_late() {
	FAIRLOCK_URL=unix://$PWD/far background "$FAIRLOCK" "$@" >out 2>said
	WAITER=$!
	wait_until holds_lock "$WAITER"
	stop "$WAITER"
	wait_until is_free job
	[ ! -e ran ]
}

# ends STATUS [WORDS]: $WAITER ends with STATUS, and its standard error has WORDS
ends() {
	ends_with "$1" "$WAITER"
	[ -z "${2-}" ] || grep -q "$2" said
}

@test 'wrap waits again behind the next holder, and runs COMMAND once' {
	comes_late wrap -l 3 job sh -c 'echo ran >>ran; exit 7'
	hold job
	kill -CONT "$WAITER"
	wait_until in_queue job 1
	[ ! -e ran ]
	kill "$HOLDER"
	ends 7
	assert_equal "$(cat ran)" ran
	wait_until is_free job
}

@test 'wrap --wait ends if its time is over meanwhile, and leaves nothing' {
	comes_late wrap -w 2 -l 3 job touch ran
	kill -CONT "$WAITER"
	ends 75 'timed out'
	[ ! -e ran ]
	wait_until is_free job
	assert_equal "$("$FAIRLOCK" queue job --json | jq '.queue | length')" 0
}

# broken_late WORD...: `wrap WORD... job touch ran`, in WAITER, is granted job, but its hold is broken before it hears of that
broken_late() {
	FAIRLOCK_URL=unix://$PWD/far background "$FAIRLOCK" wrap -v -l 3 "$@" job touch ran 2>said
	WAITER=$!
	wait_until holds_lock "$WAITER"
	stop "$WAITER"
	"$FAIRLOCK" release --force -q job
	sleep 2 # so that the grant comes late
	kill -CONT "$WAITER"
}

@test 'wrap begins anew if its hold was broken by force before it heard of its grant; with --once-per it says why it cannot' {
	broken_late --once-per 1h
	ends 76 'before its command began; --once-per counts it as started'
	[ ! -e ran ]
	broken_late
	ends 0 'lost lock job: somebody broke it by force$'
	[ -e ran ]
}

@test 'wrap has its old place in the queue when its grant came late' {
	"$FAIRLOCK" acquire -l 3 job # nobody renews it, so that the first waiter asks for the lock
	FAIRLOCK_URL=unix://$PWD/far background "$FAIRLOCK" wrap -l 3 job sh -c 'echo late >>ran' 2>said
	WAITER=$!
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap job sh -c 'echo next >>ran; until [ -e go ]; do sleep 0.1; done'
	wait_until in_queue job 2
	background "$FAIRLOCK" wrap job sh -c 'echo last >>ran'
	wait_until in_queue job 3
	wait_until holds_lock "$WAITER"
	stop "$WAITER"
	wait_until grep -q next ran
	kill -CONT "$WAITER"
	wait_until in_queue job 2
	touch go
	ends 0
	wait_until grep -q last ran
	assert_equal "$(cat ran)" $'next\nlate\nlast'
}

@test 'wrap --once-per does not run after a late grant, and says why' {
	comes_late wrap --once-per 1h -l 3 job touch ran
	kill -CONT "$WAITER"
	ends 76 'before its command began; --once-per counts it as started'
	[ ! -e ran ]
}

@test 'wrap --once-ok ends with 0 after a late grant if COMMAND of another has ended with 0 meanwhile, else it runs' {
	comes_late wrap --once-ok 1h -l 3 job touch ran
	"$FAIRLOCK" wrap job true
	kill -CONT "$WAITER"
	ends 0
	[ ! -e ran ]
	"$FAIRLOCK" release -q --forget-run job
	comes_late wrap --once-ok 1h -l 3 job touch ran
	kill -CONT "$WAITER"
	ends 0
	[ -e ran ]
}

@test 'wrap ends with 69 if the server is too far away for the lease, and the lock is free again' {
	FAIRLOCK_URL=unix://$PWD/far run -69 --separate-stderr "$FAIRLOCK" wrap -l 1 job touch ran
	assert_equal "$stderr" 'fairlock: cannot get lock job: each grant came too late; use a longer --lease'
	[ ! -e ran ]
	is_free job
}
