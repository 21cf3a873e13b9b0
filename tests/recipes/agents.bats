#!/usr/bin/env bats
# man/examples/check-in-turn, in worktrees and clones of a repository, as coding agents run it: without a terminal, and in pipes.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

setup() {
	begin_example
	export GIT_CONFIG_GLOBAL=$PWD/gitconfig GIT_CONFIG_NOSYSTEM=1
	git config --global user.name test
	git config --global user.email test@example.com
	git init --quiet --initial-branch=main shop
	mkdir shop/scripts
	install -m 755 "$EXAMPLES/check-in-turn" shop/scripts/check
	# The tests of the repository must be alone, and end when there is a file `go`.
	# shellcheck disable=SC2016
	program heavy-tests 'mkdir "$1/in" || exit; basename "$PWD" >>"$1/ran"; echo $$ >"$1/pid"
		while test -e "$1/in" && ! test -e "$1/go"; do sleep 0.05; done
		rmdir "$1/in"'
	printf 'check:\n\t@heavy-tests %s\n' "$PWD" >shop/Makefile
	git -C shop add .
	git -C shop commit --quiet --message first
}

# agent RUNNER FOLDER NAME [COMMAND]: an agent runs its tests there. It reads them through a pipe, as agents do, and its
# last line is their status; FOLDER.said has all.
agent() {
	as_cron "$1" "cd $2; export AGENT=$3; { scripts/check ${4-}; echo status \$?; } 2>&1 | cat >$PWD/$2.said"
}

@test "check-in-turn runs the tests of a repository's worktrees and clones in the order in which agents asked" {
	local name

	git -C shop worktree add --quiet ../second
	git clone --quiet "$PWD/shop/.git" third
	agent background shop ann
	wait_until test -s ran
	agent background second ben
	wait_until in_queue check-shop 1
	agent background third cleo
	wait_until in_queue check-shop 2
	run -0 "$FAIRLOCK" queue --raw --noheadings -o REASON check-shop
	assert_output $'ben\\x20in\\x20second,\\x20branch\\x20second\ncleo\\x20in\\x20third,\\x20branch\\x20main'
	touch go
	for name in shop second third; do
		wait_until grep -qx 'status 0' "$name.said"
	done
	assert_equal "$(<ran)" $'shop\nsecond\nthird'
	assert_equal "$(<shop.said)" 'status 0'
	run -0 cat third.said
	assert_line --index 0 --regexp 'place 2 of 2.* held by make: ann in shop, branch main'
}
