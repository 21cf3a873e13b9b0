"""Redisson and fairlock queue for one lock in random order, round after round.

usage: [SEED=N] tests/interop/mixed.py GRANTS PORT SOCKET FAIRLOCK CLIENT...

CLIENT are the words that start a JVM with Client.java.

3 to 20 waiters of both kinds queue one after another behind a holder of either kind, some going in twice;
they must be granted in that order, without an overlap, until there were GRANTS of them.

Prints the seed that repeats the run, and what was counted. Exits 1 with the reason when a rule was broken.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

NAME = "job"
QUEUE, TIMEOUTS = "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"


class Failure(Exception):
    pass


def until(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"not so after {seconds} s: {what}")
        time.sleep(0.005)


def die_with_us():
    # PR_SET_PDEATHSIG
    __import__("ctypes").CDLL(None).prctl(1, signal.SIGKILL)


class World:
    def __init__(self, port, socket, fairlock, client):
        self.port, self.socket, self.fairlock, self.client = port, socket, fairlock, client
        self.trace = pathlib.Path("trace").resolve()
        self.jvms = []
        self.number = 0

    def call(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *map(str, words)], stdout=subprocess.PIPE, check=True,
                              text=True).stdout.split()

    def jvm(self):
        """One more JVM, with two Redisson clients in it."""
        output, errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        process = subprocess.Popen([*self.client, self.port, "6000"], stdin=subprocess.PIPE, stdout=output, stderr=errors, text=True,
                                   preexec_fn=die_with_us)
        jvm = {"process": process, "output": output, "actors": set()}
        self.jvms.append(jvm)
        try:
            for client in "ab":  # one after the other: of both at once, one was never answered
                self.tell(jvm, f"{client}.0 connect")
                until(lambda: f"{client}.0 connect ok" in self.said(jvm), "Redisson connected")
        except Failure as failure:
            process.send_signal(signal.SIGQUIT)  # it prints what its threads do
            time.sleep(2)
            errors.seek(0)
            raise Failure(f"{failure}; it said: {self.said(jvm)}{errors.read()[-2000:]}") from None
        return jvm

    @staticmethod
    def said(jvm):
        jvm["output"].seek(0)
        return jvm["output"].read()

    @staticmethod
    def tell(jvm, line):
        jvm["process"].stdin.write(line + "\n")
        jvm["process"].stdin.flush()

    def actor(self):
        self.number += 1
        return f"{random.choice('ab')}.{self.number}"

    def shell(self, work_ms, word, twice=False):
        inner = f"mkdir {self.trace}.in && echo {word} >>{self.trace}; sleep {work_ms / 1000}; rmdir {self.trace}.in"
        command = [self.fairlock, "wrap", NAME, "sh", "-c", inner]
        if twice:
            command = [self.fairlock, "wrap", NAME, self.fairlock, "wrap", NAME, "sh", "-c", inner]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_us)

    def waiting(self):
        listed = [identity for identity in self.call("LRANGE", QUEUE, 0, -1) if not identity.startswith("fairlock:")]
        return len(listed) + int(self.call("ZCARD", "fairlock_queue:{job}")[0])

    def traced(self):
        return self.trace.read_text().split() if self.trace.exists() else []

    def left_behind(self):
        return int(self.call("EXISTS", NAME, QUEUE, TIMEOUTS, "fairlock_queue:{job}")[0])


def hold(world):
    """Lets a holder of either kind take the lock; returns a function that gives it back."""
    if random.random() < 0.5:
        holder = subprocess.Popen([world.fairlock, "wrap", NAME, "sleep", "600"], preexec_fn=die_with_us,
                                  stderr=subprocess.DEVNULL)
        until(lambda: world.call("EXISTS", NAME) == ["1"], "fairlock holds")
        return lambda: (holder.send_signal(signal.SIGTERM), holder.wait())
    jvm, actor = random.choice(world.jvms), world.actor()
    world.tell(jvm, f"{actor} lock {NAME}")
    until(lambda: f"{actor} lock ok" in world.said(jvm), "Redisson holds")
    return lambda: world.tell(jvm, f"{actor} unlock {NAME}")


def play_round(world, count):
    world.trace.unlink(missing_ok=True)
    release = hold(world)
    words, shells = [], []
    for place in range(count):
        word = f"{place}"
        if random.random() < 0.5:
            shells.append(world.shell(random.randrange(5), f"f{word}", twice=random.random() < 0.2))
            words.append(f"f{word}")
        else:
            world.tell(random.choice(world.jvms),
                       f"{world.actor()} run {NAME} {world.trace} r{word} {random.randrange(5)}")
            words.append(f"r{word}")
        until(lambda: world.waiting() == place + 1, f"{place + 1} wait")
    release()
    until(lambda: len(world.traced()) == count, f"all of {words} were granted; {world.traced()} were")
    for shell in shells:
        if shell.wait():
            raise Failure(f"fairlock ended with {shell.returncode}")
    if world.traced() != words:
        raise Failure(f"granted as {world.traced()}, arrived as {words}")
    until(lambda: world.left_behind() == 0, "nothing is left")
    for jvm in world.jvms:
        if "failed" in world.said(jvm):
            raise Failure(world.said(jvm))


def play_order(world, grants):
    world.jvm()
    world.jvm()
    done = rounds = 0
    while done < grants:
        count = random.randint(3, 20)
        play_round(world, count)
        done, rounds = done + count, rounds + 1
    print(f"{done} grants in {rounds} rounds, all in the order of arrival")


def main():
    count, port, socket, fairlock, *client = sys.argv[1:]
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    print(f"seed {seed}", flush=True)
    random.seed(seed)
    os.environ["FAIRLOCK_URL"] = "unix:" + socket
    world = World(port, socket, fairlock, client)
    try:
        play_order(world, int(count))
    except Failure as failure:
        print(failure)
        sys.exit(1)
    finally:
        for jvm in world.jvms:
            jvm["process"].kill()


main()
