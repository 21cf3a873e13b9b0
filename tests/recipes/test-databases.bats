#!/usr/bin/env bats
# man/examples/with-test-database, with the real sqlite3.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

setup() {
	begin_example
	mkdir databases
	installs with-test-database
	sqlite3 databases/template.sqlite 'CREATE TABLE orders (name); INSERT INTO orders VALUES ("first")'
	# Writes its argument into its database, stays until there is a file `go`, and prints what it has.
	# shellcheck disable=SC2016
	program itest 'sqlite3 "$TEST_DATABASE" "INSERT INTO orders VALUES (\"$1\")"
		echo "${TEST_DATABASE##*/}" >>used
		until test -e go; do sleep 0.05; done
		sqlite3 "$TEST_DATABASE" "SELECT group_concat(name) FROM orders"'
}

# with_database RUNNER COMMAND: runs COMMAND by the recipe
with_database() {
	as_cron "$1" "TEST_DATABASES=$PWD/databases exec with-test-database $2"
}

@test "with-test-database gives three runs a database each, and a fourth one waits" {
	local run pids=()

	for run in 1 2 3; do
		with_database background "itest run-$run" >"out$run"
		pids+=($!)
	done
	wait_until has_lines 3 used
	assert_equal "$(sort used)" $'db1.sqlite\ndb2.sqlite\ndb3.sqlite'
	with_database background 'itest "run  4"' >out4 2>said
	pids+=($!)
	wait_until in_queue test-databases 1
	wait_until grep -q 'all 3 slots are held' said
	touch go
	for pid in "${pids[@]}"; do
		ends_with 0 "$pid"
	done
	assert_equal "$(cat out?)" $'first,run-1\nfirst,run-2\nfirst,run-3\nfirst,run  4'
}

@test "with-test-database gives the run after one that was killed a fresh database without the old journal" {
	local job

	# a transaction under way: its journal has the pages from before it, with the row that the run had committed
	# sqlite3 has the other end of its pipe, too: at an end of file it would roll the transaction back before the signal comes
	# shellcheck disable=SC2016
	program dies 'mkfifo feed
		{ echo "INSERT INTO orders VALUES (\"old\"); BEGIN; PRAGMA cache_size = 1; DELETE FROM orders;"
		seq 3000 | sed "s/.*/INSERT INTO orders VALUES (\"a row of a transaction that does not end &\");/"
		echo ".shell touch began"; } >feed & exec sqlite3 "$TEST_DATABASE" 0<>feed'
	with_database background dies
	job=$!
	wait_until test -e began
	[ -s databases/db1.sqlite-journal ]
	kill -KILL "$job"
	wait_until is_free test-databases
	[ -s databases/db1.sqlite-journal ]
	touch go
	run -0 with_database command 'itest after'
	assert_output first,after
	assert_equal "$(<used)" db1.sqlite
}
