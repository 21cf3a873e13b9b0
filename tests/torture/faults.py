"""What is done to the jobs, the server and the way between them. The n-th fault, its time, what it is and how
long it lasts are the seed's; whom it hits is, too, but among those who are there at that moment."""

import os
import random
import signal

from jobs import LOCKS, pick
from machine import connection_of, now
from server import Away

S = 1_000_000_000
MS = 1_000_000

# kind: how often. A word like kill-guard is a signal for a process of that role.
FAULTS = {
    "kill-wrapper": 10,
    "kill-guard": 8,
    "kill-command": 6,
    "kill-acquire": 4,
    "kill-keeper": 3,
    "kill-script": 3,
    "kill-client": 1,
    "stop-wrapper": 12,
    "stop-guard": 8,
    "stop-command": 6,
    "stop-acquire": 4,
    "stop-keeper": 3,
    "stop-script": 2,
    "term-wrapper": 6,
    "term-acquire": 2,
    "term-command": 2,
    "kill-both": 2,
    "freeze": 4,
    "cut": 24,
    "cut-all": 1,
    "remove": 5,
    "force": 3,
    "look": 8,
    "server-kill": 2,
    "server-freeze": 6,
    "proxy-cut": 6,
    "proxy-reset": 2,
    "proxy-forget": 1,
    "proxy-delay": 2,
}
MEAN_S = 0.15

LOOKS = [
    ["status"],
    ["status", "--json"],
    ["queue"],
    ["queue", "--json"],
    ["log", "--stats"],
    ["log", "--json", "--since", "5s"],
]


class Fault:
    def __init__(self, dice):
        self.after = int(dice.expovariate(1 / MEAN_S) * S)
        self.kind = pick(dice, FAULTS)
        self.which = dice.randrange(1 << 30)
        self.lasts = int(min(dice.expovariate(1.0) * 0.8, 6) * S)
        self.long = dice.random()
        self.lock = dice.choice(LOCKS)


class Faults:
    def __init__(self, seed, round_):
        self.seed, self.round = seed, round_
        self.count = 0
        self.busy = set()  # what has an outage already

    def next(self):
        self.count += 1
        return Fault(random.Random(f"{self.seed} fault {self.count}"))

    def do(self, fault):
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
            if process.role in roles and process.state != "T"
        ]
        return found[fault.which % len(found)] if found else None

    def send(self, word, process):
        """Signals it, by a descriptor: its number may be another's by now. Returns the descriptor."""
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
        pidfd = self.send(action, process)
        if pidfd is not None:
            os.close(pidfd)

    def job_of_victim(self, fault):
        """All processes of a job that holds."""
        guard = self.victim(fault, "guard", "keeper")
        return [process for process in self.round.machine.processes() if guard and process.job == guard.job]

    def kill_both(self, fault):
        for process in self.job_of_victim(fault):
            if process.role in ("wrapper", "guard"):
                pidfd = self.send("kill", process)
                if pidfd is not None:
                    os.close(pidfd)

    def freeze(self, fault):
        """The whole job, as if its machine slept."""
        for process in self.job_of_victim(fault):
            self.stop(fault, process)

    # ---- Connections

    def cut(self, fault):
        # holders are few
        roles = ("guard", "keeper", "client") if fault.long < 0.4 else ("wrapper", "acquire")
        process = self.victim(fault, *roles)
        address = process and connection_of(process.pid, self.round.server.port)
        if address is None:
            return
        at = now()
        if self.ask("CLIENT", "KILL", "ADDR", address) is not None:
            self.round.say_fault("cut", process, at)

    def cut_all(self, _fault):
        at = now()
        if self.ask("CLIENT", "KILL", "TYPE", "pubsub") is not None:
            self.ask("CLIENT", "KILL", "TYPE", "normal")
            self.round.say_outage("cut", "server", at)

    def ask(self, *words):
        """None if the server is not there now."""
        if "server" in self.busy:
            return None
        try:
            return self.round.server.ask(*words)
        except (Away, RuntimeError):
            return None

    # ---- Commands

    def remove(self, fault):
        ids = self.round.looker.queues[fault.lock]
        if not ids or "server" in self.busy:
            return
        owner = ids[fault.which % len(ids)]
        job = self.round.looker.owners.get(owner)
        self.round.run_command(["queue", "--remove", owner, fault.lock], "removed", owner=owner, job=job)

    def force(self, fault):
        if "server" not in self.busy:
            self.round.run_command(["release", "--force", fault.lock], "force", lock=fault.lock)

    def look(self, fault):
        words = LOOKS[fault.which % len(LOOKS)]
        self.round.run_command([*words, fault.lock], "look", command=" ".join(words))

    # ---- The server and the way to it

    def outage(self, kind, path, begin, end, lasts):
        """One at a time on each way."""
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
        server = self.round.server

        def end():
            up = now()
            self.round.await_end(server.pid)
            server.start()
            self.round.await_server()
            return {"up": up, "lost": server.volatile}

        self.outage("killed", "server", server.kill, end, fault.lasts // (1 if fault.long < 0.3 else 4))

    def server_freeze(self, fault):
        server = self.round.server

        def begin():
            server.signal(signal.SIGSTOP)

        def end():
            server.signal(signal.SIGCONT)
            self.round.await_server()

        self.outage("frozen", "server", begin, end, fault.lasts // 5 + (S if fault.long < 0.5 else 0))

    def proxy_for(self, kind, command, lasts):
        proxy = self.round.proxy

        def end():
            proxy.tell("pass")

        def begin():
            proxy.tell(command)

        self.outage(kind, "proxy", begin, end, lasts)

    def proxy_cut(self, fault):
        self.proxy_for("cut", "cut", fault.lasts + (2 * S if fault.long < 0.7 else 0))

    def proxy_reset(self, _fault):
        self.proxy_for("cut", "reset", 0)

    def proxy_forget(self, _fault):
        # a holder needs a second or more to find out
        self.proxy_for("forget", "forget", 3 * S)

    def proxy_delay(self, fault):
        self.proxy_for("delay", f"delay {20 + fault.which % 250}", fault.lasts)
