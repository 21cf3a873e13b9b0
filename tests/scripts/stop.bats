#!/usr/bin/env bats
# The release script with mode stop: it asks the holders to give the lock back. A renewal tells the wrap that took the
# hold, and the end of the hold tells those who have asked.

load ../lib/helpers
load ../lib/scripts

@test "a stop is written beside the hold, makes its wrap renew, and the renewal tells who asks" {
	acquire anna
	present anna
	request_stop xena is='stops asked'
	assert_equal "${reply[2]}" 30000
	assert_equal "${reply[3]}" 'by anna'
	assert_equal "${reply[4]}" "${token[anna]} 30000 x anna"
	told anna 0
	renew anna
	assert_equal "${reply[0]} ${reply[2]} ${reply[4]}" "renewed ${token[anna]} by xena"
	assert_equal "$(the_events)" 'granted asked'
	all_well
}

@test "the end of the hold, whatever ends it, tells all who have asked, and forgets them" {
	local ending

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
		request_stop "x$ending" "list=$list"
		assert_equal "${reply[*]}" stops
		all_well
	done
}

@test "a stop that is sent again asks the same hold once, and spares the next holder" {
	acquire anna
	request_stop xena
	request_stop xena again=1
	assert_equal "${reply[4]}" "${token[anna]} 30000 x anna"
	assert_equal "$(the_events)" 'granted asked'
	release anna
	acquire ben
	request_stop xena again=1
	assert_equal "${reply[*]}" stops
	renew ben
	assert_equal "${reply[4]}" ''
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

@test "the next hold of the same owner is not asked" {
	acquire anna kind=a
	request_stop xena
	answered stops alone
	release anna mode=any
	acquire anna request=other kind=a is='granted anna'
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}
