# man/examples/CloseMonth.java beside the README's fairlock wrap of the same lock.

load interop

# close_month RUNNER: runs the recipe, which Java compiles itself
close_month() {
	LOCK_SERVER=redis://127.0.0.1:$PORT "$1" java -XX:TieredStopAtLevel=1 -Xmx96m -cp "$BUILDROOT/interop/$REDISSON/lib/*" \
		"$TESTS_DIR/../man/examples/CloseMonth.java" ledger
}

@test "the recipe in Java and fairlock wrap close the month in the order in which they asked" {
	local i pids=()

	hold invoices
	for i in 1 3; do
		close_month background >>said 2>&1
		pids+=($!)
		wait_until in_queue invoices "$i"
		background "$FAIRLOCK" wrap invoices -- sh -c 'echo closed by a script >>ledger'
		pids+=($!)
		wait_until in_queue invoices $((i + 1))
	done
	kill "$HOLDER"
	for i in "${pids[@]}"; do
		ends_with 0 "$i"
	done
	assert_equal "$(paste -sd , ledger)" 'closed by Java,closed by a script,closed by Java,closed by a script'
	gone invoices
}
