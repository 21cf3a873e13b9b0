# What fairlock offers as completion.

load ../lib/helpers
load ../lib/completion

# offers: reads lines "WORDS | OFFER OFFER"; completion of WORDS offers these
offers() {
	local words offer

	while IFS='|' read -r words offer; do
		ask $words
		assert_equal "$(xargs <<<"$output")" "${offer# }"
	done
}

@test "completion offers commands, options and their values, wherever options stand" {
	ask ''
	assert_equal "$(sort <<<"$output")" "$commands"
	ask -v ''
	assert_equal "$(sort <<<"$output")" "$commands"
	ask acquire nightly:backup ''
	assert_output ''
	offers <<-'END'
		--ver | --verbose --version
		-v --url unix:/nowhere wrap --sig | --signal
		--nonsense status --color=n | --color=never
		acquire x --no | --no-wait
		acquire -- --no |
		status --sort WAI | WAITERS
		status -vaoWAI | -vaoWAITERS
		status -o st | state
		status -o h | host held_ms holds held help
		queue --output=USER,PO | --output=USER,POSITION
		queue --sort +PO |
		status --color= | --color=auto --color=always --color=never
	END
	run "$FAIRLOCK" --complete status -o STA
	assert_output $'STATE\tfree, held or kept'
}

@test "completion leaves files and commands to the shell" {
	local words shown

	while IFS='|' read -r words shown; do
		run -0 "$FAIRLOCK" --complete ${words% *} "${words##* }"
		assert_output "${shown:+$'\t'$shown}"
	done <<-'END'
		-v --config |files 0
		wrap --config=/etc/|files 9
		wrap -n x |command 3
		-v wrap x -- git --ver|command 4
		wrap -c true x |
	END
}

@test "completion offers the names of locks of the server that the command line gives, where a NAME may stand" {
	offering nightly:backup ask wrap ''
	assert_output $'nightly:backup\ntwo words'
	offering nightly:backup ask release --force n
	assert_output nightly:backup
	offering two ask wrap --also nightly:backup job --also=t
	assert_output '--also=two words'
	FAIRLOCK_URL=unix:/nowhere ask --url "unix:$SERVER_SOCKET" status n
	assert_output nightly:backup
}

@test "completion prints no message, whatever is wrong with the words or the server" {
	for words in 'lock x' 'wrap --bogus x' 'wrap -w nonsense --o' 'status --url http://x n' 'status --url unix:/nowhere n'; do
		run --separate-stderr "$FAIRLOCK" --complete $words
		assert_success
		assert_equal "$stderr" ''
	done
}

@test "completion gives up quickly on a server that does not answer" {
	local began

	kill -STOP "$SERVER_PID" # the other commands wait for a reply for 5 s
	began=$(ms)
	run "$FAIRLOCK" --complete status ''
	kill -CONT "$SERVER_PID"
	assert_success
	refute_output
	[ $(($(ms) - began)) -lt 4000 ]
}

@test "completion does not start a private server" {
	new_home
	run -0 at_home env -u FAIRLOCK_URL "$FAIRLOCK" --complete status ''
	refute_output
	run -1 at_home pgrep -f 'redis-server|valkey-server'
	refute_output
}
