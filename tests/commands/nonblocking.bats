# A standard output that another program has made non-blocking, as Node leaves it, and that is full for a while: nothing is cut off.
# One that stays full: who waits for its reader ends by a signal, and acquire holds no lock then.

load ../lib/one_server

# many_locks: makes so many free locks that a list of them does not fit into a pipe
many_locks() {
	local i

	for ((i = 1; i <= 600; i++)); do
		echo "HSET fairlock:{free$i} name free$i v 1"
		echo "XADD fairlock_log:{free$i} 1795230000000-0 event left by h\\t1\\tann\\tsh"
	done | cli >/dev/null
}

# slowly COMMAND...: runs it with a full non-blocking pipe as standard output. Prints what COMMAND wrote, which it reads slowly, and
# ends with its status; with 99 if COMMAND has made the pipe a blocking one.
slowly() {
	python3 - "$@" <<'END'
import os, subprocess, sys, time
reader, writer = os.pipe()
os.set_blocking(writer, False)
filled = 0
try:
    while True:
        filled += os.write(writer, b"x" * 4096)
except BlockingIOError:
    pass
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL)
time.sleep(0.3)  # so that it finds the pipe full; if it is slower, the test is easier
was_changed = os.get_blocking(writer)
os.close(writer)
text = b""
while piece := os.read(reader, 5000):
    text += piece
    time.sleep(0.002)
sys.stdout.buffer.write(text[filled:])
sys.stdout.flush()
sys.exit(99 if was_changed else child.wait())
END
}

@test "status, queue, log and metrics are printed whole to a full pipe that is non-blocking" {
	local words

	many_locks
	for words in 'status --all --raw' 'status --all --json' 'status --prometheus' 'log --json' 'queue --json' 'status -a free1'; do
		"$FAIRLOCK" $words >whole
		slowly "$FAIRLOCK" $words >printed
		cmp whole printed
	done
	[ "$("$FAIRLOCK" status --all --json | wc -c)" -gt 120000 ]
}

# full_pipe: makes `full`, a pipe whose reader hangs
full_pipe() {
	mkfifo full
	exec 9<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>why || grep -q unavailable why
}

@test "acquire whose owner id nobody reads ends with its lease (76); with --while-pid it renews that, and ends by a signal, or with that process (75)" {
	full_pipe
	run -76 timeout -s KILL 20 sh -c '"$FAIRLOCK" acquire -l 1s job >full'
	assert_output 'fairlock: lost lock job before its owner id was written'
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run -76 strace -qq -o calls -e trace=write,writev \
		-e inject=write,writev:delay_enter=1500000 "$FAIRLOCK" acquire -l 1s job
	assert_line 'fairlock: lost lock job while its owner id was written'
	for end in 143 75; do
		background sleep 600
		pids=($!)
		background "$FAIRLOCK" acquire -l 2s --while-pid $! job >full
		pids+=($!)
		sleep 3
		"$FAIRLOCK" status -q job
		kill -TERM "${pids[end == 143]}"
		wait_until ended "${pids[1]}"
		ends_with $end "${pids[1]}"
		is_free job
	done
}

@test "wrap and acquire whose message nobody reads end by a signal" {
	full_pipe
	"$FAIRLOCK" acquire job
	for words in 'wrap -n job true' 'acquire -n job' 'wrap free /etc/passwd'; do
		background "$FAIRLOCK" $words 2>full
		sleep 0.5
		kill -TERM $!
		wait_until ended $!
		ends_with 143 $!
	done
}

@test "log --follow waits for the reader of a non-blocking pipe" {
	many_locks
	run -124 slowly timeout 5 "$FAIRLOCK" log --raw --noheadings -o NAME --follow
	assert_equal "${#lines[@]}" 600
}
