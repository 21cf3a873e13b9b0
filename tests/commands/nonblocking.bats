# A standard output that another program has made non-blocking, as Node leaves it, and that is full for a while: nothing is cut off.

load ../lib/helpers
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

@test "log --follow waits for the reader of a non-blocking pipe" {
	many_locks
	run -124 slowly timeout 5 "$FAIRLOCK" log --raw --noheadings -o NAME --follow
	assert_equal "${#lines[@]}" 600
}
