# The scripts with several holders, of slots or shared: how they get their holds, wait for them, and lose them.

load ../lib/scripts

# key_1: the field of key 1, and how many slots there are
key_1() { cli HGETALL job | paste -sd ' '; }

# gone: nobody holds
gone() { assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0; }

@test "named slots have no count, and a count that came beside them stays until the lock is free" {
	acquire anna want='=a,b'
	assert_equal "$(key_1)" 'fairlock:slots 0'
	acquire ben want='#3'
	acquire cleo want='=a,b' is=granted
	release ben
	acquire dora want='#4' mode=try is=busy
	release anna
	release cleo
	acquire dora want='#4' is=granted
}

@test "shared holds stand beside each other, and none beside an exclusive one" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=20000 is='granted ben'
	acquire cleo mode=try is=busy
	acquire dora want='#3' mode=try is=busy
	renew anna lease=40000 hold_mode=s is='renewed 40000' # the end of one hold only
	assert_equal "$(cli PTTL job) $(cli ZSCORE "$(key_holders)" ben)" "40000 $(($(now_ms) + 20000))"
	agree
	release anna
	release ben
	gone
	acquire cleo is=granted
	acquire anna want=s mode=try is=busy
}

@test "several processes of one holder go in and out of its slot, and none gets another" {
	acquire anna want='#2' lease=20000
	acquire inner inherited=anna want='=1,x' lease=60000 is='granted anna * 60000 * 2 =1'
	acquire other inherited='nobody anna' want='#1' kind=a is='granted * 3 =1'
	for want in =x s x; do
		acquire other inherited=anna kind=a want=$want is='other =1'
	done
	leave anna request=inner
	renew anna request=other kind=a hold_mode='=1' is=renewed
	release anna request=wrong is='not held anna'
	release anna is='released 1'
	release anna mode=any request=x is='released 0'
	gone
}

@test "requests about a slot that are sent again have one effect" {
	acquire anna want='#2'
	acquire anna want='#2' again=1 strays=1 is="granted anna ${token[anna]} * 1 =1"
	acquire inner inherited=anna want='#2' kind=a
	acquire inner inherited=anna want='#2' kind=a again=1 strays=1 is='granted * 2 =1'
	release anna request=x mode=any is='released 1'
	release anna request=x mode=any again=1 strays=1 is='released 1'
	release anna strays=1 is='released 0'
	acquire ben want='#2' is='granted * =1'
	release anna again=1 strays=2 is='released 0'
	assert_equal "$(holders)" ben
	queue_up cleo
	leave cleo
	leave cleo strays=1 is='left ben'
}

@test "a slot of another count does not fit beside counted ones, and every answer about the holders has their count" {
	acquire anna want='#3'
	acquire ben want='#4' mode=try
	assert_equal "${reply[0]} ${reply[4]} ${reply[5]}" 'busy =3 1'
	acquire ben want='#2' is=queued
	script view ben ''
	assert_equal "${reply[*]: -4:1}" =3
	release anna
	ask ben want='#2' is='granted * =1'
	assert_equal "$(key_1)" 'fairlock:slots 2'
}

@test "a slot that --min-hold keeps stays held until then" {
	acquire anna want='#2'
	release anna min=60000 is=kept
	acquire ben want='=1' mode=try is=busy
	acquire cleo want='#2' is='granted * =2'
	agree
	cli FLUSHALL
	acquire anna want=s
	release anna min=60000 is=kept
	acquire ben want=s is='granted ben'
	acquire cleo mode=try is=busy
}

# Ends

@test "when key 1 is gone, or has the field of another, all holds are broken; when one is taken out, that is" {
	acquire anna want='#2'
	acquire ben want='#2'
	cli DEL job
	renew anna hold_mode='=1' is='lost gone'
	acquire cleo want='#2' is='granted * =1'
	renew ben hold_mode='=2' is='lost gone'
	assert_equal "$(shown counts) $(holders)" '3 0 2 0 cleo'
	cli DEL job
	redisson_takes r1
	renew cleo hold_mode='=1' is='lost taken r1'
	assert_equal "$(shown counts) $(cli EXISTS "$(key_holders)") $(owner)" '3 0 3 0 0 r1'
	cli FLUSHALL
	acquire anna want=s
	acquire ben want=s
	cli ZREM "$(key_holders)" ben >/dev/null
	renew ben hold_mode=s is='lost gone'
	assert_equal "$(holders) $(the_events)" 'anna granted granted forced'
}

@test "release by force breaks all holds, or that of one owner, once, and names each" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo
	acquire cleo want='#2' handed=1
	for _ in 1 2; do
		release zoe mode=force only=ben
		assert_equal "${reply[*]}" 'forced ben by ben'
		assert_equal "$(holders)" 'anna cleo'
	done
	release zoe request=another mode=force only=ben is=free
	renew ben hold_mode='=2' is='lost forced'
	for _ in 1 2; do
		release zoe request=third mode=force
		assert_equal "${reply[*]}" 'forced cleo by cleo anna by anna'
		gone
	done
}

# The queue

@test "a release hands a slot to the first waiter, whose turn is lost if it hangs" {
	acquire anna want='#2' lease=60000
	acquire ben want='#2' lease=60000
	present cleo dora
	acquire cleo want='#2' handed=7 is=queued
	acquire dora want='#2' handed=8 is=queued
	release ben is=released
	assert_equal "$(holders)" 'anna cleo'
	queue_is dora
	assert_equal "$(heard cleo | tail -n 1 | cut -d ' ' -f 1,5,6)" 'granted 7 2'
	told dora 'first 5000'
	agree
	later 5001
	ask dora want='#2' handed=8 is='granted dora'
}

@test "a first waiter for whom there is no room stops all behind it; when it leaves, or is dead, those that fit go in" {
	acquire anna want=s
	queue_up ben
	present cleo dora
	acquire cleo want=s handed=1
	acquire dora want=s handed=1 is='queued * 10500'
	queue_is ben cleo dora
	leave ben is='left anna'
	assert_equal "$(holders)" 'anna cleo dora'
	queue_up emil
	present fay gus
	acquire fay want=s handed=1
	acquire gus want=s handed=1
	absent emil
	ask gus want=s is='granted gus'
	assert_equal "$(holders)" 'anna cleo dora fay gus'
	queue_is
}

@test "a silent writer is not passed over while only readers fit" {
	acquire anna want=s lease=600000
	acquire ben want=s lease=600000
	queue_up cleo
	present dora
	acquire dora want=s handed=1
	later 16000
	ask dora want=s handed=1 is=queued
	release anna
	queue_is cleo dora
}

@test "a waiter for a slot with --once-per that is not over is told to ask, and the next gets the slot" {
	acquire anna want='#1' kind=a
	present zed ben cleo
	acquire zed want='#1' handed=1
	acquire ben want='#1' handed=1 period=60000
	acquire cleo want='#1' handed=1
	release anna mode=any
	assert_equal "$(holders)" zed
	release zed
	is_told ben 0
	ask ben want='#1' period=60000 is=ran
	assert_equal "$(holders)" cleo
}

@test "a first waiter is told when the last lease ends, if it wants the lock, also if it is Redisson's, or the first one of its own slots" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=60000
	queue_up cleo
	release ben
	told cleo 'first 20000'
	absent cleo
	cli FLUSHALL
	acquire anna want=s lease=20000
	acquire ben want=s lease=60000
	redisson_waits r1
	present r1
	release ben
	told r1 0
	cli FLUSHALL
	acquire anna want='=a' lease=20000
	acquire ben want='=b' lease=60000
	acquire cleo want='=c' lease=40000
	queue_up yuri
	present zed
	acquire zed want='=b,c' handed=1
	leave yuri
	told zed 'first 40000'
}

@test "a Redisson waiter between waiters for slots is told when the last lease ends earlier, and has its turn alone" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo r1 dora
	acquire cleo want='#2' handed=1
	redisson_waits r1
	acquire dora want='#2' handed=1
	release anna
	assert_equal "$(holders)" 'ben cleo'
	release ben
	told r1 0
	release cleo
	told r1 0,0
	queue_is r1 dora
	assert_equal "$(redisson_takes r1)" granted
	ask dora want='#2' handed=1 is=queued
	cli DEL job >/dev/null
	ask dora want='#2' handed=1 is='granted dora'
}

@test "of many long leases, one that is longer than its record allows is cut down" {
	for name in {a..y}; do
		acquire "$name" want=s lease=300000
	done
	cli ZADD "$(key_holders)" $(($(now_ms) + 86400000)) g >/dev/null
	cli PEXPIRE job 86400000 >/dev/null
	acquire z want=s
	between 299000 "$(cli PTTL job)" 300000
}

# After a loss of data

@test "after a loss of data all holds but the one whose slot was taken are taken up again, in any order" {
	acquire anna want='#4'
	copy_data
	for id in ben cleo dora; do acquire $id want='#4'; done
	later 10
	old_data
	renew cleo hold_mode='=3' is=renewed
	renew ben hold_mode='=2' is=renewed
	renew dora hold_mode='=4' is=renewed
	assert_equal "$(holders)" 'anna ben cleo dora'
	cli FLUSHALL
	acquire zoe want='#4' is='granted * =1'
	renew cleo hold_mode='=3' is=renewed
	renew anna hold_mode='=1' is='lost taken zoe'
	[[ $(log_lines | grep '^event=lost|') = *'|owner=anna|'*'|slot=1'* ]]
	renew ben hold_mode='=2' is=renewed
	assert_equal "$(holders)" 'ben cleo zoe'
	agree
}

@test "a hold that is taken up brings its count, and fits beside holders of another one" {
	for id in anna ben cleo; do acquire $id want='#3'; done
	later 10
	cli FLUSHALL >/dev/null
	renew cleo hold_mode==3 count='#3' is=renewed
	assert_equal "$(key_1)" 'fairlock:slots 3'
	later 2001
	acquire dora want='#4' mode=try is=busy
	renew ben hold_mode==2 count='#4' is=renewed
	assert_equal "$(key_1)" 'fairlock:slots 3'
}

@test "shared holds are taken up beside shared ones only, and not if they were broken since" {
	acquire anna want=s
	acquire ben want=s
	acquire cleo want=s
	later 10
	cli FLUSHALL
	acquire zoe
	renew anna hold_mode=s is='lost taken zoe'
	release zoe
	renew ben hold_mode=s is=renewed
	release zoe request=breaker mode=force only=ben is='forced ben'
	renew ben hold_mode=s is='lost forced'
	renew cleo hold_mode=s is=renewed
	assert_equal "$(holders)" cleo
}

@test "a slot is given to nobody while our hash, which was deleted, does not know all holders" {
	acquire anna want='#3'
	acquire ben want='#3'
	cli DEL "$(key_state)"
	acquire cleo want='#3' is=queued
	renew ben hold_mode='=2' is=renewed
	ask cleo want='#3' is=queued
	renew anna hold_mode='=1' is=renewed
	ask cleo want='#3' is='granted cleo * =3'
	agree
}

@test "the renew command keeps a slot that our hash, which was deleted, does not know" {
	acquire anna want='#2' lease=10000
	cli DEL "$(key_state)"
	acquire ben want='#2' is=queued
	renew anna request=command kind='' holder_token='' hold_mode='=1' is=renewed
	later 10001
	ask ben want='#2' is=queued
	later 20000
	ask ben want='#2' is='granted ben'
}
