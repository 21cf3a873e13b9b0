#!/usr/bin/env bats
# The release script with mode force: it breaks a lock, tells its holder, and spares the next one.

load ../lib/helpers
load ../lib/scripts

@test "release by force answers with the owner and its command" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker is='forced anna host 7 root make'
	assert_equal "$(cli EXISTS job)" 0
}

@test "a repeated release by force gets the same answer and spares the next holder" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker
	acquire ben
	release '' mode=force request=breaker again=1 is='forced anna host 7 root make'
	assert_equal "$(owner)" ben
}

@test "release by force with an older token is refused, and names the holder" {
	acquire anna
	release anna
	acquire ben 'by=host 8 root make'
	release '' mode=force request=breaker "holder_token=${token[anna]}" is='not held ben host 8 root make'
	assert_equal "$(owner)" ben
}
