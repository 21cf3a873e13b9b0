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
