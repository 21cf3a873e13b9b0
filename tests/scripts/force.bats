#!/usr/bin/env bats
# The release script with mode force: it breaks a lock, tells its holder, and spares the next one.

load ../lib/helpers
load ../lib/scripts

@test "release by force answers with the owner and its command" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker
	answered forced anna host 7 root make
	assert_equal "$(cli EXISTS job)" 0
}

@test "release by force tells the holder at once" {
	acquire anna
	present anna
	release '' mode=force request=breaker
	told anna 0
}

@test "a repeated release by force gets the same answer and spares the next holder" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker
	acquire ben
	release '' mode=force request=breaker again=1
	answered forced anna host 7 root make
	assert_equal "$(owner)" ben
}

@test "release by force with the holder's token breaks the lock" {
	acquire anna
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered forced anna
}

@test "release by force with an older token is refused, and names the holder" {
	acquire anna
	release anna
	acquire ben 'by=host 8 root make'
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered not held ben host 8 root make
	assert_equal "$(owner)" ben
}

@test "on a server out of memory a repeated release by force spares the next holder" {
	acquire anna
	cli CONFIG SET maxmemory 1 >/dev/null
	release '' mode=force request=breaker
	cli CONFIG SET maxmemory 0 >/dev/null
	answered forced anna by anna
	acquire ben
	release '' mode=force request=breaker again=1
	answered forced anna by anna
	assert_equal "$(owner)" ben
}
