# wrap on a real terminal: COMMAND behaves as if the shell had started it directly.
load ../lib/helpers
load ../lib/one_server

# on_terminal: runs the commands for expect of the standard input against an interactive shell on a
# pty
on_terminal() {
	{
		cat <<'END'
set timeout 60
proc want {pattern} {
	expect {
		-re $pattern {}
		timeout {
			puts "\nnever came: $pattern"
			puts [exec ps -o pid,ppid,stat,wchan:20,args -t [string range $::spawn_out(slave,name) 5 end]]
			exit 1
		}
		eof { puts "\nended before: $pattern"; exit 1 }
	}
}
proc type {line} { send -- "$line\r" }
log_user 1
set env(PS1) {PROMPT> }
set env(TERM) dumb
spawn bash --norc --noprofile -i
want {PROMPT> $}
type {bind 'set enable-bracketed-paste off' 2>/dev/null; stty -echo}
want {PROMPT> $}
END
		cat
		cat <<'END'
type {exit}
expect eof
exit 0
END
	} >script.exp
	timeout 150 expect script.exp 3>&- 4>&-
}

@test "Ctrl-C reaches COMMAND once, and ends the shell loop around wrap" {
	cat >job <<'END'
trap 'echo int >>trace; trap - INT; kill -INT $$' INT
echo ready
while :; do sleep 0.05; done
END
	run -0 on_terminal <<'END'
type {for i in 1 2 3; do echo loop $i; "$FAIRLOCK" wrap job sh job; done; echo status $?}
want {loop 1.*ready}
send "\003"
want {PROMPT> $}
END
	refute_output --partial 'loop 2'
	[ "$(cat trace)" = int ]
	run -1 "$FAIRLOCK" status -q job
}

@test "COMMAND can read the terminal" {
	run -0 on_terminal <<'END'
type {"$FAIRLOCK" wrap job sh -c 'printf "name? "; read name; echo "hello $name"'}
want {name\? $}
type {Ada}
want {hello Ada}
want {PROMPT> $}
END
}

@test "Ctrl-Z stops the job and fg continues it, and the lock stays held and renewed meanwhile" {
	cat >job <<'END'
echo ready
while [ ! -e go ]; do sleep 0.05; done
echo finished
END
	run -0 on_terminal <<'END'
type {"$FAIRLOCK" wrap -l 4s -k 100ms job sh job; echo status $?}
want {ready}
send "\032"
want {Stopped}
want {PROMPT> $}
type {sleep 6; "$FAIRLOCK" status -q job && echo still held; touch go}
want {still held}
want {PROMPT> $}
type {fg; echo status $?}
want {finished}
want {status 0}
want {PROMPT> $}
END
	run -1 "$FAIRLOCK" status -q job
}

@test "a COMMAND that stops itself stops the job, and fg continues both" {
	run -0 on_terminal <<'END'
type {"$FAIRLOCK" wrap job sh -c 'kill -STOP $$; echo went on'}
want {Stopped}
want {PROMPT> $}
type {fg; echo status $?}
want {went on}
want {status 0}
want {PROMPT> $}
END
}

@test "an interactive shell under wrap has working job control" {
	run -0 on_terminal <<'END'
type {"$FAIRLOCK" wrap job bash --norc --noprofile -i}
want {PROMPT> $}
type {stty -echo; echo "inner $FAIRLOCK_NAME"}
want {inner job}
want {PROMPT> $}
type {sh -c 'echo started; exec sleep 100'}
want {started}
send "\032"
want {Stopped}
want {PROMPT> $}
type {kill -9 %1; while kill -0 %1 2>/dev/null; do :; done}
want {PROMPT> $}
type {exit 3}
want {PROMPT> $}
type {echo status $?}
want {status 3}
want {PROMPT> $}
END
	refute_output --partial 'no job control'
	refute_output --partial 'cannot set terminal process group'
}

@test "Ctrl-C takes a waiter out of the queue" {
	hold job
	run -0 on_terminal <<'END'
type {echo ready; "$FAIRLOCK" wrap job true; echo status $?}
want {ready}
while {[exec sh -c {"$CLI" -s "$SERVER_SOCKET" ZCARD "fairlock_queue:{job}"}] != 1} { after 20 }
send "\003"
want {PROMPT> $}
END
	in_queue job 0
}

@test "COMMAND ends and the lock is free when the terminal hangs up" {
	cat >hangup.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i", "-c",
                       '"$FAIRLOCK" wrap job sh -c "echo \\$\\$ >pid; while :; do sleep 0.05; done"'])
while not (os.path.exists("pid") and os.path.getsize("pid")):
    time.sleep(0.02)
os.close(fd)
END
	timeout 20 python3 hangup.py 3>&- 4>&-
	wait_until ended "$(cat pid)"
	wait_until is_free job
}

@test "a waiter without a line that Ctrl-Z has stopped starts COMMAND only after fg" {
	hold job
	export HOLDER
	cat >standing <<'END'
until waiter=$(pgrep -o -f 'wrap -q [j]ob') && pgrep -P "$waiter"; do sleep 0.05; done
END
	run -0 on_terminal <<'END'
type {"$FAIRLOCK" wrap -q job sh -c 'echo runs >>ran'}
exec sh standing
send "\032"
want {Stopped.*PROMPT> $}
exec kill $env(HOLDER)
exec sh -c {while "$FAIRLOCK" status -q job; do sleep 0.05; done; test ! -e ran}
type {fg}
want {PROMPT> $}
END
	assert_equal "$(cat ran)" runs
}

@test "wrap behind a short hold runs COMMAND once and to its end on a terminal" {
	cat >rounds <<'END'
for i in 1 2 3 4 5 6 7 8; do
	rm -f held over
	"$FAIRLOCK" wrap job sh -c 'touch held; exec sleep 0.5' 2>errors &
	until [ -e held ]; do sleep 0.02; done
	{ "$FAIRLOCK" wrap job sleep 0.01 2>errors; touch over; } &
	until [ "$("$FAIRLOCK" queue job | wc -l)" -gt 1 ] || [ -e over ]; do sleep 0.02; done
	"$FAIRLOCK" wrap job sh -c 'echo begins >>trace; sleep 0.2; echo ends >>trace' || echo "status $?" >>trace
	wait
done
END
	run -0 on_terminal <<'END'
type {sh rounds}
want {PROMPT> $}
END
	assert_equal "$(uniq -c trace | sort | uniq -c | xargs)" '8 1 begins 8 1 ends'
}
