"""A thread of a Java program with Redisson's RFairLock, as a client of the torture test: Redisson's own scripts, as the random
walk has them (tests/fuzz/walk/redisson.py), and its way to wait. That real Redisson does the same is what tests/interop tests.

usage: rfairlock.py AGE MS LEASE-MS PATIENCE-MS [WAIT-MS]
    AGE       old or new, as the walk has them
    MS        so long it works; a thread of the client renews the lease meanwhile, every third of it
    PATIENCE  what it tells the server: Redisson's fairLockWaitTimeout; with WAIT the same as that
    WAIT      tryLock: it gives up after so long, with 75

HISTORY, LOCK, JOB, PORTS (any of them may be the master) and CHANNELS (plain or sharded) are set. It writes into the history
as programs/section.c does, without a token: Redisson has none. Nothing stops a Java thread whose lease is over, so it writes
no line that is later than what it knows of its lease, at the highest rate of the server's clock."""

import os
import select
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "lib"), os.path.join(TESTS, "fuzz/walk")]
from machine import FASTEST, FOREVER, MS, Journal, braced, now  # noqa: E402
from redisson import TEXTS  # noqa: E402
from resp import Connection  # noqa: E402

BEAT_S = 0.005
GIVE_UP_S = 60  # no outage is as long
SPIN_MS, NEGATIVE_MS = 250, 10000  # it asks again, if the answer tells no time


class Thread:
    def __init__(self, age, lease, patience):
        self.age, self.lease, self.patience = age, lease, patience
        self.lock, self.name = os.environ["LOCK"], os.environ["JOB"]
        self.history = Journal(os.environ["HISTORY"])
        self.ports = os.environ["PORTS"].split(",")
        self.sharded = os.environ["CHANNELS"] == "sharded"
        self.id = f"{os.urandom(16).hex()}:{os.getpid()}"
        name = braced(self.lock)
        self.keys = [self.lock, f"redisson_lock_queue:{name}", f"redisson_lock_timeout:{name}"]
        self.channel = f"redisson_lock__channel:{name}"
        self.connection, self.listens = None, False
        self.asked = 0  # before the last request

    # The connection

    def connect(self):
        self.connection = Connection(int(self.ports[0]), 5)
        self.connection.ask("HELLO", "3")
        if not self.sharded and self.connection.ask("ROLE")[0] != "master":
            raise RuntimeError("no master")
        if self.listens:
            self.listen()

    def listen(self):
        self.connection.ask("SSUBSCRIBE" if self.sharded else "SUBSCRIBE", f"{self.channel}:{self.id}")

    def is_told(self):
        """Whether a message says that its turn may have come."""
        told = any(words[0].endswith("message") and words[-1] == "0" for words in self.connection.pushed)
        self.connection.pushed.clear()
        return told

    def do(self, what, *words):
        """Does it on whichever server is the master, and again when the connection broke, as Redisson does."""
        until = now() + GIVE_UP_S * 1000 * MS
        while now() < until:
            try:
                if self.connection is None:
                    self.connect()
                return what(*words)
            except (OSError, RuntimeError) as error:
                self.lose_connection()
                moved = str(error).split()
                if moved[:1] == ["MOVED"]:
                    port = moved[2].rpartition(":")[2]
                    self.ports = [port] + [other for other in self.ports if other != port]
                else:
                    self.ports = self.ports[1:] + self.ports[:1]
                    time.sleep(0.05)
        sys.exit(69)

    def lose_connection(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def call(self, script, *words):
        text = TEXTS[script].replace("'publish'", "'spublish'") if self.sharded else TEXTS[script]

        def once():
            self.asked = now()
            clock = time.time_ns() // MS
            return self.connection.ask("EVAL", text, 3, *self.keys, clock, self.id, *words)

        return self.do(once)

    # What Redisson does

    def sleep(self, ms):
        """Until the time is over, or a message comes; a new connection asks again."""
        until = now() + ms * MS
        while now() < until and not self.is_told():
            try:
                # a message may have come together with the last answer
                left_s = max(0, until - now()) / 1000 / MS
                if self.connection.data or select.select([self.connection.socket], [], [], left_s)[0]:
                    self.connection.pushed.append(self.connection.read()[1])
            except OSError:
                self.lose_connection()
                return

    def take(self, wait):
        """RedissonLock.lock, and tryLock."""
        gives_up = now() + wait * MS if wait is not None else FOREVER
        while True:
            answer = self.call(f"redisson_lock_{self.age}", self.patience, self.lease)
            if answer == "granted":
                return
            if now() >= gives_up:
                self.call("redisson_leave", self.patience)
                sys.exit(75)
            if not self.listens:
                self.listens = True
                self.do(self.listen)
                continue
            ms = 1000 if answer is None else int(answer)
            ms = NEGATIVE_MS if ms < 0 else max(SPIN_MS, ms)
            self.sleep(min(ms, max(0, gives_up - now()) // MS + 1))

    def say(self, what, until):
        at = now()
        if at < until:
            self.history.say(what, at=at, lock=self.lock, job=self.name, pid=os.getpid(), owner=self.id)

    def work(self, ms):
        ends, knows = now() + ms * MS, self.asked  # when its lease began
        lasts = int(self.lease * MS / FASTEST)
        self.say("start", knows + lasts)
        while now() < ends:
            time.sleep(BEAT_S)
            self.say("beat", knows + lasts)
            if now() >= knows + self.lease * MS // 3:
                if self.call("redisson_renew", "", self.lease) != "renewed":
                    break
                knows = self.asked
        self.say("end", knows + lasts)


def main(age, ms, lease, patience, wait=None):
    thread = Thread(age, int(lease), int(patience))
    thread.take(wait and int(wait))
    thread.work(int(ms))
    if thread.call(f"redisson_unlock_{age}", thread.channel, thread.lease) == "not mine":
        sys.exit(76)


if __name__ == "__main__":
    main(*sys.argv[1:])
