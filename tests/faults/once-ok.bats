# --once-ok: of many who start at one moment one succeeds, whatever fails meanwhile, and the others go on then.
load ../lib/helpers
load ../lib/holders

setup() { cd "$BATS_TEST_TMPDIR" || return; }

has_runs() { [ "$(wc -l <runs)" = "$1" ]; }
have_ended() { [ "$(wc -l <ended)" = "$1" ]; }

# is_as_before: all who waited are queued again, and the holder has its lock
is_as_before() { in_queue migrate 37 && [ "$(cli HLEN migrate)" = 1 ]; }

@test "of forty starters one succeeds after two failures and a restart of the server, and the others end with 0 then" {
	start_server --appendonly yes
	# The first two runs fail, the third one waits for the file `go` and succeeds.
	cat >migrate <<'END'
#!/bin/sh
echo run >>runs
case $(wc -l <runs) in
1) until [ -e all ]; do sleep 0.05; done; exit 1 ;;
2) exit 3 ;;
*) until [ -e go ]; do sleep 0.05; done; read -r up rest </proc/uptime; echo "$up" >>succeeded ;;
esac
END
	cat >starter <<'END'
#!/bin/sh
"$FAIRLOCK" wrap -w 2m --once-ok 365d migrate -- ./migrate
status=$?
read -r up rest </proc/uptime
echo "$status $up" >>ended
END
	chmod +x migrate starter
	for i in {1..40}; do
		background ./starter 2>>said
	done
	wait_until in_queue migrate 39
	touch all
	wait_until has_runs 3
	wait_until have_ended 2
	restart_server --appendonly yes
	WAIT_S=60 wait_until is_as_before
	have_ended 2
	touch go
	WAIT_S=60 wait_until have_ended 40
	has_runs 3
	assert_equal "$(wc -l <succeeded)" 1
	assert_equal "$(cut -d ' ' -f 1 ended | sort | uniq -c | xargs)" '38 0 1 1 1 3'
	# nobody goes on before the success
	assert_equal "$(awk -v at="$(<succeeded)" '$1 == 0 && $2 < at' ended)" ''
	in_queue migrate 0
	is_free migrate
	nothing_left
	run -0 --separate-stderr ./starter # one that comes later
	has_runs 3
	! grep -v 'server\|reach' said || fail "$(<said)"
}

@test "when the host of the one that runs dies, the next tries after the lease, and the others wait for that" {
	waiters=()
	start_server
	background "$FAIRLOCK" wrap -l 2s --once-ok 1h job sh -c 'echo $$ >pid; exec sleep 600' 2>said
	wait_until test -s pid
	pids="$! $(pgrep -P $!) $(<pid)"
	for i in 1 2 3; do
		background "$FAIRLOCK" wrap --once-ok 1h job sh -c 'echo ran >>ran; sleep 0.5; echo done >>ran' 2>>said
		waiters+=($!)
		wait_until in_queue job "$i"
	done
	kill_at_once $pids
	[ ! -e ran ]
	for i in "${waiters[@]}"; do
		ends_with 0 "$i"
	done
	assert_equal "$(cat ran)" $'ran\ndone'
	nothing_left
}
