"""What a grant, a release and an enqueue cost the server, with few and with many waiters.

usage: tests/bench/server.py SCRIPTS SOCKET [WAITERS...]

SCRIPTS is the folder of the Lua scripts, SOCKET that of an empty server. Prints the time per script call that
INFO commandstats counts, in microseconds, and the ratio to the first number of waiters. The waiters are
real subscriptions, made over a few connections.
"""

import pathlib
import socket
import subprocess
import sys

ROUNDS = 200
NAME = "bench"
KEYS = [NAME] + [f"{prefix}:{{{NAME}}}" for prefix in
                 ("redisson_lock_queue", "redisson_lock_timeout", "fairlock", "fairlock_log")]
CHANNEL = f"redisson_lock__channel:{{{NAME}}}"


class Server:
    """One connection; replies are read whole, since nothing is pipelined."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")

    def send(self, *words):
        words = [str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    def call(self, *words):
        self.send(*words)
        return self.read()


def joined(scripts, name):
    return subprocess.run([scripts / "join", scripts / f"{name}.lua"], stdout=subprocess.PIPE, check=True, text=True).stdout


class Bench:
    def __init__(self, scripts, path):
        self.path = path
        self.server = Server(path)
        self.sha = {name: self.server.call("SCRIPT", "LOAD", joined(scripts, name)) for name in ("acquire", "release")}
        self.subscribers = []

    def script(self, name, *words):
        return self.server.call("EVALSHA", self.sha[name], 5, *KEYS, CHANNEL, *words)

    def acquire(self, waiter):
        return self.script("acquire", waiter, waiter, "w", 600000, "wait", "", 0, "", "host\t1\tuser\tcommand")

    def present(self, waiters):
        subscriber = Server(self.path)
        subscriber.send("SUBSCRIBE", *(f"{CHANNEL}:{waiter}" for waiter in waiters))
        for _ in waiters:
            subscriber.read()
        self.subscribers.append(subscriber)

    def timed(self, function, *words):
        self.server.call("CONFIG", "RESETSTAT")
        result = function(*words)
        for line in self.server.call("INFO", "commandstats").split("\r\n"):
            if line.startswith("cmdstat_evalsha:"):
                return float(line.split("usec=")[1].split(",")[0]), result
        raise RuntimeError("no script ran")

    def run(self, count):
        """Median time of a release, of the grant that follows, and of joining at the end."""
        self.server.call("FLUSHALL")
        waiters = [f"{count:08x}-0000-4000-8000-000000000000:{number}" for number in range(count + ROUNDS)]
        for start in range(0, len(waiters), 1000):
            self.present(waiters[start:start + 1000])
        self.acquire("holder")
        for waiter in waiters[:count]:
            self.acquire(waiter)
        holder, times = "holder", {"release": [], "grant": [], "enqueue": []}
        for number in range(ROUNDS):
            time, _ = self.timed(self.acquire, waiters[count + number])
            times["enqueue"].append(time)
            time, _ = self.timed(self.script, "release", holder, holder, "own", "", 0)
            times["release"].append(time)
            holder = waiters[number]
            time, reply = self.timed(self.acquire, holder)
            assert reply[0] == "granted", reply
            times["grant"].append(time)
        return {what: sorted(values)[len(values) // 2] for what, values in times.items()}


def main():
    bench = Bench(pathlib.Path(sys.argv[1]), sys.argv[2])
    counts = [int(word) for word in sys.argv[3:]] or [10, 100, 1000, 10000]
    first = None
    print(f"{'waiters':>8} {'enqueue':>16} {'release':>16} {'grant':>16}   microseconds on the server (ratio)")
    for count in counts:
        result = bench.run(count)
        first = first or result
        cells = [f"{result[what]:8.0f} ({result[what] / first[what]:4.2f})" for what in ("enqueue", "release", "grant")]
        print(f"{count:>8} " + " ".join(f"{cell:>16}" for cell in cells))


main()
