# Many grants to Redisson and fairlock in random order. SEED=N repeats a run.

load interop

# works: what a waiter of ours runs. Who finds the folder has overlapped with somebody, as in Client.java.
works() {
	mkdir trace.in && echo "$1" >>trace && sleep "$2" && rmdir trace.in
}

# holder_takes: a holder of either kind takes the lock. Sets `give_back`, the command that has it give the lock back.
holder_takes() {
	local who=${jvms[RANDOM % 2]}

	if ((RANDOM % 2)); then
		hold job
		give_back=(kill "$HOLDER")
	else
		ask "$who" "a.$((++actors))" lock job
		give_back=(tell "$who" "a.$actors" unlock job)
	fi
}

# waiter_comes WORD: a waiter of either kind queues, to write WORD into `trace`. Some of ours go in twice.
waiter_comes() {
	local way=("$FAIRLOCK" wrap job) who=${jvms[RANDOM % 2]} client=${clients[RANDOM % 2]} ms=$((RANDOM % 5))

	if ((RANDOM % 2)); then
		((RANDOM % 5)) || way+=("${way[@]}")
		background "${way[@]}" bash -c 'works "$@"' bash "$1" "0.00$ms"
		shells+=($!)
	else
		tell "$who" "$client.$((++actors))" run job "$PWD/trace" "$1" "$ms"
	fi
}

# play_round COUNT: so many queue one after another behind a holder, and are granted the lock in that order
play_round() {
	local place pid give_back shells=()

	rm -f trace
	holder_takes
	for ((place = 1; place <= $1; place++)); do
		waiter_comes "$place"
		wait_until in_queue job "$place"
	done
	"${give_back[@]}"
	wait_until lines_in trace "$1"
	assert_equal "$(paste -sd ' ' trace)" "$(seq -s ' ' "$1")"
	for pid in "${shells[@]}"; do
		ends_with 0 "$pid"
	done
	wait_until gone job
	in_queue job 0
	run -1 grep failed anna.out ben.out
}

@test "500 grants in mixed queues of 3 to 20 are in the order of arrival, without an overlap" {
	local granted=0 count actors=0 jvms=(anna ben) clients=(a b) who

	RANDOM=${SEED:=$RANDOM}
	echo "seed $SEED"
	export -f works
	for who in "${jvms[@]}"; do
		start_java "$who" 6000
		ask "$who" b.0 connect
	done
	WAIT_S=120
	while [ "$granted" -lt 500 ]; do
		count=$((RANDOM % 18 + 3))
		play_round "$count"
		granted=$((granted + count))
	done
}
