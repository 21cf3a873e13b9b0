# One cron job on two hosts whose clocks differ.
load ../lib/helpers
load ../lib/network

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	new_network
	start_far_server
}

# host MS OPTION...: runs the job at five full minutes, of 3 s each, of a clock that is MS late
host() {
	local late=$1 tick ms

	shift
	for ((tick = 0; tick < 5; tick++)); do
		ms=$((BEGIN + tick * 3000 + late - ${EPOCHREALTIME//[.,]/} / 1000))
		[ "$ms" -le 0 ] || sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
		"$FAIRLOCK" wrap -nqE 0 "$@" job sh -c "echo $tick >>ran"
	done
}

# run_on_two_hosts OPTION...: the far host also has the server. The clocks are 1 s apart, a third of
# a minute here. Prints what both hosts print.
run_on_two_hosts() {
	export BEGIN=$((${EPOCHREALTIME//[.,]/} / 1000 + 100)) FAIRLOCK_URL=$FAR_URL
	background "$NEAR" bash -c "$(declare -f host); host \"\$@\"" host 1000 "$@"
	"$FAR" bash -c "$(declare -f host); host \"\$@\"" host 0 "$@"
	wait $!
}

@test "with --min-hold or --once-per two hosts with skewed clocks run the job once a minute, silently" {
	for option in '--min-hold 2500ms' '--once-per 3s'; do
		rm -f ran
		run -0 run_on_two_hosts $option
		refute_output
		assert_equal "$(paste -sd ' ' ran)" '0 1 2 3 4'
		cli FLUSHALL >/dev/null
	done
}
