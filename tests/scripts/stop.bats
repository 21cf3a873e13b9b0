# The release script with mode stop: it asks the holders to give the lock back. A renewal tells the wrap that took the
# hold, and the end of the hold tells those who have asked.

load ../lib/scripts

# nobody_left ASKER [WORD=VALUE...]: asked again, nobody is left who has not given the lock back
nobody_left() {
	request_stop "$@"
	assert_equal "${reply[*]}" stops
}

# hears_of ASKER ID [WORD=VALUE...]: a renewal tells the wrap that this one has asked; "": nobody has
hears_of() {
	renew "${@:2}"
	assert_equal "${reply[0]} ${reply[4]}" "renewed ${1:+by $1}"
}

@test "a stop is written beside the hold, makes its wrap renew, and the renewal tells who asks; the next hold is not asked" {
	acquire anna
	present anna
	request_stop xena is="stops asked 30000 by anna ${token[anna]} 30000 x anna"
	told anna 0
	hears_of xena anna
	assert_equal "${reply[2]}" "${token[anna]}"
	request_stop xena again=1 is="stops asked * ${token[anna]} 30000 x anna"
	assert_equal "$(the_events)" 'granted asked'
	all_well
	release anna min=50000 is='released 0' # it is not kept for --min-hold
	acquire anna request=other
	nobody_left xena again=1 "list=$list"
	hears_of '' anna request=other
}

@test "the end of the hold, whatever ends it, tells all who have asked, and forgets them" {
	for ending in released forced expired deleted; do
		acquire "$ending" lease=5000
		present "x$ending" "y$ending"
		request_stop "x$ending"
		request_stop "y$ending"
		case $ending in
		released) release "$ending" ;;
		forced) release '' mode=force request=breaker by='by breaker' ;;
		expired) later 6000 && acquire "after-$ending" && release "after-$ending" ;;
		deleted) cli DEL job && acquire "after-$ending" && release "after-$ending" ;;
		esac
		told "x$ending" 0
		told "y$ending" 0
		nobody_left "x$ending" "list=$list"
		all_well
	done
}

# The holders that a request to stop asks

@test "nobody can be asked where acquire holds the lock" {
	acquire anna kind=a
	request_stop xena is='stops alone * by anna'
	hears_of '' anna kind=a
	assert_equal "$(the_events)" granted
}

@test "only the wrap that took the lock is told, not a process that went in; when it ends, those inside cannot be asked" {
	acquire anna
	acquire inner inherited=anna
	acquire other kind=a inherited=anna
	present xena
	request_stop xena is='stops asked'
	hears_of '' anna request=inner
	hears_of '' anna request=other kind=a
	hears_of '' anna request=renewer kind=''
	hears_of xena anna
	release anna request=inner
	release anna is='released 1'
	told xena 0
	request_stop xena "list=$list" is='stops alone'
}

@test "a kept lock is given back at once, and the next waiter gets it" {
	acquire anna lease=60000
	queue_for_handover ben
	release anna min=50000 status=3 cause=exit is=kept
	request_stop xena is='stops kept 0 by anna'
	handed ben 5000
	nobody_left xena again=1
	assert_equal "$(the_events)" 'granted released granted'
	run -0 log_lines
	[[ ${lines[1]} = *'|owner=anna|'*'|status=3|'*'|actor=by xena'* ]]
}

@test "all holders of several are asked, those that can be, and only they are told" {
	acquire anna want='#3'
	acquire ben want='#3' kind=a
	acquire cleo want='#3'
	present anna ben cleo
	request_stop xena
	assert_equal "$(printf '%s\n' "${reply[@]}" | grep -xE 'asked|alone' | sort | paste -sd ' ')" 'alone asked asked'
	assert_equal "$(sort <<<"$list")" "$(printf '%s\n' "${token[anna]} 30000 =1 anna" "${token[ben]} 30000 =2 ben" \
		"${token[cleo]} 30000 =3 cleo" | sort)"
	told anna 0
	told ben ''
	told cleo 0
	hears_of xena cleo hold_mode='=3'
	assert_equal "$(cli XRANGE "$(key_log)" - + | grep -x -A 1 slot | grep -cx '[13]')" 4
	agree
}

# After a loss of data

# lost_hold: anna was granted the lock 5 s ago and was asked to stop; then the server lost its data
lost_hold() {
	acquire anna "$@"
	request_stop xena
	later 5000
	cli FLUSHALL >/dev/null
}

@test "after a loss of all data or of our hash a hold that may be taken up again is not over, and is asked again then" {
	lost_hold
	request_stop xena "list=$list" is='stops away'
	later 5000
	request_stop xena "list=$list" is='stops away'
	hears_of '' anna
	request_stop xena "list=$list" is='stops asked'
	hears_of xena anna
	cli DEL "$(key_state)"
	request_stop xena "list=$list" is='stops away'
	hears_of '' anna
	request_stop xena "list=$list" is='stops asked'
	hears_of xena anna
	release anna
	nobody_left xena "list=$list"
	all_well
}

@test "after a loss of data a hold that was taken up under a new token is asked again" {
	lost_hold kind=v
	renew anna kind=v is=renewed
	[ "${reply[2]}" -gt "${token[anna]}" ]
	token[anna]=${reply[2]}
	request_stop xena "list=$list" is='stops asked'
	hears_of xena anna kind=v
	release anna
	acquire anna kind=v # another hold
	nobody_left xena "list=$list"
}

@test "after a loss of data a hold is over when its lease has passed, or another holds the lock" {
	lost_hold
	request_stop xena "list=$list" is='stops away'
	later 30001
	nobody_left xena "list=$list"
	cli FLUSHALL >/dev/null
	lost_hold
	acquire cleo
	nobody_left xena "list=$list"
}
