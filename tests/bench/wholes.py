"""(a) Whole processes that lock, run `true` and unlock."""

import os
import random
import time

from overhear import overhear
from peers import Fairlock, Redisson

MEASURE = "a uncontended"


def timed(command, output=None):
    """The milliseconds from start to end of a command. Its output goes to the descriptor `output`, or nowhere."""
    action = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0) if output is None else (os.POSIX_SPAWN_DUP2, output, 1)
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[action])
    _, status = os.waitpid(pid, 0)
    spent = (time.perf_counter() - start) * 1000
    if status:
        raise RuntimeError(f"{command}: status {status}")
    return spent


def one_shots(fairlock, pipe, add):
    """Times acquire, renew and release, each a process."""
    add("acquire", timed([fairlock, "acquire", "shot"], pipe[1]))
    act_as = ["--owner", os.read(pipe[0], 200).decode().strip(), "shot"]
    add("renew", timed([fairlock, "renew", *act_as]))
    add("release", timed([fairlock, "release", *act_as]))


class Requests:
    """The requests of fairlock's commands, sent by a program that does nothing else."""

    def __init__(self, bench, server):
        self.program = os.path.join(os.environ["BUILD"], "bench", "requests")
        self.folder, self.server = bench.folder, server.socket
        fairlock = os.environ["FAIRLOCK"]
        one_shots(fairlock, os.pipe(), lambda *_: None)  # so that the server knows the scripts
        owner, self.acquire = self.hear("acquire", [fairlock, "acquire", "asked"])
        _, self.release = self.hear("release", [fairlock, "release", "--owner", owner, "asked"])
        _, self.wrap = self.hear("wrap", [fairlock, "wrap", "asked", "true"])

    def hear(self, name, command):
        output, words = overhear(self.server, self.folder, name, command)
        return output, [self.program, self.server, *words]

    def ask(self, add):
        add("the requests of acquire", timed(self.acquire))
        add("the requests of release", timed(self.release))

    def ask_for_wrap(self, add):
        add("the requests of wrap", timed(self.wrap))

    def run(self, add):
        add("requests and processes of wrap", timed([*self.wrap, "--", "true"]))


def run(bench):
    fairlock = bench.peer(Fairlock)
    programs = os.path.join(os.environ["BUILD"], "bench")
    ping = [os.path.join(programs, "ping"), fairlock.server.socket]
    whole = {peer.name: (peer, peer.command("job", ["true"])) for peer in bench.peers if not isinstance(peer, Redisson)}
    redisson = bench.peer(Redisson)
    requests = Requests(bench, fairlock.server)
    pipe, warm_up = os.pipe(), 3

    def add(who, spent, case="whole"):
        if number >= warm_up:
            bench.samples.add(MEASURE, case, who, "ms", spent)

    def add_shot(who, spent):
        add(who, spent, "one-shot")

    def one(peer, command):
        if number % peer.slow == 0 or number < warm_up:
            add(peer.name, timed(command))

    def warm_jvm():
        for _ in range(10 if number == 0 else 1):
            spent = int(redisson.ask("run job true")) / 1e6
        add(redisson.name, spent)

    tasks = [lambda peer=peer, command=command: one(peer, command) for peer, command in whole.values()]
    tasks += [lambda: add_shot("PING program", timed(ping)),
              lambda: one_shots(os.environ["FAIRLOCK"], pipe, add_shot)]
    # each stands in its task where acquire or release stands in one_shots: a program that has just run is faster
    tasks += [lambda ask=ask: ask(add_shot) for ask in (requests.ask, requests.ask_for_wrap)]
    tasks.append(lambda: requests.run(add))
    if redisson:
        tasks.append(warm_jvm)
        bench.samples.note(MEASURE, "whole", redisson.name, "in a JVM that is warm")
    for number in range(bench.rounds + warm_up):
        random.shuffle(tasks)
        for task in tasks:
            task()
