"""The faults of a round: what the seed decides of the n-th one (when, its kind, how long it lasts, and which process it hits of
those that are there at that moment), and doing it to jobs, servers and connections."""

import os
import random
import signal
import time

from grounds import freeze, thaw
from jobs import LOCKS, SLOTS, pick
from machine import connection_of, now
from server import unless_away

S = 1_000_000_000
MS = 1_000_000

# How often each kind comes. A word like kill-guard is a signal for a process of that role.
FAULTS = {
    "kill-wrapper": 10,
    "kill-guard": 8,
    "kill-command": 6,
    "kill-acquire": 4,
    "kill-keeper": 3,
    "kill-script": 3,
    "kill-client": 1,
    "kill-redisson": 3,
    "stop-wrapper": 12,
    "stop-guard": 8,
    "stop-command": 6,
    "stop-acquire": 4,
    "stop-keeper": 3,
    "stop-script": 2,
    "stop-redisson": 3,
    "term-wrapper": 6,
    "term-acquire": 2,
    "term-command": 2,
    "kill-both": 2,
    "orphan": 3,
    "mixture": 6,
    "freeze": 4,
    "hang": 1,
    "pause": 6,
    "cut": 24,
    "cut-all": 1,
    "remove": 5,
    "force": 6,
    "ask-to-stop": 8,
    "forge": 8,
    "look": 8,
    "step": 2,
    "server-kill": 2,
    "server-freeze": 6,
    "proxy-cut": 6,
    "proxy-reset": 2,
    "proxy-forget": 1,
    "proxy-delay": 2,
    "proxy-break": 4,
}
OFTEN = {ground: {"server-kill": 8} for ground in ("volatile", "sentinel", "cluster")}
MEAN_S = 0.15
# For a calm round, in which the server is always there, so that the checker can judge how long a lock is idle.
CALM = {"hang": 6, "pause": 12, "forge": 12, "orphan": 4, "mixture": 4, "look": 4, "kill-redisson": 2}
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
NEVER = 4102444800000  # the server gives no tokens from here on before the year 2100


def forged(dice):
    """A message that may be taken for a grant, and the token in it."""
    token = NEVER + dice.randrange(1 << 30)
    if dice.random() < 0.3:
        token *= 10**9
    secret = f"{dice.getrandbits(128):032x}" if dice.random() < 0.5 else str(dice.getrandbits(53))
    return dice.choice(FORGED).format(token=token, ms=time.time_ns() // MS, secret=secret), token


class Fault:
    def __init__(self, dice, ground, calm):
        self.after = int(dice.expovariate(1 / (CALM_MEAN_S if calm else MEAN_S)) * S)
        self.kind = pick(dice, CALM if calm else {**FAULTS, **OFTEN.get(ground, {})})
        self.which = dice.randrange(1 << 30)
        self.lasts = int(min(dice.expovariate(1.0) * 0.8, 6) * S)
        self.long = dice.random()
        self.lock = dice.choice(LOCKS)


HANG_S = 21  # longer than any number of hung waiters may cost
LONG_S = 32  # longer than they have ever cost
STEP_MS = 4000  # after a larger step, all waiters would have been silent for too long
STEPS_APART_S = 12

MIXED = ("wrapper", "guard", "command")

LOOKS = [
    ["status"],
    ["status", "--json"],
    ["queue"],
    ["queue", "--json"],
    ["log", "--stats"],
    ["log", "--json", "--since", "5s"],
]


# For how long `release --stop` waits.
PATIENCE = ["0", "300ms", "20s", "20s"]


class Harm:
    def __init__(self, seed, round_):
        self.seed, self.round = seed, round_
        self.count = 0
        self.busy = set()  # the ways that have an outage already
        self.hung = {}  # until when waiters of a lock are stopped
        self.stepped = 0

    def next(self):
        self.count += 1
        dice = random.Random(f"{self.seed} fault {self.count}")
        return Fault(dice, self.round.kind[0], self.round.is_calm)

    def do(self, fault):
        if fault.kind in self.round.without:
            return
        action, _, role = fault.kind.partition("-")
        if action in ("kill", "stop", "term") and role != "both":
            self.signal(fault, action, role)
        else:
            getattr(self, fault.kind.replace("-", "_"))(fault)

    # ---- Processes

    def victim(self, fault, *roles):
        found = [
            process
            for process in self.round.machine.processes()
            if process.role in roles and process.state != "T" and process.job not in self.round.spared
        ]
        return found[fault.which % len(found)] if found else None

    def send(self, word, process):
        """Signals a process through a descriptor, because another process may have its number by now. Returns the
        descriptor, or None."""
        at = now()
        try:
            pidfd = os.pidfd_open(process.pid)
            signal.pidfd_send_signal(pidfd, getattr(signal, "SIG" + word.upper()))
        except ProcessLookupError:
            return None
        self.round.say_fault(word, process, at)
        return pidfd

    def go_on(self, pidfd, process):
        at = now()
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGCONT)
            self.round.say_fault("cont", process, at)
        except ProcessLookupError:
            pass
        os.close(pidfd)

    def stop(self, fault, process):
        pidfd = self.send("stop", process)
        if pidfd is not None:
            self.round.later(fault.lasts, lambda: self.go_on(pidfd, process))

    def signal(self, fault, action, role):
        process = self.victim(fault, role)
        if process is None:
            return
        if action == "stop":
            self.stop(fault, process)
            return
        self.once(action, process)

    def job_of_victim(self, fault):
        """All processes of a job that holds, or none."""
        guard = self.victim(fault, "guard", "keeper")
        return [process for process in self.round.machine.processes() if guard and process.job == guard.job]

    def kill_both(self, fault):
        for process in self.job_of_victim(fault):
            if process.role in ("wrapper", "guard"):
                self.once("kill", process)

    def freeze(self, fault):
        """Stops the whole job, as if its machine slept."""
        for process in self.job_of_victim(fault):
            self.stop(fault, process)

    def of_job(self, name):
        return [process for process in self.round.machine.processes() if process.job == name]

    def orphan(self, fault):
        """Stops COMMAND, kills its guard, and continues COMMAND when the lease is over."""
        processes = {process.role: process for process in self.job_of_victim(fault)}
        command, guard = processes.get("command"), processes.get("guard")
        pidfd = command and guard and self.send("stop", command)
        if not pidfd:
            return
        self.round.later(S // 3, lambda: self.once("kill", guard))
        lease = self.round.leases.get(command.job, 0) * MS
        self.round.later(lease + S // 3 + fault.lasts // 2, lambda: self.go_on(pidfd, command))

    def once(self, word, process):
        pidfd = self.send(word, process)
        if pidfd is not None:
            os.close(pidfd)

    def mixture(self, fault):
        """Sends some signals to wrapper, guard and COMMAND, in some order."""
        dice = random.Random(fault.which)
        processes = {process.role: process for process in self.job_of_victim(fault)}
        stopped = {}
        after = 0
        for _ in range(dice.randrange(2, 7)):
            word, role = dice.choice(["stop", "stop", "cont", "cont", "kill"]), dice.choice(MIXED)
            after += dice.randrange(1200) * MS
            if role in processes:
                self.round.later(after, lambda w=word, p=processes[role]: self.one_of_many(w, p, stopped))
        self.round.later(after + MS, lambda: self.continue_all(stopped))

    def one_of_many(self, word, process, stopped):
        if word == "stop":
            stopped[process.pid] = process
        self.once(word, process)

    def continue_all(self, stopped):
        for process in stopped.values():
            self.once("cont", process)

    def waiting(self, lock):
        """The jobs that wait for the lock, in the order of the queue: wraps that are not stopped."""
        jobs = [self.round.looker.owners.get(owner) for owner in self.round.looker.queues[lock]]
        roots = {
            process.job
            for process in self.round.machine.processes()
            if process.role == "wrapper" and process.state != "T"
        }
        return [job for job in dict.fromkeys(jobs) if job in roots]

    def hang(self, fault):
        """Stops the two or three jobs that are next."""
        count = 2 + fault.which % 2
        jobs = self.waiting(fault.lock)[:count]
        if len(jobs) < count or self.hung.get(fault.lock, 0) > now():
            return
        self.hung[fault.lock] = now() + HANG_S * S
        fault.lasts = HANG_S * S
        for process in [process for job in jobs for process in self.of_job(job)]:
            self.stop(fault, process)

    def hang_all(self, jobs):
        fault = Fault(random.Random(self.seed), None, True)
        fault.lasts = LONG_S * S
        for process in [process for job in jobs for process in self.of_job(job)]:
            self.stop(fault, process)

    def pause(self, fault):
        """Pauses the machine of the first waiter with a clock of its own: the clock stands still, too."""
        job = next((job for job in self.waiting(fault.lock) if job in self.round.clocks), None)
        if job is None:
            return
        lasts = fault.lasts // 2 if fault.long < 0.3 else int((5 + 4 * fault.long) * S)
        processes = self.of_job(job)
        stopped = [(self.send("stop", process), process) for process in processes]
        at = now()
        self.round.later(lasts, lambda: self.wake(job, at, stopped))

    def wake(self, job, at, stopped):
        clock = self.round.clocks.get(job)
        if clock:  # else the job has ended meanwhile
            clock.step(at - now())
        self.round.say_pause(job, at)
        for pidfd, process in stopped:
            if pidfd is not None:
                self.go_on(pidfd, process)

    # ---- Connections

    def cut(self, fault):
        # holders are few
        roles = ("guard", "keeper", "client") if fault.long < 0.4 else ("wrapper", "acquire", "redisson")
        process = self.victim(fault, *roles)
        ports = self.round.ground.ports()
        found = process and connection_of(process.pid, ports)
        if found is None:
            return
        at = now()
        if self.ask(ports[found[1]], "CLIENT", "KILL", "ADDR", found[0]) is not None:
            self.round.say_fault("cut", process, at)

    def cut_all(self, _fault):
        ground = self.round.ground
        if ground.fails_over:
            return  # there, servers are clients of each other
        at = now()
        if self.ask(ground.server, "CLIENT", "KILL", "TYPE", "pubsub") is not None:
            self.ask(ground.server, "CLIENT", "KILL", "TYPE", "normal")
            self.round.say_outage("cut", "server", at)

    def ask(self, server, *words):
        """Asks the server; None if it is not there now."""
        return None if "server" in self.busy else unless_away(None)(server.ask)(*words)

    def forge(self, fault):
        """Publishes what a waiter might take for its grant, with a token that the server never gives."""
        dice = random.Random(fault.which)
        server = self.round.ground.server_of(fault.lock)
        if server is None:
            return
        braced = fault.lock if "{" in fault.lock else "{" + fault.lock + "}"
        channel = f"redisson_lock__channel:{braced}"
        owners = self.round.looker.queues[fault.lock][:3]
        message, token = forged(dice)
        self.round.journal.say("forged", lock=fault.lock, token=token, message=message)
        for name in [channel] + [f"{channel}:{owner}" for owner in owners]:
            for way in "PUBLISH", "SPUBLISH":
                self.ask(server, way, name, message)
        self.round.counts["forged messages"] += 1

    def step(self, fault):
        """Sets the server's clock."""
        if not self.round.steps or now() - self.stepped < STEPS_APART_S * S:
            return
        self.stepped = at = now()
        ms = (STEP_MS if fault.which % 3 else -STEP_MS) * (1 - fault.long / 2)
        self.round.server_clock.step(int(ms * MS))
        self.round.counts["clock steps"] += 1
        self.round.journal.say("step", at=at, until=now(), ms=int(ms))

    # ---- Commands

    def remove(self, fault):
        ids = self.round.looker.queues[fault.lock]
        if not ids or "server" in self.busy:
            return
        owner = ids[fault.which % len(ids)]
        job = self.round.looker.owners.get(owner)
        self.round.run_command(["queue", "--remove", owner, fault.lock], "removed", owner=owner, job=job)

    def force(self, fault):
        """Breaks the lock, or one hold: of an owner, or of a slot."""
        if "server" not in self.busy:
            self.release(fault, ["--force"], "force")

    def ask_to_stop(self, fault):
        """Asks the holders to stop, or one of them, also while the server is away."""
        self.release(fault, ["--stop", "--wait", PATIENCE[fault.which % len(PATIENCE)]], "asked")

    def release(self, fault, options, what):
        words, fields = ["release", *options], {"lock": fault.lock}
        owners, slots = self.round.looker.holders[fault.lock], SLOTS[fault.lock]
        if owners and fault.long < 0.4:
            fields["owner"] = owners[fault.which % len(owners)]
            words += ["--owner", fields["owner"]]
        elif slots and fault.long < 0.7:
            fields["slot"] = slots[fault.which % len(slots)]
            words += ["--slot", fields["slot"]]
        self.round.run_command([*words, fault.lock], what, **fields)

    def look(self, fault):
        words = LOOKS[fault.which % len(LOOKS)]
        self.round.run_command([*words, fault.lock], "look", command=" ".join(words))

    # ---- The server and the way to it

    def outage(self, kind, path, begin, end, lasts):
        """Makes an outage of a way for some time, unless it has one already."""
        if self.busy & {path, "server"}:
            return
        self.busy.add(path)
        at = now()
        begin()

        def over():
            extra = end() or {}
            self.busy.discard(path)
            self.round.say_outage(kind, path, at, **extra)

        self.round.later(lasts, over)

    def server_kill(self, fault):
        ground = self.round.ground
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
                self.round.later(S // 50, lambda: back(until))
                return
            self.busy.discard("server")
            self.round.say_outage("killed", "server", at, up=ground.up, lost=ground.loses, hit=hit)

        def revive():
            ground.revive()
            back(now() + 60 * S)

        self.round.later(fault.lasts // (1 if fault.long < 0.3 else 4), revive)

    def server_freeze(self, fault):
        ground = self.round.ground
        lasts = fault.lasts // 5 + (S if fault.long < 0.5 else 0)
        if ground.fails_over:
            lasts = min(lasts, S // 2)  # too short for a failover: there must not be two masters

        def end():
            thaw(ground)
            self.round.await_server()

        self.outage("frozen", "server", lambda: freeze(ground), end, lasts)

    def proxy_for(self, kind, command, lasts):
        tell = self.round.ground.proxy and self.round.ground.proxy.tell
        if tell:
            self.outage(kind, "proxy", lambda: tell(command), lambda: tell("pass") and None, lasts)

    def proxy_cut(self, fault):
        self.proxy_for("cut", "cut", fault.lasts + (2 * S if fault.long < 0.7 else 0))

    def proxy_reset(self, _fault):
        self.proxy_for("cut", "reset", 0)

    def proxy_forget(self, _fault):
        # a holder needs a second or more to find out
        self.proxy_for("forget", "forget", 3 * S)

    def proxy_delay(self, fault):
        self.proxy_for("delay", f"delay {20 + fault.which % 250}", fault.lasts)

    def proxy_break(self, fault):
        """Breaks the next connection, which is no outage: the client connects once more."""
        if self.round.ground.proxy and not self.busy & {"proxy", "server"}:
            for _ in range(1 + fault.which % 2):
                self.round.ground.proxy.tell("snap up")
            self.round.counts["proxy breaks"] += 1
