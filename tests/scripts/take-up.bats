#!/usr/bin/env bats
# The renew script on a server that lost its data: it takes the lock up again, unless another owner got it. What token
# a hold has then is in take-up-token.bats.

load ../lib/helpers
load ../lib/scripts

@test "renew takes the lock up under its token on a server that lost its data" {
	granted_to_anna
	cli FLUSHALL
	renew anna lease=20000
	answered renewed 20000 "${token[anna]}" 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	left 20000 "$(cli PTTL job)"
	assert_equal "$(field token)" "${token[anna]}"
}

@test "a repeated renewal takes the lock up once" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	renew anna
	answered renewed 30000 "${token[anna]}"
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "renew takes the lock up on a server whose data is older than the grant" {
	acquire zoe
	release zoe
	granted_to_anna
	cli DEL job
	cli HSET "$(key_state)" token "${token[zoe]}"
	cli HDEL "$(key_state)" holder h:anna
	renew anna
	answered renewed 30000 "${token[anna]}" 1
}

@test "a lock that is taken up shows nothing of an earlier hold" {
	acquire zoe
	change h:zoe waited=77777
	release zoe
	token[anna]=$((token[zoe] + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	acquire inner inherited=anna
	answered granted anna "${token[anna]}"
	between 29000 "${reply[3]}" 30000
	assert_equal "${reply[*]:4}" '0 2 x'
}

@test "a lock that is taken up has no --min-hold of an earlier hold that was broken" {
	acquire zoe
	release zoe min=20000
	answered kept
	release x request=f mode=force
	token[anna]=$((token[zoe] + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	release anna
	answered released 0
}

@test "a lock that is taken up has no unheard ticket of an earlier hold" {
	acquire zoe
	present ben
	acquire ben handed=1
	release zoe
	renew ben holder_token="$(field token)"
	release ben
	answered released 0
	token[anna]=$(($(field token) + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	assert_equal "$(column h:anna unheard)" -
}

@test "renew answers taken if another owner got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	renew anna
	answered lost taken ben
	assert_equal "$(owner)" ben
}

@test "renew answers taken if Redisson got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken r1
	assert_equal "$(owner)" r1
}

@test "the renew command takes no lock up, because it knows no token" {
	acquire anna
	cli FLUSHALL
	renew anna kind= holder_token=
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lock that was taken up keeps others waiting and is released as usual" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	queue_up ben
	assert_equal "${reply[3]}" 1
	later 2000
	release anna
	answered released 0
	told ben 0
}

@test "the token after a lock was taken up is larger" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	release anna
	later 2000
	acquire ben
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "all processes of an owner keep their holds over a loss of data" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}"
	answered renewed 30000 "${token[anna]}" 1
	renew anna
	answered renewed
	renew anna request=right
	answered renewed
	renew anna request=left
	answered renewed
	assert_equal "$(owner) $(holds)" 'anna 3'
	release anna request=left
	answered released 2
	release anna request=right
	answered released 1
	release anna
	answered released 0
}

@test "a hold that was released after the lock was taken up does not come back by a renewal" {
	acquire anna
	acquire inner inherited=anna kind=a
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	renew anna
	renew anna request=inner kind=a
	assert_equal "$(holds)" 2
	release anna mode=any request=command
	answered released 1
	renew anna request=inner kind=a
	answered released
	assert_equal "$(holds)" 1
}

@test "renewals put holds that our hash has forgotten back into it, and count none twice" {
	acquire anna
	acquire inner inherited=anna
	cli DEL "$(key_state)"
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	renew anna request=inner "holder_token=${token[anna]}"
	answered renewed 30000 "${token[anna]}" 1
	assert_equal "$(owner) $(holds)" 'anna 2'
	release anna request=inner
	answered released 1
	release anna
	answered released 0
}

@test "a lock taken up after a loss of data keeps all its holds, also if a dead waiter is passed over" {
	acquire anna
	acquire inner inherited=anna kind=a
	holder=$(field token)
	queue_up_dead ben
	cli DEL job >/dev/null
	cli HSET "$(key_state)" token $((holder - 1)) >/dev/null
	cli HDEL "$(key_state)" holder h:anna >/dev/null
	change run id="$(cli INFO server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')" lost="$(now_ms)" floor=$((holder - 1))
	renew anna holder_token="$holder"
	answered renewed
	assert_equal "${reply[3]}" 1
	assert_equal "$(field holder) $(column h:anna holds)" 'anna ,wanna,'
	renew anna request=inner kind=a holder_token="$holder"
	answered renewed
	assert_equal "$(holds)" 2
}

@test "a lock that was taken up can be broken by force, and stays broken" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	release '' mode=force request=breaker
	answered forced anna
	renew anna
	answered lost forced
}

@test "a waiter that came back before the lock was taken up is told when the lease ends" {
	acquire anna
	queue_up ben
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	come_back ben
	renew anna lease=20000
	answered renewed
	told ben 'first 20000'
}

@test "a lock that was taken up is handed to the first waiter when it is given back" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	present ben cleo
	acquire ben handed=abc
	acquire cleo handed=abc
	cli HDEL "$(key_state)" back # the pause for all who waited is over
	release anna
	answered released 0
	assert_equal "$(owner)" ben
	[ "$(field token)" -gt "${token[anna]}" ]
	queue_is cleo
	all_well
}

@test "a lock that was broken by force is not taken up, even if our hash was lost before" {
	granted_to_anna
	cli DEL "$(key_state)"
	release '' mode=force request=breaker
	answered forced anna
	renew anna
	answered lost
	assert_equal "$(owner)" ''
}

@test "a repeated renewal that was answered lost takes no lock up that became free since" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken r1
	cli DEL job
	renew anna strays=1
	answered lost gone
	assert_equal "$(owner)" ''
}

@test "a hold that was answered lost stays lost until its lease would have ended, however full our hash is" {
	local i

	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken r1
	cli DEL job
	for ((i = 1; i <= 60; i++)); do
		script release x "breaker$i" force '' 0
	done
	later 1000
	for ((i = 1; i <= 10; i++)); do # each looks at a part of the hash
		later 200
		leave ben
	done
	renew anna strays=1
	answered lost gone
	assert_equal "$(owner)" ''
}

@test "a hold is not taken up when the loss of data is longer ago than its lease" {
	local lost

	acquire anna want=s
	wait_until is_past "${token[anna]}"
	cli FLUSHALL >/dev/null
	acquire ben want=s
	lost=$(column run lost)
	change run "lost=$((lost - 30001))"
	renew anna hold_mode=s holder_token=$((token[anna] - 30001))
	answered lost gone
	change run "lost=$((lost - 10000))"
	renew carl hold_mode=s holder_token=$((token[anna] - 10000))
	answered renewed
}
