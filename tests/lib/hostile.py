"""A server that means harm, and what every command makes of it.

usage: hostile.py [--seed N] [--mutants N] [--jobs N] [--list] [-v] [PATTERN...]

A case is SCENARIO/STEP/ITEM: the server speaks as a real one does up to STEP, and there it says
ITEM. How a real one speaks is recorded from SERVER first. PATTERN, as the shell has it, chooses
cases: 'wrap/hello/*', or 'mutant/SEED/7' for one that the mutator made.

A program (FAIRLOCK) passes when it ends by itself, in time, with a status that the manual lists;
when what it prints drives no terminal, its messages are single lines of moderate length, and its
memory is bounded; when it succeeds, and starts COMMAND, only where the server really said so.
Prints what failed, and how to repeat it; ends with a line that counts."""

import argparse
import collections
import fnmatch
import hashlib
import heapq
import json
import os
import random
import re
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # nothing is left beside the tests
from corpus import (
    ADDRESSES, CLOSE, ELEMENTS, ERRORS, HARMLESS, HEAVY, ITEMS, LENGTHS, MESSAGES_SAID, PUSHES,
    REDIRECTIONS, TALK, TYPES, Flood, leaves, mutate, with_element,
)
from resp import Incomplete, encode, parse, push, replaced, tag, text, values

FAIRLOCK = os.environ.get("FAIRLOCK", "build/fairlock")
SERVER = os.environ.get("SERVER", "redis-server")
IS_SANITIZED = b"__asan_init" in open(FAIRLOCK, "rb").read()

TIME_S = 20  # the machine may be busy; what hangs, hangs longer
MEMORY_KB = 400 << 10 if IS_SANITIZED else 160 << 10
STATUSES = {0, 64, 69, 70, 71, 75, 76, 77, 78}
FINDINGS = {1, 2}  # of doctor
MESSAGE_BYTES = 4096
MESSAGES = 12
ASKED = 2000
WHOLE_SCRIPTS = 50
SAID_BYTES = 100000  # nobody looks at what comes behind

# The kernel kills what is started so when we end, however that comes about.
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]

# ---- What the program asks ----


with open(os.path.join(os.path.dirname(FAIRLOCK), "scripts.c"), encoding="utf-8") as made:
    SCRIPTS = {sha1: name for name, sha1 in re.findall(r'\.name = "(.*)",\s*\.sha1 = "(.*)",', made.read())}


def kind_of(words):
    """Which step of the protocol a request is."""
    command = words[0].upper()
    if command not in (b"EVALSHA", b"EVAL"):
        return command.decode("latin-1").lower()
    if words[2] == b"0":
        return "may" if len(words) < 20 else "user"
    sha1 = words[1].decode() if command == b"EVALSHA" else hashlib.sha1(words[1]).hexdigest()
    return SCRIPTS.get(sha1, "unknown")


def owner_of(words):
    """The id that a request speaks for."""
    return words[9] if words[0].upper() in (b"EVALSHA", b"EVAL") and len(words) > 9 else b""


# ---- How a real server answers ----


class Recorder(threading.Thread):
    """Passes on what is said, and remembers the answers: by step and, for a script, its first word."""

    def __init__(self, path, upstream):
        super().__init__(daemon=True)
        self.path, self.upstream = path, upstream
        self.answers = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()

    def run(self):
        while True:
            peer = self.listener.accept()[0]
            threading.Thread(target=self.pass_on, args=[peer], daemon=True).start()

    def pass_on(self, peer):
        asked = collections.deque()
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(self.upstream)
        ends = {peer: [upstream, bytearray()], upstream: [peer, bytearray()]}
        selector = selectors.DefaultSelector()
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(65536)
                to, buffer = ends[key.fileobj]
                if not data:
                    peer.close()
                    upstream.close()
                    return
                buffer += data
                try:
                    while buffer:
                        value, end = parse(buffer)
                        del buffer[:end]
                        self.note(asked, value, key.fileobj is peer)
                except Incomplete:
                    pass
                to.sendall(data)

    def note(self, asked, value, is_request):
        if is_request:
            words = [part[1] for part in value[1]]
            if words[0] != b"SUBSCRIBE":
                asked.append(words)
        elif value[0] == b">":
            self.answers.setdefault((value[1][0][1].decode(), None), (value, b""))
        else:
            words = asked.popleft()
            if value[0] != b"-":
                kind = kind_of(words)
                word = tag(value) if kind in DEFAULTS else None
                if kind == "status" and not value[1][0][1] or kind == "queue" and not value[1]:
                    return  # says too little
                self.answers.setdefault((kind, word), (value, owner_of(words)))


def record(folder):
    """Every answer that the scenarios need, from SERVER."""
    real = os.path.join(folder, "real")
    server = subprocess.Popen(
        [*DIES_WITH_US, SERVER, "--port", "0", "--unixsocket", real, "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not os.path.exists(real) and time.monotonic() < until:
        time.sleep(0.01)
    recorder = Recorder(os.path.join(folder, "recorder"), real)
    recorder.start()

    def start(*words):
        return subprocess.Popen(
            [*DIES_WITH_US, FAIRLOCK, words[0], "-u", f"unix:{recorder.path}?db=1", *words[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )

    def run(*words):
        return start(*words).communicate(timeout=TIME_S)[0].decode().strip()

    def waits():
        while not json.loads(run("queue", "--json", "job"))["queue"]:
            time.sleep(0.01)

    run("wrap", "job", "true")
    owner = run("acquire", "job")
    run("acquire", "-w", "50ms", "job")
    waiter = start("wrap", "job", "true")
    waits()
    run("status")
    run("doctor")
    run("renew", "--owner", owner, "job")  # 30 s: what is renewed so is not lost on a busy machine
    run("release", "--owner", owner, "job")
    waiter.communicate(timeout=TIME_S)
    run("acquire", "job")
    waiter = start("acquire", "job")
    waits()
    run("queue", "--remove", json.loads(run("queue", "--json", "job"))["queue"][0]["owner"], "job")
    waiter.communicate(timeout=TIME_S)
    run("release", "--force", "job")
    run("acquire", "job")
    waiter = start("acquire", "job")
    waits()
    run("log", "--plot", "job")
    waiter.kill()
    server.kill()
    server.wait()
    return {**recorder.answers, **SENTINELS}


# What a sentinel, its master and a node of a cluster say; not recorded.
SENTINELS = {
    ("sentinel", None): ((b"*", [text("127.0.0.1"), text("@THERE@")]), b""),
    ("asking", None): ((b"+", b"OK"), b""),
    ("role", None): ((b"*", [text("master"), (b":", 0), (b"*", [])]), b""),
}

# ---- Scenarios ----

OWNER = "11111111-2222-4333-8444-555555555555:77"
HURRY, PATIENT = "400ms", "10s"  # where nothing is to go wrong, a busy machine is no reason
JOB = ["-w", HURRY, "job"]
STARTED = ["sh", "-c", "echo started"]
WORKING = ["sh", "-c", "echo started; exec sleep 0.5"]

# Which answers (first words, in turn; the last one stays) a scenario gets, what it counts as
# success, and its steps: those where the server may begin to do harm. A step is a request,
# as kind_of calls it, with a number behind it when it is not the first of its kind; "connect";
# or "message", which follows the first answer to `tells`. With a URL that a port and `master` complete
# there are two servers on TCP, and @HERE@ and @THERE@ in what they say are their ports. Harm goes on at
# every later request of that kind and in every later connection, or is done `once`.
Scenario = collections.namedtuple(
    "Scenario", "words answers success steps tells url master once", defaults=[None, None, "", False]
)
TCP = "redis://127.0.0.1:"
SENTINEL = "redis+sentinel://127.0.0.1:"
SCENARIOS = {
    "wrap": Scenario(
        ["wrap", *JOB, *STARTED],
        {},
        "granted",
        ["connect", "hello", "select", "subscribe", "acquire", "release"],
    ),
    "hold": Scenario(
        ["wrap", "-l", "1s", *JOB, *WORKING], {}, "granted", ["message", "renew"], "acquire"
    ),
    "wait": Scenario(
        ["wrap", *JOB, *STARTED],
        {"acquire": ["queued", "granted"]},
        "granted",
        ["acquire", "message", "acquire2"],
        "acquire",
    ),
    "back": Scenario(
        ["wrap", *JOB, *STARTED],
        {"acquire": ["queued", "granted"]},
        "granted",
        ["acquire2"],
        "acquire",
        once=True,
    ),
    "leave": Scenario(["acquire", *JOB], {"acquire": ["queued"]}, None, ["leave"]),
    "eval": Scenario(
        ["wrap", *JOB, *STARTED], {"acquire": ["NOSCRIPT", "granted"]}, "granted", ["acquire2"]
    ),
    "acquire": Scenario(["acquire", *JOB], {}, "granted", ["acquire"]),
    "acquire-json": Scenario(["acquire", "--json", *JOB], {}, "granted", ["acquire"]),
    "renew": Scenario(["renew", "--owner", OWNER, "job"], {}, "renewed", ["renew"]),
    "release": Scenario(["release", "--owner", OWNER, "job"], {}, "released", ["release"]),
    "force": Scenario(
        ["release", "--force", "job"], {"release": ["forced"]}, "forced", ["release"]
    ),
    "status": Scenario(["status", "job"], {}, None, ["hello", "status"]),
    "status-json": Scenario(["status", "--json", "job"], {}, None, ["status"]),
    "status-all": Scenario(["status"], {}, None, ["scan", "hget", "status"]),
    "status-metrics": Scenario(["status", "--prometheus"], {}, None, ["hget", "status"]),
    "doctor": Scenario(
        ["doctor", "job"], {}, None,
        ["hello", "hello2", "may", "info", "config", "user", "time", "status", "queue"],
    ),
    "doctor-json": Scenario(["doctor", "--json", "job"], {}, None, ["hello2", "info", "status"]),
    "queue": Scenario(["queue", "job"], {}, None, ["queue"]),
    "queue-json": Scenario(["queue", "--json", "job"], {}, None, ["queue"]),
    "log": Scenario(["log", "job"], {}, None, ["log"]),
    "log-json": Scenario(["log", "--json", "job"], {}, None, ["log"]),
    "log-stats": Scenario(["log", "--stats", "job"], {}, None, ["log"]),
    "log-plot": Scenario(["log", "--plot", "job"], {}, None, ["log"]),
    "moved": Scenario(["wrap", *JOB, *STARTED], {}, "granted", ["acquire"], None, TCP),
    "moved-hold": Scenario(
        ["wrap", "-l", "1s", *JOB, *WORKING], {}, "granted", ["renew"], None, TCP
    ),
    "moved-wait": Scenario(
        ["wrap", *JOB, *STARTED], {"acquire": ["queued", "granted"]}, "granted", ["acquire2"],
        "acquire", TCP,
    ),
    "moved-status": Scenario(["status", "job"], {}, None, ["status"], None, TCP),
    "sentinel": Scenario(
        ["wrap", *JOB, *STARTED], {}, "granted", ["hello", "sentinel"], None, SENTINEL, "/master"
    ),
    "remove": Scenario(["queue", "--remove", OWNER, "job"], {}, "left", ["leave"]),
}
DEFAULTS = {"acquire": ["granted"], "renew": ["renewed"], "release": ["released"], "leave": ["left"]}

# ---- One case ----


UNKNOWN = (b"-", b"ERR unknown command")


def split(step):
    """A step's kind, and which of that kind it is."""
    kind, number = re.fullmatch(r"(.*?)(\d*)", step).groups()
    return kind, int(number or 1)


def wanted_of(scenario, kind, number):
    """The first word of the answer to the number-th request of a kind."""
    wanted = scenario.answers.get(kind, DEFAULTS.get(kind, [None]))
    return wanted[min(number, len(wanted)) - 1]


class Case:
    def __init__(self, name, scenario, step, say, harmless=False):
        self.name, self.scenario, self.step, self.say = name, SCENARIOS[scenario], step, say
        self.harmless = harmless
        self.examines = self.scenario.words[0] == "doctor"
        self.tries = 0
        self.shown = None  # of the harm, for a report: a mutant depends on what was recorded this time
        self.forget()

    def forget(self):
        self.connections = []
        self.said = []  # what each connection was sent
        self.counts = collections.Counter()  # requests of each kind, over all connections
        self.asked = self.whole_scripts = 0
        self.reached = False
        self.output = {"stdout": bytearray(), "stderr": bytearray()}
        self.open = set()
        self.process = self.status = self.usage = self.ended = None
        self.hung = False

    def answer(self, answers, words):
        """What a real server would say to a request: its kind, and bytes."""
        kind = kind_of(words)
        self.asked += 1
        self.whole_scripts += words[0].upper() == b"EVAL"
        if kind == "subscribe":
            parts = [
                encode((b">", [text("subscribe"), text(channel), (b":", number)]))
                for number, channel in enumerate(words[1:], 1)
            ]
            self.counts[kind] += 1
            return kind, b"".join(parts)
        self.counts[kind] += 1
        wanted = wanted_of(self.scenario, kind, self.counts[kind])
        if wanted == "NOSCRIPT":
            return kind, ERRORS["error-NOSCRIPT"]
        value, owner = answers.get((kind, wanted), (UNKNOWN, b""))
        return kind, encode(replaced(value, owner, owner_of(words)))

    def is_harm(self, kind):
        """Whether harm is done to this request: at the step, and from then on unless it is once."""
        wanted, number = split(self.step)
        if kind != wanted or self.counts[kind] < number:
            return False
        return not self.scenario.once or self.counts[kind] == number

    # -- Verdict --

    def faults(self):
        if self.hung:
            yield f"still there after {TIME_S} s"
        elif os.WIFSIGNALED(self.status):
            yield f"killed by signal {os.WTERMSIG(self.status)}"
        elif os.WEXITSTATUS(self.status) not in (STATUSES | FINDINGS if self.examines else STATUSES):
            yield f"status {os.WEXITSTATUS(self.status)}"
        if self.usage and self.usage.ru_maxrss > MEMORY_KB:
            yield f"took {self.usage.ru_maxrss >> 10} MB of memory"
        if self.asked > ASKED:
            yield f"asked {self.asked} times"
        if self.whole_scripts > WHOLE_SCRIPTS:
            yield f"sent {self.whole_scripts} scripts as a whole"
        yield from self.faults_of_stderr(bytes(self.output["stderr"]))
        yield from self.faults_of_stdout(bytes(self.output["stdout"]))
        if self.open:
            yield "somebody still holds its output open"
        if not self.hung:
            yield from self.faults_of_success(os.waitstatus_to_exitcode(self.status) == 0)

    def faults_of_stderr(self, data):
        said = re.search(rb".*(ERROR: \w+Sanitizer|: runtime error:).*", data)
        if said:
            yield said[0].decode("utf-8", "replace")
            return
        lines = data.split(b"\n")
        if lines.pop():
            yield "the last message is no line"
        if len(lines) > MESSAGES:
            yield f"{len(lines)} messages"
        for line in lines:
            if not re.match(rb"fairlock: .|Try 'fairlock", line):
                yield f"no message of ours: {line[:200]!r}"
            elif len(line) > MESSAGE_BYTES:
                yield f"a message of {len(line)} bytes"
            elif not is_printable(line):
                yield f"a message that is not printable: {line[:300]!r}"

    def faults_of_stdout(self, data):
        if not is_printable(data, b"\n"):
            yield f"output that is not printable: {data[:300]!r}"
        if "--json" in self.scenario.words and data:
            try:
                json.loads(data)
            except ValueError:
                yield f"output that is no JSON: {data[:300]!r}"
        if "--prometheus" in self.scenario.words and not METRICS.fullmatch(data):
            yield f"output that is no metrics: {data[:300]!r}"

    def faults_of_success(self, succeeded):
        wanted = self.scenario.success
        really = not wanted or any(
            len(said) >= SAID_BYTES or wanted in map(tag, values(said)) for said in self.said
        )
        if not really and b"started" in self.output["stdout"]:
            yield "COMMAND was started without a grant"
        if not really and succeeded:
            yield f"status 0, but nobody said {wanted!r}"
        if self.harmless and not succeeded and wanted:
            yield "failed, though nothing happened that matters"


METRICS = re.compile(
    rb'(?:# (?:HELP|TYPE) \w+ [^\n]+\n|\w+(?:\{lock="(?:[^"\\\n]|\\["\\n])+"\})? (?:\d+(?:\.\d+)?|\+Inf)\n)*'
)


def is_printable(data, besides=b""):
    for character in besides:
        data = data.replace(bytes([character]), b"")
    try:
        return all(
            code >= " " and not "\x7f" <= code <= "\x9f" for code in data.decode("utf-8")
        )
    except UnicodeDecodeError:
        return False


# ---- The server, and all cases at once ----


class Connection:
    """One that the program under test made."""

    def __init__(self, runner, case, peer, number):
        self.runner, self.case, self.peer, self.number = runner, case, peer, number
        self.heard = bytearray()
        self.said = bytearray()
        self.speech = collections.deque()  # iterators of what to say
        self.rest = b""
        self.paused = False
        self.closed = False
        case.said.append(self.said)
        peer.setblocking(False)
        runner.selector.register(peer, selectors.EVENT_READ, self.ready)
        if case.step == "connect":
            self.do_harm(b"")
        self.speak()

    def do_harm(self, proper):
        self.case.reached = True
        said = self.case.say
        said = said(self.with_ports(proper)) if callable(said) else self.with_ports(said)
        if isinstance(said, list):
            self.case.shown = said
        self.speech.append(iter([said] if isinstance(said, bytes) else said))

    def with_ports(self, said):
        """Where to send those whom a redirection is to lead astray."""
        if self.case.scenario.url:
            for word, number in [(b"@HERE@", self.number), (b"@THERE@", 1 - self.number)]:
                port = self.case.ports[number]
                said = said.replace(encode(text(word)), encode(text(port))).replace(word, port)
        return said

    def ready(self, mask):
        if mask & selectors.EVENT_READ:
            self.listen()
        if mask & selectors.EVENT_WRITE and not self.closed:
            self.speak()

    def listen(self):
        try:
            data = self.peer.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self.heard += data
        try:
            while self.heard:
                value, end = parse(self.heard)
                del self.heard[:end]
                self.hear([part[1] for part in value[1]])
        except Incomplete:
            pass
        self.speak()

    def hear(self, words):
        case = self.case
        kind, proper = case.answer(self.runner.answers, words)
        if case.is_harm(kind):
            self.do_harm(proper)
        else:
            self.speech.append(iter([self.with_ports(proper)]))
        if kind == case.scenario.tells and case.counts[kind] == 1:
            message = push("message", words[8] + b":" + owner_of(words), "0")
            if case.step == "message":
                self.speech.append(iter([0.02]))
                self.do_harm(message)
            else:
                self.speech.append(iter([message]))

    def speak(self):
        """Says what there is to say, as far as the other end listens."""
        budget = 1 << 20  # the others want to be served, too
        while not self.paused and not self.closed and budget > 0:
            if not self.rest and not self.next_part():
                break
            try:
                sent = self.peer.send(self.rest[: 1 << 18]) if self.rest else 0
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
            if len(self.said) < SAID_BYTES:
                self.said += self.rest[: min(sent, SAID_BYTES)]
            self.rest = self.rest[sent:]
            budget -= sent
        if not self.closed:
            wants = self.rest or (self.speech and not self.paused)
            mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if wants else 0)
            self.runner.selector.modify(self.peer, mask, self.ready)

    def next_part(self):
        """Fetches the next bytes; False when there are none now."""
        while self.speech:
            part = next(self.speech[0], None)
            if part is None:
                self.speech.popleft()
            elif part is CLOSE:
                self.close()
                return False
            elif isinstance(part, Flood):
                self.said += part[:SAID_BYTES]
                self.stop_listening()
                threading.Thread(target=flood, args=[self.peer.dup(), part], daemon=True).start()
                return False
            elif isinstance(part, float):
                self.paused = True
                self.runner.at(part, self.go_on)
                return False
            elif part:
                self.rest = memoryview(part)
                return True
        return False

    def go_on(self):
        self.paused = False
        if not self.closed:
            self.speak()

    def close(self):
        if not self.closed:
            self.stop_listening()
            self.peer.close()

    def stop_listening(self):
        self.closed = True
        self.runner.selector.unregister(self.peer)


def flood(peer, chunk):
    peer.settimeout(TIME_S)
    try:
        while True:
            peer.sendall(chunk)
    except OSError:
        peer.close()


class Runner:
    def __init__(self, folder, answers, jobs, report):
        self.folder, self.answers, self.jobs, self.report = folder, answers, jobs, report
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.running = set()
        self.again = []  # the machine was too busy for these
        self.number = 0
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "LC_ALL": "C.UTF-8",
            # memory that was freed is not kept, and what is too large is refused as it would be elsewhere
            "ASAN_OPTIONS": "exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
        }

    def at(self, seconds, act):
        heapq.heappush(self.timers, (time.monotonic() + seconds, id(act), act))

    def run(self, cases):
        cases = iter(cases)
        more = True
        while more or self.running or self.again:
            while more and len(self.running) < self.jobs:
                case = next(cases, None)
                more = case is not None
                if more:
                    self.start(case)
            if self.again and not more and not self.running:
                self.start(self.again.pop())  # alone
            until = self.timers[0][0] if self.timers else time.monotonic() + 1
            for key, mask in self.selector.select(max(0, until - time.monotonic())):
                if key.fd in self.selector.get_map():  # an earlier one may have closed it
                    key.data(mask)
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()

    def start(self, case):
        case.tries += 1
        self.number += 1
        path = os.path.join(self.folder, f"s{self.number}")
        if case.scenario.url:
            case.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
            case.ports = [b"%d" % listener.getsockname()[1] for listener in case.listeners]
            url = case.scenario.url + case.ports[0].decode() + case.scenario.master
        else:
            case.listeners = [socket.socket(socket.AF_UNIX)]
            case.listeners[0].bind(path)
            case.listeners[0].listen()
            url = f"unix:{path}?db=1"
        for number, listener in enumerate(case.listeners):
            listener.setblocking(False)
            accept = lambda _, number=number: self.accept(case, number)
            self.selector.register(listener, selectors.EVENT_READ, accept)
        words = [PATIENT if word == HURRY and case.harmless else word for word in case.scenario.words]
        timeout = PATIENT if case.harmless else "300ms"
        case.started = time.monotonic()
        case.process = subprocess.Popen(
            [*DIES_WITH_US, FAIRLOCK, words[0], "-u", url,
             "--connect-timeout", timeout, *words[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment,
        )
        for name in case.output:
            pipe = getattr(case.process, name)
            os.set_blocking(pipe.fileno(), False)
            case.open.add(name)
            self.selector.register(
                pipe, selectors.EVENT_READ, lambda _, name=name, pipe=pipe: self.read(case, name, pipe)
            )
        case.pidfd = os.pidfd_open(case.process.pid)
        self.selector.register(case.pidfd, selectors.EVENT_READ, lambda _: self.reap(case))
        self.running.add(case)
        self.at(TIME_S, lambda tries=case.tries: self.hang(case, tries))

    def accept(self, case, number):
        peer = case.listeners[number].accept()[0]
        case.connections.append(Connection(self, case, peer, number))

    def read(self, case, name, pipe):
        data = pipe.read(1 << 16)
        if data:
            if len(case.output[name]) < 1 << 20:
                case.output[name] += data
            return
        self.selector.unregister(pipe)
        pipe.close()
        case.open.discard(name)
        self.check_end(case)

    def reap(self, case):
        _, case.status, case.usage = os.wait4(case.process.pid, 0)
        case.process.returncode = os.waitstatus_to_exitcode(case.status)
        case.ended = time.monotonic()
        self.selector.unregister(case.pidfd)
        os.close(case.pidfd)
        self.at(5, lambda tries=case.tries: self.finish(case, tries))
        self.check_end(case)

    def hang(self, case, tries):
        if case.status is None and case in self.running and case.tries == tries:
            case.hung = True
            case.process.kill()

    def check_end(self, case):
        if case.status is not None and not case.open:
            self.finish(case, case.tries)

    def finish(self, case, tries):
        if case not in self.running or case.tries != tries:
            return
        self.running.discard(case)
        for listener in case.listeners:
            self.selector.unregister(listener)
            if listener.family == socket.AF_UNIX:
                os.unlink(listener.getsockname())
            listener.close()
        for connection in case.connections:
            connection.close()
            connection.peer.close()
        faults = list(case.faults())
        if not case.reached and not faults and case.tries < 5:
            self.again.append(case)
        elif not case.reached:
            faults.append("never came to the step that the case is about")
        for name in list(case.open):
            pipe = getattr(case.process, name)
            self.selector.unregister(pipe)
            pipe.close()
        if case not in self.again:
            self.report(case, faults)
        case.forget()


# ---- All cases ----


# What is looked at in one place, whatever the step is about: everything is said at these, and
# at the others a part.
THOROUGH = {
    "wrap/hello", "wrap/subscribe", "wrap/acquire", "wait/message", "hold/message", "hold/renew",
    "status/status", "status-all/scan",
}
OFTEN = [*TYPES, *TALK, "array-2147483647", "push-message-null", "push-unknown", "error-ERR",
         "error-shown", "error-NOSCRIPT", "error-TRYAGAIN", "error-MOVED", "error-MOVED-shown"]
LIGHT = [*TYPES, *LENGTHS, *ERRORS, *PUSHES, *TALK]
HEAVILY = [
    ("wrap", "hello"), ("wrap", "acquire"), ("wait", "acquire"), ("wait", "message"), ("hold", "message"),
    ("hold", "renew"), ("status", "status"), ("status-all", "scan"), ("queue", "queue"),
]
# Their answers are read by the same code as others'.
ALIKE = {
    "wrap/hello", "wrap/subscribe", "wait/acquire2", "eval/acquire2", "status-all/status", "back/acquire2",
    "log-json/log", "log-stats/log", "doctor/hello",
}


# Their answer is a list of alike things, gone through in one loop: its ends and its middle stand for the others.
LISTS = {"user"}


def items_at(scenario, place):
    if scenario == "sentinel":
        return [*OFTEN, *ADDRESSES]
    if scenario.startswith("moved"):
        return REDIRECTIONS
    return LIGHT if place in THOROUGH else OFTEN


def cases_of(answers):
    """All but the mutants."""
    for scenario, plan in SCENARIOS.items():
        for step in plan.steps:
            place = f"{scenario}/{step}"
            for name in items_at(scenario, place):
                harmless = name in HARMLESS and plan.success is not None
                yield Case(f"{place}/{name}", scenario, step, ITEMS[name], harmless)
            if place not in ALIKE and not plan.url:
                yield from element_cases(answers, scenario, step)
    for scenario, step in HEAVILY:
        for name, say in HEAVY.items():
            yield Case(f"{scenario}/{step}/{name}", scenario, step, say)
    for number, said in enumerate(MESSAGES_SAID):
        for scenario in ["wait", "hold"]:
            say = push("message", "c", said)
            yield Case(f"{scenario}/message/text-{number}", scenario, "message", say)


def recorded(answers, scenario, step):
    """What the server answered at this step for real."""
    kind, number = split(step)
    wanted = wanted_of(SCENARIOS[scenario], kind, number)
    return answers.get((kind, wanted), (None, b""))[0]


def element_cases(answers, scenario, step):
    value = recorded(answers, scenario, step)
    if not value or not isinstance(value[1], list):
        return
    paths = list(leaves(value))
    if step in LISTS:
        paths = [paths[0], paths[1], paths[len(paths) // 2], paths[-1]]
    for path in paths:
        place = ".".join(map(str, path))
        for name, data in [*ELEMENTS.items(), ("missing", None)]:
            say = lambda proper, path=path, data=data: with_element(parse(proper)[0], path, data)
            yield Case(f"{scenario}/{step}/{place}-{name}", scenario, step, say)


def knows(url):
    """Whether the program knows this kind of URL: it finds no server there, then."""
    words = [FAIRLOCK, "status", "--connect-timeout", "300ms", "-u", url, "job"]
    return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 69


def mutants(answers, seed, count):
    pool = [encode(answers[key][0]) for key in sorted(answers, key=str)] + [push("message", "c", "0")]
    steps = [(name, step) for name, plan in SCENARIOS.items() for step in plan.steps]
    for number in count:
        dice = random.Random(f"{seed}/{number}")
        scenario, step = dice.choice(steps)
        say = lambda proper, dice=dice: [
            mutate(proper or dice.choice(pool), pool, dice), *dice.choice([[], [], [CLOSE]])
        ]
        yield Case(f"mutant/{seed}/{number}", scenario, step, say)


def chosen(arguments, answers):
    patterns = arguments.patterns or ["*"]
    if not knows(SENTINEL + "1/master"):
        del SCENARIOS["sentinel"]
    for case in cases_of(answers):
        if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns):
            yield case
    for pattern in patterns:
        named = re.fullmatch(r"mutant/(\d+)/(\d+)", pattern)
        if named:
            yield from mutants(answers, named[1], [int(named[2])])
    if not arguments.patterns or "mutant" in patterns:
        yield from mutants(answers, arguments.seed, range(arguments.mutants))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hostile.")
    counts = collections.Counter()

    def report(case, faults):
        counts["cases"] += 1
        counts["failed"] += bool(faults)
        if arguments.verbose:
            took = case.ended - case.started if case.ended else TIME_S
            memory = case.usage.ru_maxrss >> 10 if case.usage else 0
            print(f"{case.name}: status {case.process.returncode}, {took:.2f} s, {memory} MB")
            for name, data in case.output.items():
                print(f"  {name}: {bytes(data[:2000])!r}")
        if faults:
            print(f"failed: {case.name}: " + "; ".join(faults))
            print(f"    repeat: tests/lib/hostile.py -v '{case.name}'", flush=True)
            if case.name.startswith("mutant/") and case.shown:
                print(f"    said at {case.step}: {case.shown[0][:2000]!r}", flush=True)

    began = time.monotonic()
    try:
        answers = record(folder)
        cases = chosen(arguments, answers)
        if arguments.list:
            for case in cases:
                print(case.name)
            return 0
        Runner(folder, answers, arguments.jobs, report).run(cases)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{counts['cases']} cases, {counts['failed']} failed, seed {arguments.seed},"
        f" {time.monotonic() - began:.0f} s"
    )
    return 1 if counts["failed"] or not counts["cases"] else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
