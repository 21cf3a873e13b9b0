"""The faults of a round: what the seed decides of the n-th one (when, its kind, how long it lasts, and which process it hits of
those that are there at that moment), and doing it to jobs, servers and connections."""

import os
import random
import signal
import time

from jobs import LOCKS, SLOTS, pick
from machine import MS, NEVER_TOKEN, S, braced, connection_of, now
from server import unless_away

# How often each kind comes. First signals, and the role of the process that gets them.
SIGNALS = {
    "kill": {"wrapper": 10, "guard": 8, "command": 6, "acquire": 4, "keeper": 3, "script": 3, "client": 1, "redisson": 3},
    "stop": {"wrapper": 12, "guard": 8, "command": 6, "acquire": 4, "keeper": 3, "script": 2, "redisson": 3},
    "term": {"wrapper": 6, "acquire": 2, "command": 2},
}
FAULTS = {
    **{f"{word} {role}": weight for word, roles in SIGNALS.items() for role, weight in roles.items()},
    **{"kill_both": 2, "orphan": 3, "mixture": 6, "freeze": 4, "hang": 1, "pause": 6},
    **{"cut": 24, "forge": 8, "step": 2, "remove": 5, "force": 6, "ask_to_stop": 8, "look": 8},
    **{"server_kill": 2, "server_freeze": 6},
    **{"proxy": 11, "proxy_break": 4},
}
OFTEN = {ground: {"server_kill": 8} for ground in ("volatile", "sentinel", "cluster")}
MEAN_S = 0.15
# For a calm round, in which the server is always there, so that the checker can judge how long a lock is idle.
CALM = {"hang": 6, "pause": 12, "forge": 12, "orphan": 4, "mixture": 4, "look": 4, "kill redisson": 2}
CALM_MEAN_S = 0.5

FORGED = [
    "granted {token} 1125899906842624 1",
    "granted {token} 5000 {ms}",
    "granted {token} 5000 {ms} {secret}",
    "granted {secret} {token} 5000 {ms}",
    "granted {token} 1000 99999999999999 {secret}",
    "0",
    "first 1",
    "first 99999999999999999999",
    "granted",
    "granted {token}",
    "\0\n{secret}",
]

HANG_S = 21  # longer than any number of hung waiters may cost
STEP_MS = 4000  # after a larger step, all waiters would have been silent for too long
STEPS_APART_S = 12
MIXED = ("wrapper", "guard", "command")
LOOKS = ["status", "status --json", "queue", "queue --json", "log --stats", "log --json --since 5s"]
PATIENCE = ["0", "300ms", "20s", "20s"]  # for how long `release --stop` waits


class Fault:
    """The same n-th fault in each run of a seed."""

    def __init__(self, seed, count, ground, calm):
        dice = random.Random(f"{seed} fault {count}")
        self.after = int(dice.expovariate(1 / (CALM_MEAN_S if calm else MEAN_S)) * S)
        self.kind = pick(dice, CALM if calm else {**FAULTS, **OFTEN.get(ground, {})})
        self.which = dice.randrange(1 << 30)
        self.lasts = int(min(dice.expovariate(1.0) * 0.8, 6) * S)
        self.long = dice.random()
        self.lock = dice.choice(LOCKS)


class Harm:
    def __init__(self, round_):
        self.round, self.ground = round_, round_.ground
        self.later, self.say = round_.later, round_.journal.say
        self.busy = set()  # the ways that have an outage already
        self.hung = {}  # until when waiters of a lock are stopped
        self.stepped = 0

    def do(self, fault):
        action, _, role = fault.kind.partition(" ")
        process = self.victim(fault, role)
        if not role:
            getattr(self, action)(fault)
        elif process and action == "stop":
            self.stop(process, fault.lasts)
        elif process:
            self.once(action, process)

    # ---- Processes

    def victim(self, fault, *roles):
        processes = self.round.machine.processes()
        found = [process for process in processes if process.role in roles and process.state != "T"]
        return found[fault.which % len(found)] if found else None

    def send(self, word, process, pidfd=None):
        """Signals a process through a descriptor, because another process may have its number by now. Returns the
        descriptor, or None."""
        at = now()
        try:
            pidfd = os.pidfd_open(process.pid) if pidfd is None else pidfd
            signal.pidfd_send_signal(pidfd, getattr(signal, "SIG" + word.upper()))
        except ProcessLookupError:
            return None
        self.say("fault", at=at, until=now(), fault=word, job=process.job, role=process.role, pid=process.pid)
        return pidfd

    def once(self, word, process):
        pidfd = self.send(word, process)
        if pidfd is not None:
            os.close(pidfd)

    def go_on(self, pidfd, process):
        self.send("cont", process, pidfd)
        os.close(pidfd)

    def stop(self, process, lasts):
        pidfd = self.send("stop", process)
        if pidfd is not None:
            self.later(lasts, lambda: self.go_on(pidfd, process))

    def of_job(self, *jobs):
        return [process for process in self.round.machine.processes() if process.job in jobs]

    def job_of_victim(self, fault):
        """All processes of a job that holds, or none."""
        guard = self.victim(fault, "guard", "keeper")
        return self.of_job(guard.job) if guard else []

    def kill_both(self, fault):
        for process in self.job_of_victim(fault):
            if process.role in ("wrapper", "guard"):
                self.once("kill", process)

    def freeze(self, fault):
        """Stops the whole job, as if its machine slept."""
        for process in self.job_of_victim(fault):
            self.stop(process, fault.lasts)

    def orphan(self, fault):
        """Stops COMMAND, kills its guard, and continues COMMAND when the lease is over."""
        processes = {process.role: process for process in self.job_of_victim(fault)}
        command, guard = processes.get("command"), processes.get("guard")
        if not command or not guard:
            return
        self.stop(command, self.round.jobs[command.job].lease * MS + S // 3 + fault.lasts // 2)
        self.later(S // 3, lambda: self.once("kill", guard))

    def mixture(self, fault):
        """Sends some signals to wrapper, guard and COMMAND, in some order."""
        dice = random.Random(fault.which)
        processes = {process.role: process for process in self.job_of_victim(fault)}
        after, stopped = 0, []
        for _ in range(dice.randrange(2, 7)):
            word, role = dice.choice(["stop", "stop", "cont", "cont", "kill"]), dice.choice(MIXED)
            after += dice.randrange(1200) * MS
            if role in processes:
                stopped += [processes[role]] * (word == "stop")
                self.later(after, lambda w=word, p=processes[role]: self.once(w, p))
        for process in stopped:
            self.later(after + MS, lambda p=process: self.once("cont", p))

    def waiting(self, lock):
        """The jobs that wait for the lock, in the order of the queue: wraps that are not stopped."""
        jobs = [self.round.looker.owners.get(owner) for owner in self.round.looker.queues[lock]]
        processes = self.round.machine.processes()
        roots = {process.job for process in processes if process.role == "wrapper" and process.state != "T"}
        return [job for job in dict.fromkeys(jobs) if job in roots]

    def hang(self, fault):
        """Stops the two, three or four jobs that are next."""
        count = 2 + fault.which % 3
        jobs = self.waiting(fault.lock)[:count]
        if len(jobs) == count and self.hung.get(fault.lock, 0) <= now():
            self.hung[fault.lock] = now() + HANG_S * S
            for process in self.of_job(*jobs):
                self.stop(process, HANG_S * S)

    def pause(self, fault):
        """Pauses the machine of the first waiter with a clock of its own: the clock stands still, too."""
        job = next((job for job in self.waiting(fault.lock) if job in self.round.clocks), None)
        if job is None:
            return
        lasts = fault.lasts // 2 if fault.long < 0.3 else int((5 + 4 * fault.long) * S)
        stopped = [(self.send("stop", process), process) for process in self.of_job(job)]
        at = now()

        def wake():
            clock = self.round.clocks.get(job)
            if clock:  # else the job has ended meanwhile
                clock.step(at - now())
            self.say("paused", at=at, until=now(), job=job)
            for pidfd, process in stopped:
                if pidfd is not None:
                    self.go_on(pidfd, process)

        self.later(lasts, wake)

    # ---- Connections

    def cut(self, fault):
        # holders are few
        roles = ("guard", "keeper", "client") if fault.long < 0.4 else ("wrapper", "acquire", "redisson")
        process = self.victim(fault, *roles)
        ports = self.ground.ports()
        found = process and connection_of(process.pid, ports)
        at = now()
        if found and self.ask(ports[found[1]], "CLIENT", "KILL", "ADDR", found[0]) is not None:
            self.say("fault", at=at, until=now(), fault="cut", job=process.job, role=process.role, pid=process.pid)

    def ask(self, server, *words):
        """Asks the server; None if it is not there now."""
        return None if "server" in self.busy else unless_away(None)(server.ask)(*words)

    def forge(self, fault):
        """Publishes what a waiter might take for its grant, with a token that the server never gives."""
        dice = random.Random(fault.which)
        server = self.ground.server_of(fault.lock)
        if server is None:
            return
        token = (NEVER_TOKEN + dice.randrange(1 << 30)) * (10**9 if dice.random() < 0.3 else 1)
        secret = f"{dice.getrandbits(128):032x}" if dice.random() < 0.5 else str(dice.getrandbits(53))
        message = dice.choice(FORGED).format(token=token, ms=time.time_ns() // MS, secret=secret)
        channel = f"redisson_lock__channel:{braced(fault.lock)}"
        self.say("forged", lock=fault.lock, message=message)
        for name in [channel] + [f"{channel}:{owner}" for owner in self.round.looker.queues[fault.lock][:3]]:
            for way in "PUBLISH", "SPUBLISH":
                self.ask(server, way, name, message)

    def step(self, fault):
        """Sets the server's clock."""
        if self.round.steps and now() - self.stepped >= STEPS_APART_S * S:
            self.stepped = at = now()
            ms = (STEP_MS if fault.which % 3 else -STEP_MS) * (1 - fault.long / 2)
            self.round.server_clock.step(int(ms * MS))
            self.say("step", at=at, until=now(), ms=int(ms))

    # ---- Commands

    def remove(self, fault):
        ids = self.round.looker.queues[fault.lock]
        if ids and "server" not in self.busy:
            owner = ids[fault.which % len(ids)]
            job = self.round.looker.owners.get(owner)
            self.round.run_command(["queue", "--remove", owner, fault.lock], "removed", owner=owner, job=job)

    def force(self, fault):
        if "server" not in self.busy:
            self.release(fault, ["--force"], "force")

    def ask_to_stop(self, fault):
        """Also while the server is away."""
        self.release(fault, ["--stop", "--wait", PATIENCE[fault.which % len(PATIENCE)]], "asked")

    def release(self, fault, options, what):
        """Breaks or asks all holds of the lock, or one: of an owner, or of a slot."""
        aims = {}
        owners, slots = self.round.looker.holders[fault.lock], SLOTS[fault.lock]
        if owners and fault.long < 0.4:
            aims["owner"] = owners[fault.which % len(owners)]
        elif slots and fault.long < 0.7:
            aims["slot"] = slots[fault.which % len(slots)]
        words = [word for name, aim in aims.items() for word in (f"--{name}", aim)]
        self.round.run_command(["release", *options, *words, fault.lock], what, lock=fault.lock, **aims)

    def look(self, fault):
        words = LOOKS[fault.which % len(LOOKS)]
        self.round.run_command([*words.split(), fault.lock], "look", command=words)

    # ---- The server and the way to it

    def outage(self, kind, path, begin, end, lasts):
        """Makes an outage of a way for some time, unless it has one already."""
        if self.busy & {path, "server"}:
            return
        self.busy.add(path)
        at = now()
        begin()

        def over():
            end()
            self.busy.discard(path)
            self.say("outage", at=at, until=now(), kind=kind, path=path)

        self.later(lasts, over)

    def server_kill(self, fault):
        ground = self.ground
        if self.busy & {"server"} or not ground.may_be_killed():
            return
        self.busy.add("server")
        at = now()
        hit = [lock for lock in LOCKS if ground.server_of(lock) is ground.server_of(fault.lock)]
        ground.kill(fault.lock)

        def back(until):
            if now() > until:
                raise RuntimeError("the server does not come back")
            if not ground.is_back():
                self.later(S // 50, lambda: back(until))
                return
            self.busy.discard("server")
            lost = {"lost": ground.loses, "hit": hit}
            self.say("outage", at=at, until=now(), kind="killed", path="server", up=ground.up, **lost)

        def revive():
            ground.revive()
            back(now() + 60 * S)

        self.later(fault.lasts // (1 if fault.long < 0.3 else 4), revive)

    def server_freeze(self, fault):
        lasts = fault.lasts // 5 + (S if fault.long < 0.5 else 0)
        if self.ground.fails_over:
            lasts = min(lasts, S // 2)  # too short for a failover: there must not be two masters

        def end():
            self.ground.signal(signal.SIGCONT)
            self.round.await_server()

        self.outage("frozen", "server", lambda: self.ground.signal(signal.SIGSTOP), end, lasts)

    def proxy(self, fault):
        """Cuts or delays, resets, or forgets; a holder needs a second or more to find out that it was forgotten."""
        if not self.ground.proxy:
            return
        delay, tell = f"delay {20 + fault.which % 250}", self.ground.proxy.tell
        command = pick(random.Random(fault.which), {"cut": 6, "reset": 2, "forget": 1, delay: 2})
        cut = fault.lasts + (2 * S if fault.long < 0.7 else 0)
        lasts = {"cut": cut, "reset": 0, "forget": 3 * S}.get(command, fault.lasts)
        kind = {"reset": "cut"}.get(command, command.split()[0])
        self.outage(kind, "proxy", lambda: tell(command), lambda: tell("pass"), lasts)

    def proxy_break(self, fault):
        """Breaks the next connection, which is no outage: the client connects once more."""
        if self.ground.proxy and not self.busy & {"proxy", "server"}:
            for _ in range(1 + fault.which % 2):
                self.ground.proxy.tell("snap up")
