"""A lock as a context manager: one process at a time, in the order in which they asked, on all hosts.

    from fairlock_lock import fairlock

    with fairlock("invoices", "--wait", "10m") as hold:
        close_month(fencing_token=hold["token"])

The options are those of fairlock-acquire(1). `hold` has what `acquire --json` prints: owner, token, slot ...
TimeoutError: the lock was busy for as long as --wait (or --no-wait) says. CalledProcessError: fairlock failed, and has
told why on stderr; with returncode 76 at the end of the block: the lock was lost meanwhile.

A keeper in the background renews the lease while this process lives, and gives the lock back when the process ends,
however it ends. If the host dies, the lock is free when its lease ends, 30 s later. If the lock is lost (server away,
`release --force`), nothing stops the block: give the token to a store that refuses smaller ones, or run a command
with `fairlock wrap`, which stops it. Threads exclude each other, too, so a block inside a block of the same lock waits
for ever.

Change nothing; copy it into your project. Python 3.6 or later. The server stands in /etc/fairlock.conf or FAIRLOCK_URL.
"""

import contextlib, json, os, subprocess


@contextlib.contextmanager
def fairlock(name, *options):
    acquire = ["fairlock", "acquire", "--json", "--while-pid", str(os.getpid()), *options, "--", name]
    acquired = subprocess.run(acquire, stdout=subprocess.PIPE)
    if acquired.returncode == 75:
        raise TimeoutError(f"cannot get lock {name}")
    acquired.check_returncode()
    hold = json.loads(acquired.stdout)
    try:
        yield hold
    finally:
        released = subprocess.run(["fairlock", "release", "--owner", hold["owner"], "--", name])
    released.check_returncode()
