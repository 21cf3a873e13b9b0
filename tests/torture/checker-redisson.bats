# The checker of the torture test on Redisson clients: they have no token, and stand in the same order.
load ../lib/helpers
load checker

# redisson_job NAME: a Redisson client begins
redisson_job() { job "$1" '"kind":"redisson"'; }

# redisson_says WHAT NAME: a line of its section, which has no token
redisson_says() {
	say "$1" "$2" 0
	sed -i 's/,"token":0,/,/' history
}

# swapped JOB JOB: one of these came first, and two got the lock first
swapped() {
	"$1" one
	"$2" two
	seen zero one
	later 5 seen zero one two
	later 5 seen two one
	if [ "$2" = job ]; then section two 5; else
		redisson_says start two
		redisson_says end two
		ends two 0
	fi
	later 5 seen '' one
	ends one 75
}

@test "the checker reports a Redisson client that is in while somebody else is" {
	job one
	redisson_job two
	say start one 1
	later 5 redisson_says start two
	later 5 say end one 1
	check
	assert_line --partial 'exclusion: lock x: one (token 1) ran 5.0 ms after two'
}

@test "the checker reports one of ours that is in while a Redisson client is" {
	redisson_job one
	job two
	redisson_says start one
	later 5 say start two 2
	later 5 redisson_says end one
	check
	assert_line --partial 'exclusion: lock x: one (token 0.00390625) ran 5.0 ms after two'
}

@test "the checker reports a Redisson client and one of ours that pass each other" {
	swapped job redisson_job
	check
	assert_line --partial 'order: lock x: two was granted token 0.00390625 before one, who waited longer'
	rm events history
	swapped redisson_job job
	check
	assert_line --partial 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "the checker excuses that a Redisson client passes one of ours that has no place in its list" {
	seen_displaced() { seen "$@" && sed -i "\$s/\"ttl\":0/\"displaced\":[\"one:7\"],&/" events; }
	job one
	redisson_job two
	seen zero one
	later 5 seen_displaced zero one two
	later 5 seen two one
	redisson_says start two
	redisson_says end two
	ends two 0
	later 5 seen '' one
	check
	refute_line --partial order:
	later 6000 seen_displaced '' one
	later 6000 seen_displaced '' one
	later 6000 seen_displaced '' one
	check
	refute_line --partial order:
	later 6000 seen_displaced '' one
	check
	assert_line --partial "order: lock x: one had no place in Redisson's list for too long"
}

@test "the checker knows that the data were lost, and a Redisson client's place with them" {
	redisson_job one
	job two
	say start zero 1
	later 5 seen zero one
	later 5 data_lost
	later 5 seen '' two one
	later 5 seen two one
	say start two 5
	check
	refute_line --partial order:
}
