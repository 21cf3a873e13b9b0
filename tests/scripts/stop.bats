#!/usr/bin/env bats
# The release script with mode stop: it asks the holders to give the lock back. A renewal tells the wrap that took the
# hold, and the end of the hold tells those who have asked.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

# the_events: the names of the events in the log, oldest first
the_events() { cli XRANGE "$(key_log)" - + | awk '$0 == "event" { getline; print }' | paste -sd ' '; }

# entry NUMBER: the entry with this number, the oldest is 1, as lines "FIELD VALUE"
entry() { cli --json XRANGE "$(key_log)" - + | jq -r ".[$1 - 1][1] | . as \$e | range(0; length; 2) | \$e[.] + \" \" + \$e[. + 1]"; }

@test "a stop is written beside the hold, makes its wrap renew, and the renewal tells who asks" {
	acquire anna
	present anna
	request_stop xena
	answered stops asked
	left 30000 "${reply[2]}"
	assert_equal "${reply[3]}" 'by anna'
	assert_equal "${reply[4]}" "${token[anna]} 30000 x anna"
	assert_equal "$(field a:anna)" 'xena by xena'
	told anna 0
	renew anna
	assert_equal "${reply[0]} ${reply[2]} ${reply[4]}" "renewed ${token[anna]} by xena"
	assert_equal "$(the_events)" 'granted asked'
	all_well
}

@test "a hold that is not asked is renewed without a word of it" {
	acquire anna
	renew anna
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	queue_up ben
	renew anna
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
}

@test "the end of the hold, whatever ends it, tells all who have asked, and forgets them" {
	local ending

	for ending in released forced expired deleted; do
		acquire anna lease=5000
		present "x$ending" "y$ending"
		request_stop "x$ending"
		request_stop "y$ending"
		assert_equal "$(field a:anna)" "x$ending,y$ending by x$ending"
		case $ending in
		released) release anna ;;
		forced) release '' mode=force request=breaker by='by breaker' ;;
		expired) later 6000 && acquire ben && release ben ;;
		deleted) cli DEL job && acquire ben && release ben ;;
		esac
		told "x$ending" 0
		told "y$ending" 0
		assert_equal "$(field a:anna)" ''
		request_stop "x$ending" "list=$list"
		assert_equal "${reply[*]}" stops
		all_well
	done
}

@test "the next hold of the same owner is not asked" {
	acquire anna
	request_stop xena
	release anna
	acquire anna
	renew anna
	assert_equal "${reply[4]}" ''
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	assert_equal "$(field a:anna)$(column h:anna ending)" -
}

@test "a release of an asked hold hands the lock to the next waiter" {
	acquire anna
	queue_for_handover ben cleo
	present xena
	request_stop xena
	release anna
	handed ben 5000
	told xena 0
	renew ben
	assert_equal "${reply[4]}" ''
}

@test "a stop that is sent again asks the same hold once, and spares the next holder" {
	acquire anna
	request_stop xena
	request_stop xena again=1
	assert_equal "${reply[4]}" "${token[anna]} 30000 x anna"
	assert_equal "$(field a:anna)" 'xena by xena'
	assert_equal "$(the_events)" 'granted asked'
	release anna
	acquire ben
	request_stop xena again=1
	assert_equal "${reply[*]}" stops
	renew ben
	assert_equal "${reply[4]}" ''
}

@test "a stop of a free lock that is sent again spares the next holder" {
	request_stop xena
	assert_equal "${reply[*]}" stops
	acquire anna
	request_stop xena again=1
	assert_equal "${reply[*]}" stops
	renew anna
	assert_equal "${reply[4]}" ''
	release anna
	all_well
}

@test "a late stop changes nothing" {
	local before

	acquire anna
	request_stop xena strays=2
	release anna
	acquire ben
	before=$(digest)
	request_stop xena strays=1
	answered late
	assert_equal "$(digest)" "$before"
}

@test "a stop that comes behind the release of what it asked before asks nobody" {
	acquire anna
	request_stop xena
	release anna
	acquire ben
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	assert_equal "$(field a:ben)" ''
}

@test "each process that asks is in the log, with the holder and itself" {
	acquire anna 'by=host 7 root make'
	later 3000
	request_stop xena
	request_stop yara
	run -0 entry 3
	assert_line 'event asked'
	assert_line 'owner anna'
	assert_line "token ${token[anna]}"
	assert_line 'by host 7 root make'
	assert_line 'actor by yara'
	grown 3000 "$(sed -n 's/^held //p' <<<"$output")"
	run -0 entry 2
	assert_line 'actor by xena'
}

@test "the log says who broke a lock and who removed a waiter, and of other entries nothing" {
	acquire anna
	queue_up ben
	remove ben
	release '' mode=force request=breaker 'by=by breaker'
	assert_equal "$(the_events)" 'granted left forced'
	run -0 entry 2
	assert_line 'actor by remover'
	run -0 entry 3
	assert_line 'actor by breaker'
	run -0 entry 1
	refute_line --regexp '^(actor|slot)'
}

@test "a waiter that leaves by itself, and a hold that Redisson breaks, have no actor" {
	acquire anna
	queue_up ben
	leave ben
	cli DEL job
	acquire cleo
	assert_equal "$(the_events)" 'granted left forced granted'
	refute grep -q actor <<<"$(cli XRANGE "$(key_log)" - +)"
}

@test "a stop of a lock that Redisson holds changes nothing of it, and says that nobody can be asked" {
	redisson_takes r1
	request_stop xena
	answered stops alone
	assert_equal "${reply[3]}${reply[4]}" '- - - r1'
	assert_equal "$(owner)" r1
	request_stop xena "list=$list"
	answered stops alone
}

@test "a stop of a lock that acquire holds says that nobody can be asked" {
	acquire anna kind=a
	request_stop xena
	answered stops alone
	assert_equal "${reply[3]}" 'by anna'
	renew anna kind=a
	assert_equal "${reply[4]}" ''
	assert_equal "$(field a:anna)" ''
	assert_equal "$(the_events)" granted
}

@test "only the wrap that took the lock is told, not a process that went in" {
	acquire anna
	acquire inner inherited=anna
	acquire other kind=a inherited=anna
	request_stop xena
	answered stops asked
	renew anna request=inner
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna request=other kind=a
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna request=renewer kind=''
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "when the wrap has given its hold back, and an inner acquire holds on, those who asked are told that nobody can be asked" {
	acquire anna
	acquire inner kind=a inherited=anna
	present xena
	request_stop xena
	release anna
	answered released 1
	told xena 0
	assert_equal "$(field a:anna)$(column h:anna ending)" -
	request_stop xena "list=$list"
	answered stops alone
}

@test "a kept lock is given back at once, and the next waiter gets it" {
	acquire anna lease=60000
	queue_for_handover ben
	release anna min=50000 status=3 cause=exit
	answered kept
	request_stop xena
	answered stops kept 0 'by anna'
	handed ben 5000
	request_stop xena again=1
	assert_equal "${reply[*]}" stops
	assert_equal "$(the_events)" 'granted released granted'
	run -0 entry 2
	assert_line 'status 3'
	assert_line 'actor by xena'
	assert_line 'owner anna'
}

@test "a hold that is asked is not kept for --min-hold" {
	acquire anna
	request_stop xena
	release anna min=50000
	answered released 0
	is_free job
}

@test "a slot that is kept is given back at once, and the others stay" {
	acquire anna want='#2' lease=60000
	acquire ben want='#2'
	release anna min=50000
	request_stop xena only=anna
	answered stops kept
	assert_equal "$(holders) $(field s:1)" 'ben '
	agree
}

@test "all holders of several are asked, those that can be, and only they are told" {
	acquire anna want='#3'
	acquire ben want='#3' kind=a
	acquire cleo want='#3'
	present anna ben cleo
	request_stop xena
	assert_equal "$(printf '%s\n' "${reply[@]}" | grep -c -x asked) $(printf '%s\n' "${reply[@]}" | grep -c -x alone)" '2 1'
	assert_equal "$(sort <<<"$list")" "$(printf '%s\n' "${token[anna]} 30000 =1 anna" "${token[ben]} 30000 =2 ben" \
		"${token[cleo]} 30000 =3 cleo" | sort)"
	told anna 0
	told ben ''
	told cleo 0
	renew cleo hold_mode='=3'
	assert_equal "${reply[4]}" 'by xena'
	assert_equal "$(cli XRANGE "$(key_log)" - + | grep -x -A 1 slot | grep -cx '[13]')" 4
	agree
}

@test "of several holders only the one that is meant is asked, by its owner or its slot" {
	acquire anna want='=db1,db2'
	acquire ben want='=db1,db2'
	request_stop xena only==db2
	assert_equal "$list" "${token[ben]} 30000 =db2 ben"
	request_stop yara only=anna
	assert_equal "$list" "${token[anna]} 30000 =db1 anna"
	assert_equal "$(field a:anna) $(field a:ben)" 'yara by yara xena by xena'
	release ben
	request_stop xena
	assert_equal "${reply[*]}" stops
	request_stop zoe only==db2
	assert_equal "${reply[*]}" stops
	request_stop zora only=nobody
	assert_equal "${reply[*]}" stops
	agree
}

@test "shared holders are asked, each ends by itself, and tells who asked" {
	acquire anna want=s
	acquire ben want=s
	present xena
	request_stop xena
	release anna
	told xena 0
	request_stop xena "list=$list"
	assert_equal "$list" "${token[ben]} 30000 s ben"
	release ben
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	all_well
}

# lost_hold: anna was granted the lock a minute ago and was asked to stop; then the server lost its data
lost_hold() {
	acquire anna
	request_stop xena
	token[anna]=$((token[anna] - 60000))
	list="${token[anna]} 30000 x anna"
	cli FLUSHALL >/dev/null
}

@test "after a loss of data a hold that may be taken up again is not over, and is asked again then" {
	lost_hold
	request_stop xena "list=$list"
	answered stops away
	left 2000 "${reply[2]}"
	change run lost=$(($(now_ms) - 5000))
	request_stop xena "list=$list"
	answered stops away
	left 25000 "${reply[2]}"
	renew anna
	assert_equal "${reply[0]} ${reply[3]} ${reply[4]}" 'renewed 1 '
	request_stop xena "list=$list"
	answered stops asked
	renew anna
	assert_equal "${reply[4]}" 'by xena'
	release anna
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	all_well
}

@test "after a loss of data a hold is over when its lease has passed, or another holds the lock" {
	lost_hold
	request_stop xena "list=$list"
	answered stops away
	change run lost=$(($(now_ms) - 30001))
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	cli FLUSHALL >/dev/null
	acquire ben
	wait_until is_past "${token[ben]}"
	request_stop yara
	cli FLUSHALL
	acquire cleo
	request_stop yara "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "after a loss of data a slot that was taken up and given back is over" {
	acquire anna want='#2'
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna hold_mode='=1'
	assert_equal "${reply[3]}" 1
	release anna want='#2'
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "a hold that was lost or broken is over" {
	acquire anna
	request_stop xena
	release '' mode=force request=breaker
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "a hold that another process of its owner took up first may be that of the wrap" {
	acquire anna
	acquire inner inherited=anna
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna request=inner "holder_token=${token[anna]}"
	request_stop xena "list=$list"
	answered stops away
	renew anna
	request_stop xena "list=$list"
	answered stops asked
}

@test "a hold of which our hash was deleted is asked when it is known again" {
	acquire anna
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli DEL "$(key_state)"
	request_stop xena "list=$list"
	answered stops away
	renew anna
	request_stop xena "list=$list"
	answered stops asked
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "up to 20 processes are told the end of a hold; the next may look" {
	local number

	acquire anna
	for number in {1..21}; do
		request_stop "x$number"
	done
	assert_equal "$(column a:anna requests | tr , '\n' | wc -l)" 20
	answered stops asked
	assert_equal "$(the_events | wc -w)" 21
}

@test "a stop on a server out of memory is written down" {
	acquire anna
	cli CONFIG SET maxmemory 1 >/dev/null
	request_stop xena
	cli CONFIG SET maxmemory 0 >/dev/null
	answered stops asked
	assert_equal "$(field a:anna)" 'xena by xena'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "a damaged record of who asks is no error, asks nobody, and the next stop mends it" {
	local damage number=0

	for damage in '' x ' by' ',' ', by' 'a,,b ' '-'; do
		acquire anna
		request_stop "x$((++number))"
		cli HSET "$(key_state)" a:anna "$damage" >/dev/null
		renew anna
		assert_equal "${reply[0]} ${reply[4]}" 'renewed '
		request_stop "y$number"
		renew anna
		assert_equal "${reply[4]}" "by y$number"
		cli HSET "$(key_state)" a:anna "$damage" >/dev/null
		release anna
		answered released 0
		all_well
	done
	acquire anna
	request_stop xena
	cli HDEL "$(key_state)" a:anna >/dev/null
	renew anna
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	release anna
	all_well
}

# swept: our hash has so many records that scripts look through it in parts; they have done so
swept() {
	local number

	for number in {1..60}; do
		echo "HSET $(key_state) r:other$number \"$(now_ms) 0 -\""
	done | cli >/dev/null
	for number in {1..12}; do
		later 150
		leave nobody
	done
}

@test "a note of who asks beside a hold that was not asked counts for nothing" {
	acquire anna
	cli HSET "$(key_state)" a:anna 'xena,yara by yara' >/dev/null
	renew anna
	assert_equal "${reply[4]}" ''
	request_stop xena
	assert_equal "$(field a:anna)" 'xena by xena'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "a note of who asks goes if its owner holds no more" {
	acquire anna
	cli HSET "$(key_state)" a:gone 'xena by xena' >/dev/null
	swept
	assert_equal "$(field a:gone)" ''
	release anna
	acquire ben want='#2'
	cli HSET "$(key_state)" a:gone 'xena by xena' >/dev/null
	swept
	assert_equal "$(field a:gone)" ''
}

@test "a note of who asks stays while its hold does, alone or beside others" {
	acquire anna
	request_stop xena
	swept
	renew anna
	assert_equal "${reply[4]}" 'by xena'
	release anna
	acquire ben want='#2'
	request_stop yara
	swept
	renew ben hold_mode='=1'
	assert_equal "${reply[4]}" 'by yara'
}
