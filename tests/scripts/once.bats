# --once-per and --once-ok: which starts and ends of a COMMAND count, for whom and for how long; release --forget-run; and a wrap of
# several locks, whose holds are of kind v until it has all of them, and start nothing before.

load ../lib/scripts

@test "once per period: acquire answers ran within nine tenths of the period after a start of any wrap, and grants after that" {
	acquire keeper kind=a # starts nothing
	release keeper
	acquire anna period=60000 is=granted
	for mode in wait try; do
		acquire ben mode=$mode period=60000 is='ran 0'
	done
	queue_is
	release anna
	later 50000
	acquire ben period=60000 is='ran 50000'
	nothing_left
	later 4000
	acquire ben period=60000 is=granted
	release ben
	later 60000
	acquire cleo # without a period
	release cleo
	acquire ben period=60000 is=ran
	all_well
}

@test "once per period: of three with slots two are not started, in either order, and the start of the third counts" {
	for order in 'ben cleo' 'cleo ben'; do
		for id in anna ben cleo; do
			acquire "$id" want='#4' is=granted
			later 10
		done
		for id in $order; do
			release "$id" mode=unused is='released 0'
		done
		acquire dora want='#4' period=60000 is=ran
		release anna
		release zoe mode=forget request="forget $order"
	done
}

@test "once per period: an unused grant does not count, and the start before it counts again" {
	acquire anna
	release anna mode=unused
	acquire anna period=60000 is=granted
	release anna
	later 57000
	acquire ben period=60000 is=granted
	release ben mode=unused
	release ben mode=unused again=1 is=released
	acquire cleo period=60000 is=granted
	release cleo mode=unused
	acquire dora period=100000 is='ran 57000'
}

@test "once per period: a running COMMAND counts after a failover has lost its start" {
	acquire anna
	release anna
	later 100000
	copy_data
	acquire ben period=60000 is=granted
	old_data # as after a failover to a replica that lacks the start
	renew ben period=60000 is='renewed * 1'
	release ben
	acquire cleo period=60000 is=ran
}

@test "once per period: a waiter does not start beside the one before it, which its own request handed the lock" {
	local want

	for want in s '#2'; do
		acquire anna kind=a lease=3000
		present ben
		acquire ben "want=$want" handed=aa period=60000
		later 3001
		acquire cleo "want=$want" period=60000 is='ran 0'
		assert_equal "$(holders)" ben
		queue_is
		release ben
		later 60000
		absent ben
	done
}

@test "once per period: our hash is kept for twice the longest period that was asked for, and at least a day beyond the last use" {
	acquire anna period=60000
	release anna
	assert_equal "$(cli PTTL "$(key_state)")" 86400000
	acquire ben period=604800000 is=ran
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000))
	later 60000
	acquire anna period=604800000 is=ran
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000 - 60000))
	later 700000000
	acquire anna period=604800000
	release anna
	acquire ben
	release ben
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000))
}

# ---- --once-ok

@test "once per period: each waiter behind a run is answered ran in its turn and passes the turn on" {
	acquire zoe kind=a
	present anna ben cleo dora
	acquire anna period=60000
	acquire ben period=60000
	acquire cleo period=60000
	acquire dora
	release zoe
	ask anna period=60000 is=granted
	ask ben period=60000 is=queued # a sign of life
	release anna
	is_told ben 0
	ask ben period=60000 is=ran
	is_told cleo 0
	ask cleo period=60000 is=ran
	is_told dora 0
	queue_is dora
	ask dora is=granted
	assert_equal "$(log_lines | grep -c '^event=left')" 2
}

@test "once ok: acquire answers ran ok within nine tenths of the period after the start of a success, and grants after that" {
	acquire anna period=ok60000
	acquire ben mode=try period=ok60000 is='busy anna'
	later 2000
	succeed anna
	acquire ben period=ok60000 is='ran ok 0'
	later 51000
	acquire cleo # also while another one runs
	acquire ben mode=try period=ok60000 is='ran ok 51000'
	queue_is
	release cleo
	later 2000
	acquire ben period=ok60000 is=granted
	acquire cleo mode=try period=ok2592000000
	assert_equal "$(cli PTTL "$(key_state)")" 2592000000
}

@test "once ok: no other end is a success, nor what acquire holds, nor a wrap inside another" {
	local end

	for end in 'status=1 cause=exit' 'status=0 cause=max-hold' 'status=0 cause=lost' 'status=0 cause=asked' \
		'status=143 cause=TERM' 'status=0 cause=exit mode=unused' ''; do
		acquire anna
		release anna $end is=released
		assert_equal "$(shown ok)" ''
	done
	acquire keeper kind=a
	succeed keeper is='released 0'
	assert_equal "$(shown ok)" ''
	acquire anna
	acquire anna request=inner inherited=anna is='granted anna'
	succeed anna request=inner is='released 1'
	assert_equal "$(shown ok)" ''
	succeed anna
	[ -n "$(shown ok)" ]
}

@test "once ok: a run that took longer than the period satisfies those who waited for it, whether they heard their ticket, and no newcomer" {
	acquire anna lease=86400000 period=ok60000
	present ben dora
	acquire ben period=ok60000
	acquire dora period=ok60000 is=queued
	for _ in 1 2; do
		later 80000
		ask ben period=ok60000 is=queued
	done
	succeed anna
	ask ben period=ok60000 is='ran ok'
	for _ in 1 2; do
		acquire dora period=ok60000 again=1 is='ran ok'
	done
	acquire cleo period=ok60000 is=granted
}

@test "once ok: with slots and shared holds a success counts for the lock, whoever else holds" {
	local want mode

	for want in '#2' s; do
		mode=s
		[ "$want" = s ] || mode='=1'
		cli FLUSHALL >/dev/null
		acquire anna "want=$want"
		acquire ben "want=$want"
		present cleo
		acquire cleo want=x period=ok60000 is=queued
		succeed anna hold_mode="$mode"
		is_told_to_ask cleo
		ask cleo want=x period=ok60000 is='ran ok'
		acquire dora "want=$want" period=ok60000 is='ran ok'
		absent cleo
		assert_equal "$(holders)" ben
		all_well
	done
}

@test "once ok: a COMMAND that ends with 0 counts when an acquire inside it still holds, and the next waiter knows that it is first" {
	present ben cleo
	acquire anna
	acquire anna request=inner kind=a inherited=anna
	acquire ben period=ok60000
	acquire cleo
	succeed anna is='released 1'
	is_told_to_ask ben
	ask ben period=ok60000 is='ran ok'
	queue_is cleo
	[[ $(heard cleo | tail -n 1) =~ ^(first\ [0-9]+|0)$ ]] # there may be room for it, or it is its turn
	all_well
}

@test "once ok: of a long queue nobody is handed the lock in vain, and each leaves when it asks" {
	acquire anna period=ok60000
	crowd 250 ok60000 0 1 x
	assert_equal "$(cli ZCARD "$(key_ours)")" 250
	succeed anna
	assert_equal "$(owner)" ''
	for _ in {1..10}; do
		next=$(waiting | cut -d ' ' -f 1)
		acquire "$next" again=1 period=ok60000 is='ran ok'
		assert_equal "$(owner)" ''
	done
	all_well
}

@test "once ok: one that supersedes, and has been asking since before the success, need not run" {
	acquire anna
	queue_up ben
	succeed anna
	acquire dora newest=-60000 period=ok1 is='ran ok'
	queue_is ben
	all_well
}

# ---- release --forget-run

# forget [WORD=VALUE...]
forget() {
	release '' request=forgetter mode=forget "$@"
}

@test "both kinds of jobs may run again once a run is forgotten, and the lock is left alone" {
	acquire anna period=60000
	succeed anna
	acquire cleo
	later 1000
	forget is='forgot 1000'
	assert_equal "$(owner)" cleo
	release cleo
	acquire ben period=60000 is=granted
	release ben mode=unused
	acquire ben period=ok60000 is=granted
	forget request=another
	succeed ben # a COMMAND that runs meanwhile
	acquire cleo period=ok60000 is='ran ok'
}

@test "forgetting that is asked again gets the same answer and forgets no later run; there may be nothing to forget" {
	forget request=first is='forgot -1'
	all_well
	acquire anna
	release anna mode=unused
	forget request=second is='forgot -1'
	acquire anna
	later 5000
	forget is='forgot 5000'
	succeed anna
	acquire anna
	forget strays=1 is='forgot 5000'
	[ -n "$(shown started)" ] && [ -n "$(shown ok)" ]
}

# ---- Several locks

@test "a grant of kind v is no start, whether it is asked for or handed over; a renewal with start makes it one, from then on" {
	acquire zoe kind=v
	assert_equal "$(shown started)" ''
	present anna
	acquire anna kind=v handed=1 is=queued
	release zoe
	handed anna 5000
	assert_equal "$(shown started)" ''
	later 4000
	renew anna start=1 is="renewed 30000 ${token[anna]} 0"
	assert_equal "$(shown started)" "$(now_ms)"
	release anna
	acquire ben period=60000 is=ran
}

@test "a start of kind v that is given back unused does not count, nor one inside a hold, which gives back its own entry only" {
	acquire ben
	before=$(shown started)
	acquire inner kind=v inherited=ben is='granted ben'
	later 10
	renew ben request=inner start=1 is=renewed
	assert_equal "$(holds) $(shown started)" "2 $before"
	release ben request=inner mode=unused is='released 1'
	assert_equal "$(holds) $(shown started)" "1 $before"
	release ben
	acquire anna kind=v
	renew anna start=1
	release anna mode=unused
	assert_equal "$(shown started)" "$before"
}

@test "after a loss of data a hold of kind v is taken up without a start, and with start it counts from now on" {
	acquire anna kind=v
	cli FLUSHALL
	renew anna kind=v is='renewed 30000 * 1'
	assert_equal "$(shown started)" ''
	cli FLUSHALL
	later 10
	renew anna start=1 is='renewed 30000 * 1'
	assert_equal "$(shown started)" "$(now_ms)"
}
