"""(g) Locks per second: of whole processes, four at a time, each with a lock of its own; and of one server that gets
requests as fast as it can answer them."""

import os
import threading
import time

from peers import Fairlock, RedisPy, Redisson
from processes import spawn
from scripts import CHANNEL, KEYS, NAME, joined
from wire import Wire, encoded

AT_ONCE = 4
MEASURE = "g locks per second"


def processes(bench, peer):
    started = done = 0
    running = set()
    begin = time.monotonic()
    while True:
        elapsed = time.monotonic() - begin
        while len(running) < AT_ONCE and elapsed < bench.seconds:
            running.add(spawn(peer.command(f"rate{started % AT_ONCE}x{started}", ["true"]), peer.log))
            started += 1
        if not running:
            break
        pid, status = os.wait()
        if pid in running:
            running.remove(pid)
            done += status == 0
    bench.samples.add(MEASURE, "processes", peer.name, "1/s", done / (time.monotonic() - begin))


def pipelined(server, requests, count):
    """The seconds that the server takes for these requests; each has one reply."""
    wire = Wire(server.socket)
    sender = threading.Thread(target=wire.socket.sendall, args=(b"".join(requests),))
    begin = time.monotonic()
    sender.start()
    for _ in range(count):
        reply = wire.read()
        if reply is None:
            raise RuntimeError("refused")
    spent = time.monotonic() - begin
    sender.join()
    wire.close()
    return spent


def load_ours(peer):
    return {name: peer.server.call("SCRIPT", "LOAD", joined(name)) for name in ("acquire", "release")}


def our_pair(sha, number):
    me = f"{number:08x}-0000-4000-8000-000000000000:1"
    name = f"rate{number}"
    keys = [key.replace(NAME, name) for key in KEYS]
    channel = CHANNEL.replace(NAME, name)
    return [encoded("EVALSHA", sha["acquire"], 6, *keys, channel, me, me, "w", 30000, "wait", "", 0, "",
                    "host\t1\tuser\tcommand", ""),
            encoded("EVALSHA", sha["release"], 6, *keys, channel, me, me, "own", "", 0, "", 0, "0", "exit")]


def load_redis_py(peer):
    return peer.server.call("SCRIPT", "LOAD", peer.release_script())


def redis_py_pair(sha, number):
    """The requests of redis-py's acquire and release."""
    name, token = f"rate{number}", f"{number:032x}"
    return [encoded("SET", name, token, "NX", "PX", 30000), encoded("EVALSHA", sha, 1, name, token)]


def on_server(bench, peer, load, pair, locks=50):
    sha = load(peer)
    requests = [request for number in range(locks) for request in pair(sha, number)]
    times = max(1, bench.pairs // locks)
    spent = pipelined(peer.server, requests * times, len(requests) * times)
    bench.samples.add(MEASURE, "server", peer.name, "1/s", locks * times / spent)


def threads(bench, redisson):
    count = bench.pairs // AT_ONCE // 10
    spent = int(redisson.ask(f"pairs {AT_ONCE * 4} {count // 4}")) / 1e9
    bench.samples.add(MEASURE, "server", redisson.name, "1/s", AT_ONCE * 4 * (count // 4) / spent)
    bench.samples.note(MEASURE, "server", redisson.name, f"{AT_ONCE * 4} threads of one JVM, which may be what limits it")


def run(bench):
    for _ in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if not isinstance(peer, Redisson):
                bench.trial(MEASURE, "processes", peer, processes)
            if isinstance(peer, Fairlock):
                bench.trial(MEASURE, "server", peer, on_server, load_ours, our_pair)
            elif isinstance(peer, RedisPy):
                bench.trial(MEASURE, "server", peer, on_server, load_redis_py, redis_py_pair)
            elif isinstance(peer, Redisson):
                bench.trial(MEASURE, "server", peer, threads)
