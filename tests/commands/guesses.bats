#!/usr/bin/env bats
# What users of flock, git, kubectl and others type at first, and the answer. Nothing here needs a server.

load ../lib/helpers

setup() {
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
}

# answered: reads lines "WORDS | CAUSE"; fairlock WORDS is a mistake with this cause.
answered() {
	local words cause message count=0

	while IFS='|' read -r words cause; do
		# shellcheck disable=SC2086
		run --separate-stderr "$FAIRLOCK" $words
		assert_failure 64
		assert_output ''
		# shellcheck disable=SC2154 # stderr_lines comes from run
		message=${stderr_lines[0]}
		[[ $message = 'fairlock: cannot '*": ${cause# }" ]] || fail "${words}is answered: $message"
		[ "${#message}" -lt 160 ] || fail "$message is too long"
		assert_equal "${#stderr_lines[@]}" 2
		[[ ${stderr_lines[1]} = "Try 'fairlock"*" --help'." ]]
		count=$((count + 1))
	done
	[ "$count" -ge "$1" ]
}

@test "common wrong guesses are answered with the right command" {
	answered 12 <<-'END'
		run x true | there is no such command, did you mean wrap?
		lock x | there is no such command, did you mean wrap or acquire?
		unlock x | there is no such command, did you mean release?
		ls | there is no such command, did you mean status?
		logs -f x | there is no such command, did you mean log?
		stauts | there is no such command, did you mean status?
		aquire x | there is no such command, did you mean acquire?
		Wrap x true | there is no such command, did you mean wrap?
		help lock | there is no such command, did you mean wrap or acquire?
		/tmp/x true | there is no such command, did you mean 'fairlock wrap NAME COMMAND'?
		nightly rsync a b | there is no such command, did you mean 'fairlock wrap NAME COMMAND'?
		nonsense | there is no such command
	END
}

@test "common wrong guesses are answered with the right option" {
	answered 18 <<-'END'
		wrap --timeout 5 x true | there is no such option, did you mean --wait?
		wrap --ttl 30 x true | there is no such option, did you mean --lease?
		wrap --nonblock x true | there is no such option, did you mean --no-wait?
		wrap -j4 x true | there is no such option, did you mean --slots?
		--host db status | there is no such option, did you mean --url redis://HOST:PORT?
		status -p 7001 | there is no such option, did you mean --url redis://HOST:PORT?
		status --password sesame | there is no such option, did you mean --password-file?
		queue -a x | only status has it
		-n x true | only wrap and acquire have it; put it behind the command
		--wait 5 x true | only wrap, acquire and release have it; put it behind the command
		wrap --wiat 5 x true | there is no such option, did you mean --wait?
		wrap --max_hold 5 x true | there is no such option, did you mean --max-hold?
		status --no-headings | there is no such option, did you mean --noheadings?
		wrap --slot 3 x true | only release has it
		renew --json x | only acquire, status, queue, log and doctor have it
		wrap -s x true | 'x' is not a signal
		wrap -Z x true | there is no such option
		log -f x | there is no such option
	END
}

@test "common wrong guesses are answered with the right column" {
	answered 3 <<-'END'
		status -o STAET | there is no such column, did you mean STATE?
		status -o name,stat | there is no such column, did you mean STATE?
		status -o nonsense | there is no such column, '-o help' lists them
	END
}

@test "-o help lists the columns, without a NAME and a server" {
	run -0 "$FAIRLOCK" log -o help
	assert_line 'TOKEN       fencing token, which grows with each grant'
	run -0 "$FAIRLOCK" status x --output=help
	assert_line 'STATE       free, held or kept'
	run -0 "$FAIRLOCK" queue -ohelp
	assert_line 'POSITION    place in the queue; 1 is next'
}
