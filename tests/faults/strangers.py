"""Strangers: processes that fairlock has no reason to signal.

strangers.py witness FILE            does nothing, and writes each signal into FILE

strangers.py around FILE WORD...     the first process of a namespace with its own /proc: makes a chain of processes up to number
                                     19, each the child of the one before. The last has the children 20 to 59. Then becomes
strangers.py within FILE WORD...     in a namespace below, which sees the same /proc: runs WORD..., and when there is something
                                     in `beats`, witnesses with the numbers 20 to 59. A process there that has the number of
                                     one of the chain, and believes that /proc, takes them for its descendants. Writes into
                                     `result` how WORD... ended, and how many witnesses died.

`around` and `within` go on until they are killed."""
import os
import signal
import sys
import time

CHAIN_END, END = 19, 60


def witness(path):
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, lambda number, _: os.write(log, b"%d got %d\n" % (os.getpid(), number)))
    while True:
        signal.pause()


def fork(child):
    """Runs CHILD in a process of its own, and returns its number."""
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(1)
    return pid


def sleep():
    while True:
        time.sleep(600)


def wait_for_contents(path):
    while not os.path.exists(path) or os.path.getsize(path) == 0:
        time.sleep(0.01)


def chain():
    if os.getpid() < CHAIN_END:
        fork(chain)
    else:
        children = [fork(sleep) for _ in range(CHAIN_END + 1, END)]
        with open("chain", "w") as file:
            print(os.getpid(), children[-1], file=file)
    sleep()


def around(words):
    fork(chain)
    wait_for_contents("chain")
    words = [sys.executable, __file__, "within"] + words
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child"] + words)


def within(path, words):
    job = fork(lambda: os.execvp(words[0], words))
    pid = lost = 0
    wait_for_contents("beats")
    while pid < END - 1:
        pid = fork(lambda: witness(path) if os.getpid() > CHAIN_END else None)
    time.sleep(0.5)  # they are ready, and the others have ended
    open("strangers", "w").close()
    _, status = os.waitpid(job, 0)
    time.sleep(0.2)
    while pid > 0:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        lost += CHAIN_END < pid < END
    with open("result.new", "w") as file:
        print(os.waitstatus_to_exitcode(status), lost, file=file)
    os.rename("result.new", "result")
    sleep()


if sys.argv[1] == "witness":
    witness(sys.argv[2])
elif sys.argv[1] == "around":
    around(sys.argv[2:])
else:
    within(sys.argv[2], sys.argv[3:])
