# The checker of the torture test on the end of jobs: exit statuses, and what a job leaves behind.
load ../lib/helpers
load checker

@test "the checker reports a job that does not end" {
	job one
	later 1000 event end '"x":0'
	violated 'served: one (wrap, lock x) had not ended when all was over: it never got the lock'
	# at that time, the driver kills the jobs that are left
	later 1000 ends one -9
	violated 'served: one (wrap, lock x) had not ended when all was over: it never got the lock'
}

@test "the checker reports a lock that was lost without a reason" {
	job one
	say start one 5
	later 100 say beat one 5
	ends one 76
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 76'
}

@test "the checker reports a lock that was lost although the server was away for a moment only" {
	job one
	say start one 5
	later 10 outage frozen 0 0
	ends one 76
	violated 'statuses: '
}

@test "the checker excuses a lost lock if this holder's way to the server was cut" {
	job one '"path":"proxy"'
	say start one 5
	later 10 outage cut 0 2000 proxy
	later 2000 ends one 76
	fine
	# another job has another way, so the cut is no excuse for it
	at=1100000000
	job two
	later 2000 ends two 76
	violated 'statuses: two '
}

@test "the checker reports a command that gave up when its connection broke" {
	job one '"path":"proxy"'
	fault cut one wrapper
	later 200 ends one 69
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 69'
}

@test "the checker reports a command that gave up when the server was frozen for a moment" {
	job one
	outage frozen 0 900
	later 800 ends one 69
	violated 'statuses: '
}

@test "the checker excuses a command that gave up when its wait was over and the server frozen" {
	job one '"wait":500'
	outage frozen 0 900
	later 800 ends one 69
	fine
}

@test "the checker excuses a command that gave up when its wait was over and the machine stood still" {
	job a '"wait":150'
	echo "{\"at\":$at,\"until\":$((at + 2000000000)),\"what\":\"stall\"}" >>history
	later 160 ends a 69
	fine
}

@test "the checker excuses a command that gave up when no server listened" {
	job one
	data_kept
	later 10 ends one 69
	fine
}

@test "the checker reports a wait that ended too early" {
	job one '"wait":500'
	later 400 ends one 75
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 75'
}

@test "the checker accepts a wait that ended when its time was over" {
	job one '"wait":500'
	later 501 ends one 75
	fine
}

@test "the checker reports a status of COMMAND that wrap did not pass on" {
	job one '"own":7'
	section one 5
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 0, not with any of [7]'
}

@test "the checker excuses that COMMAND ends with 137 if its inner wrap was killed before it began" {
	job a '"inner":["y"]'
	say start a 1
	fault kill a command 8 # not the process of the section
	say end a 1
	ends a 137
	fine
}

@test "the checker reports that COMMAND ended with 137 if nothing was killed" {
	job a '"inner":["y"]'
	say start a 1
	say end a 1
	ends a 137
	violated 'it ended with 137'
}

@test "the checker reports a status that means a bug" {
	job one
	outage frozen 0 0
	ends one 70
	violated 'statuses: '
}

# gives_up_after MS: the acquire of a script ends with 69
gives_up_after() {
	script_job script one
	later "$1" script_status one acquire 69
	ends one 69
}

@test "the checker excuses a script that gave up when the server was frozen twice, with a moment between" {
	outage frozen 0 2500
	outage frozen 2900 4900
	gives_up_after 5000
	fine
}

@test "the checker reports a script that gave up when the server was frozen twice, with more time between" {
	outage frozen 0 1900
	outage frozen 3100 4900
	gives_up_after 5000
	violated 'statuses: one (lock x, lease 3000 ms): acquire ended with 69'
}

@test "the checker reports a script's release that was refused without a reason" {
	script_job script one
	script_status one release 76
	ends one 0
	violated 'statuses: one (lock x, lease 3000 ms): release ended with 76'
}

@test "the checker excuses an acquire whose keeper was killed before it was ready" {
	script_job keeper a
	fault kill a keeper
	script_status a acquire 71
	ends a 71
	fine
}

@test "the checker reports an acquire that says without a reason that its keeper was killed" {
	script_job keeper a
	script_status a acquire 71
	ends a 71
	violated 'acquire ended with 71'
}

@test "the checker reports a channel that is left behind" {
	event left '"text":"channel y"'
	violated 'left: channel y'
}

@test "the checker reports a list and a sorted set that do not agree" {
	AGREE=false seen one two
	violated 'left: list and sorted set of lock x did not agree'
}

@test "the checker reports a waiter that has ended and is still in the queue" {
	job one '"wait":500'
	seen two one
	later 501 ends one 75
	fine
	later 5 seen two one
	violated 'left: one had ended with 75, and still waited for lock x'
}

# gone_unheard STATUS: one ends when the machine has stood still for 300 ms, and is still in the queue
gone_unheard() {
	job one '"wait":200'
	echo "{\"at\":$at,\"until\":$((at + 300000000)),\"what\":\"stall\"}" >>history
	later 310 event waiter '"owner":"one:7","job":"one"'
	ends one "$1"
	later 5 seen two one
}

@test "the checker excuses a waiter in the queue that never had an answer, and ended when the machine stood still" {
	gone_unheard 69
	fine
}

@test "the checker reports a waiter in the queue that had answers, and ended when the machine stood still" {
	gone_unheard 75
	violated 'left: one had ended with 75, and still waited for lock x'
}

# left_waiting WHAT: the script of one, which does WHAT, is killed while its acquire waits; 8 s later that has the lock
left_waiting() {
	job one "\"told\":\"$1\""
	sed -i 's/"kind":"wrap"/"kind":"script"/' events
	seen two one
	fault kill one script
	ends one -9
	later 8000 seen two one
	later 5 seen one
}

@test "the checker excuses an acquire by hand that waited on behind its killed script, and has got the lock just now" {
	left_waiting turns
	fine
	later 9000 seen one
	violated 'left: one had ended with -9, and still held lock x 17.0 s later, with a lease of 3000 ms'
}

@test "the checker reports an acquire with --while-pid that waited on behind its killed script" {
	left_waiting keeper
	violated 'left: one had ended with -9, and still held lock x 8.0 s later, with a lease of 3000 ms'
}

@test "the checker reports a holder that has ended and still holds the lock" {
	job one
	seen one
	section one 5
	fine
	later 5 seen one
	violated 'left: one had ended with 0, and still held lock x'
}

@test "the checker excuses that a killed waiter is in the queue for a while" {
	job one
	seen two one
	later 100 fault kill one wrapper
	ends one -9
	later 5 seen two one
	fine
}

@test "the checker reports a lock without a time to live" {
	event seen '"lock":"x","holders":["one:7"],"queue":[],"ttl":-1,"queue_ttl":0,"agree":true'
	violated 'left: lock x had no time to live'
}

@test "the checker reports a descriptor that COMMAND inherited" {
	job one
	say descriptors one 5
	section one 5
	violated 'left: one got descriptors'
}

@test "the checker excuses a wait of less than a second that ends with 69, and no longer one" {
	job one '"wait":950'
	later 98 ends one 69
	fine
	job two '"wait":1950'
	later 98 ends two 69
	violated 'statuses: two (lock x, lease 3000 ms): it ended with 69'
}
