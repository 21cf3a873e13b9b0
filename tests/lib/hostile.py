"""Runs commands against a server that means harm, and checks what they do.

usage: hostile.py [--seed N] [--mutants N] [--jobs N] [-v] [PATTERN...]

A case is SCENARIO/STEP/ITEM: up to STEP the server answers as a real one does, and there it says ITEM of corpus.py. The
answers of a real SERVER are recorded first. PATTERN, as in the shell, chooses cases: 'wrap/hello/*', or 'mutant/SEED/7' for
one that the mutator made.

FAIRLOCK passes if it ends by itself, in time, with a status that the manual lists; if its output cannot drive a terminal, and
its messages are single lines of moderate length; and if it succeeds, or starts COMMAND, only where the server really said so.
Prints each failure, and how to repeat it; the last line has the counts.

A process with sanitizers takes twenty times as long to start. Of its cases the seed chooses a third, unless they are named in
full: each answer is said at many steps, and the same code reads it there."""

import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import hashlib
import json
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # nothing is left beside the tests
from corpus import (
    ADDRESSES, CLOSE, ELEMENTS, ERRORS, HARMLESS, ITEMS, LENGTHS, MESSAGES_SAID, PUSHES, REDIRECTIONS, TALK, TYPES, leaves,
    mutate, with_element,
)
from resp import Incomplete, encode, parse, push, replaced, tag, text, values

FAIRLOCK = os.environ.get("FAIRLOCK", "build/fairlock")
SERVER = os.environ.get("SERVER", "redis-server")
IS_SANITIZED = b"__asan_init" in open(FAIRLOCK, "rb").read()
# The kernel kills a program that is started with these words when we end, in whatever way.
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]

TIME_S = 20  # for one case on a busy machine; a program that hangs takes longer
STATUSES = {0, 64, 69, 70, 71, 75, 76, 77, 78, 124}
FINDINGS = {1, 2}  # statuses of doctor
MESSAGE_BYTES, MESSAGES = 4096, 12
ASKED, WHOLE_SCRIPTS = 2000, 50  # requests, at most

with open(os.path.join(os.path.dirname(FAIRLOCK), "scripts.c"), encoding="utf-8") as made:
    SCRIPTS = {sha1: name for name, sha1 in re.findall(r'\.name = "(.*)",\s*\.sha1 = "(.*)",', made.read())}

# ---- Scenarios

OWNER = "11111111-2222-4333-8444-555555555555:77"
HURRY, PATIENT = "400ms", "10s"  # PATIENT for a harmless case, which must succeed on a busy machine, too
JOB = ["-w", HURRY, "job"]
WRAP = ["wrap", *JOB, "sh", "-c", "echo started"]
HOLD = ["wrap", "-l", "1s", *JOB, "sh", "-c", "echo started; exec sleep 0.5"]
TCP, SENTINEL = "redis://127.0.0.1:", "redis+sentinel://127.0.0.1:"


class Scenario:
    """One command. words: its command line. steps: where the server may begin to do harm: a request (kind_of), with a number if
    it is not the first of its kind; "connect"; "message", which follows the first answer to `tells`. success: the word that the
    server must have said if the command succeeds. answers: for a kind of request, the first words of its answers in turn; the
    last one stays. url: with it there are two servers on TCP, and @HERE@ and @THERE@ in their words are their ports. once: the
    server does harm once, not at each later request of that kind."""

    def __init__(self, words, steps, success=None, answers=None, tells=None, url="", once=False):
        self.words, self.steps, self.success, self.tells = words, steps.split(), success, tells
        self.answers = {"acquire": ["granted"], "renew": ["renewed"], "release": ["released"], "leave": ["left"], **(answers or {})}
        self.url, self.once = url, once

    def wanted(self, kind, number):
        """The first word of the answer to the number-th request of a kind, or None."""
        wanted = self.answers.get(kind, [None])
        return wanted[min(number, len(wanted)) - 1]


WAITS = {"acquire": ["queued", "granted"]}
SCENARIOS = {
    "wrap": Scenario(WRAP, "connect hello select subscribe acquire release", "granted"),
    "hold": Scenario(HOLD, "message renew", "granted", tells="acquire"),
    "wait": Scenario(WRAP, "acquire message acquire2", "granted", WAITS, "acquire"),
    "back": Scenario(WRAP, "acquire2", "granted", WAITS, "acquire", once=True),
    "leave": Scenario(["acquire", *JOB], "leave", None, {"acquire": ["queued"]}),
    "eval": Scenario(WRAP, "acquire2", "granted", {"acquire": ["NOSCRIPT", "granted"]}),
    "acquire": Scenario(["acquire", *JOB], "acquire", "granted"),
    "acquire-json": Scenario(["acquire", "--json", *JOB], "acquire", "granted"),
    "renew": Scenario(["renew", "--owner", OWNER, "job"], "renew", "renewed"),
    "release": Scenario(["release", "--owner", OWNER, "job"], "release", "released"),
    "force": Scenario(["release", "--force", "job"], "release", "forced", {"release": ["forced"]}),
    "status": Scenario(["status", "job"], "hello status"),
    "status-json": Scenario(["status", "--json", "job"], "status"),
    "status-all": Scenario(["status"], "scan hget status"),
    "status-metrics": Scenario(["status", "--prometheus"], "hget status"),
    "doctor": Scenario(["doctor", "job"], "hello hello2 may info config user time status queue"),
    "doctor-json": Scenario(["doctor", "--json", "job"], "hello2 info status"),
    "queue": Scenario(["queue", "job"], "queue"),
    "queue-json": Scenario(["queue", "--json", "job"], "queue"),
    "log": Scenario(["log", "job"], "log"),
    "log-json": Scenario(["log", "--json", "job"], "log"),
    "log-stats": Scenario(["log", "--stats", "job"], "log"),
    "log-plot": Scenario(["log", "--plot", "job"], "log"),
    "moved": Scenario(WRAP, "acquire", "granted", url=TCP),
    "moved-hold": Scenario(HOLD, "renew", "granted", url=TCP),
    "moved-wait": Scenario(WRAP, "acquire2", "granted", WAITS, "acquire", TCP),
    "moved-status": Scenario(["status", "job"], "status", url=TCP),
    "sentinel": Scenario(WRAP, "hello sentinel", "granted", url=SENTINEL),
    "remove": Scenario(["queue", "--remove", OWNER, "job"], "leave"),
}


def kind_of(words):
    """The name of a request as a step."""
    command = words[0].upper()
    if command not in (b"EVALSHA", b"EVAL"):
        return command.decode("latin-1").lower()
    if words[2] == b"0":
        return "may" if len(words) < 20 else "user"
    sha1 = words[1].decode() if command == b"EVALSHA" else hashlib.sha1(words[1]).hexdigest()
    name = SCRIPTS.get(sha1, "unknown")
    return argument_of(words).decode("latin-1") if name == "look" else name


def argument_of(words):
    """ARGV[2] of a script, which is the owner id in most requests."""
    behind = 4 + int(words[2]) if words[0].upper() in (b"EVALSHA", b"EVAL") else len(words)
    return words[behind] if len(words) > behind else b""


# ---- The answers of a real server


class Recorder:
    """A proxy that keeps the answers, by step and, for a script, by their first word: a value, and the owner id in it."""

    def __init__(self, folder):
        self.path, self.upstream = os.path.join(folder, "recorder"), os.path.join(folder, "real")
        # those of a sentinel, its master and a node of a cluster are not recorded
        self.answers = {
            ("sentinel", None): ((b"*", [text("127.0.0.1"), text("@THERE@")]), b""),
            ("asking", None): ((b"+", b"OK"), b""),
            ("role", None): ((b"*", [text("master"), (b":", 0), (b"*", [])]), b""),
        }
        self.server = subprocess.Popen(
            [*DIES_WITH_US, SERVER, "--port", "0", "--unixsocket", self.upstream, "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        while not os.path.exists(self.upstream):
            time.sleep(0.01)
        accept_all(listener_at(self.path), self.carry)

    def carry(self, peer):
        upstream, asked = socket.socket(socket.AF_UNIX), collections.deque()
        upstream.connect(self.upstream)
        back = threading.Thread(target=self.pass_on, args=[upstream, peer, lambda value: self.note(asked, value)], daemon=True)
        back.start()
        self.pass_on(peer, upstream, lambda value: self.ask(asked, [part[1] for part in value[1]]))

    def pass_on(self, source, sink, hear):
        heard = bytearray()
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                heard += data
                for value in take_values(heard):
                    hear(value)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def ask(self, asked, words):
        if words[0] != b"SUBSCRIBE":
            asked.append(words)

    def note(self, asked, value):
        if value[0] == b">":
            self.answers.setdefault((value[1][0][1].decode(), None), (value, b""))
            return
        words = asked.popleft()
        kind = kind_of(words)
        word = tag(value) if kind in ("acquire", "renew", "release", "leave") else None
        too_little = kind == "status" and not value[1][0][1] or kind == "queue" and not value[1]
        if value[0] != b"-" and not too_little:
            self.answers.setdefault((kind, word), (value, argument_of(words)))

    def start(self, *words):
        command = [*DIES_WITH_US, FAIRLOCK, words[0], "-u", f"unix:{self.path}?db=1", *words[1:]]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self, *words):
        return self.start(*words).communicate(timeout=TIME_S)[0].decode().strip()

    def start_waiter(self, *words):
        waiter = self.start(*words, "job")
        while not self.queue():
            time.sleep(0.01)
        return waiter

    def queue(self):
        return json.loads(self.run("queue", "--json", "job"))["queue"]

    def record(self):
        """Runs commands; returns every answer that the scenarios need."""
        self.run("wrap", "job", "true")
        owner = self.run("acquire", "job")
        self.run("acquire", "-w", "50ms", "job")
        waiter = self.start_waiter("acquire")
        self.run("status")
        self.run("doctor")
        self.run("renew", "--owner", owner, "job")  # a lease of 30 s outlasts a busy moment of the machine
        self.run("release", "--owner", owner, "job")
        waiter.communicate(timeout=TIME_S)
        waiter = self.start_waiter("acquire")
        self.run("queue", "--remove", self.queue()[0]["owner"], "job")
        waiter.communicate(timeout=TIME_S)
        self.run("release", "--force", "job")
        self.run("acquire", "job")
        waiter = self.start_waiter("acquire")
        self.run("log", "--plot", "job")
        waiter.kill()
        self.server.kill()
        self.server.wait()
        return self.answers


def listener_at(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def accept_all(listener, serve):
    """Serves each connection in a thread of its own, until the listener is shut down."""

    def accept():
        while True:
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=serve, args=[peer], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def take_values(heard):
    """Takes the whole values out of what was heard."""
    try:
        while heard:
            value, end = parse(heard)
            del heard[:end]
            yield value
    except Incomplete:
        pass


# ---- One case


class Closed(Exception):
    """The server closes the connection."""


class Case:
    def __init__(self, name, scenario, step, say, harmless=False):
        self.name, self.scenario, self.say, self.harmless = name, SCENARIOS[scenario], say, harmless
        self.step, self.number = split(step)

    def run(self, folder, answers):
        self.answers, self.guard = answers, threading.Lock()
        self.said = []  # what each connection was sent
        self.counts = collections.Counter()  # requests of each kind, over all connections
        self.asked = self.whole_scripts = 0
        self.reached, self.shown = False, None  # shown: the harm of a mutant, for the report
        listeners, url = self.listen(folder)
        for number, listener in enumerate(listeners):
            accept_all(listener, lambda peer, number=number: self.serve(peer, number))
        words = [PATIENT if word == HURRY and self.harmless else word for word in self.scenario.words]
        timeout = PATIENT if self.harmless else "300ms"
        process = subprocess.Popen(
            [*DIES_WITH_US, FAIRLOCK, words[0], "-u", url, "--connect-timeout", timeout, *words[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder),
        )
        self.hung = False
        try:
            self.stdout, self.stderr = process.communicate(timeout=TIME_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            process.kill()
            self.stdout, self.stderr = process.communicate()
        self.status = process.returncode
        for listener in listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        return list(self.faults())

    def listen(self, folder):
        """The listeners, and the URL."""
        if not self.scenario.url:
            path = os.path.join(folder, f"s{id(self)}.{time.monotonic_ns()}")
            return [listener_at(path)], f"unix:{path}?db=1"
        listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.ports = [b"%d" % listener.getsockname()[1] for listener in listeners]
        master = "/master" if self.scenario.url == SENTINEL else ""
        return listeners, self.scenario.url + self.ports[0].decode() + master

    # -- The server

    def serve(self, peer, number):
        heard, said = bytearray(), bytearray()
        self.said.append(said)
        peer.settimeout(TIME_S)
        try:
            if self.step == "connect":
                self.send(peer, number, said, self.harm(b"", number))
            while data := peer.recv(65536):
                heard += data
                for value in take_values(heard):
                    self.send(peer, number, said, self.reply([part[1] for part in value[1]], number))
        except (OSError, Closed):
            pass
        peer.close()

    def send(self, peer, number, said, parts):
        for part in parts:
            if part is CLOSE:
                raise Closed
            if isinstance(part, float):
                time.sleep(part)
            else:
                said += part  # before: the program may end with it
                peer.sendall(part)

    def reply(self, words, number):
        """The parts of the reply to a request."""
        kind = kind_of(words)
        with self.guard:
            self.asked += 1
            self.whole_scripts += words[0].upper() == b"EVAL"
            self.counts[kind] += 1
            count = self.counts[kind]
        proper = self.proper(kind, count, words)
        is_late = count > self.number and not self.scenario.once
        if kind == self.step and (count == self.number or is_late):
            yield from self.harm(proper, number)
        else:
            yield self.with_ports(proper, number)
        if kind == self.scenario.tells and count == 1:
            message = push("message", words[8] + b":" + argument_of(words), "0")
            if self.step == "message":
                yield 0.02
                yield from self.harm(message, number)
            else:
                yield message

    def proper(self, kind, count, words):
        """The bytes with which a real server would answer."""
        if kind == "subscribe":
            parts = [(b">", [text("subscribe"), text(channel), (b":", at)]) for at, channel in enumerate(words[1:], 1)]
            return b"".join(map(encode, parts))
        wanted = self.scenario.wanted(kind, count)
        if wanted == "NOSCRIPT":
            return ERRORS["error-NOSCRIPT"]
        value, owner = self.answers.get((kind, wanted), ((b"-", b"ERR unknown command"), b""))
        return encode(replaced(value, owner, argument_of(words)))

    def harm(self, proper, number):
        self.reached = True
        said = self.say(self.with_ports(proper, number)) if callable(self.say) else self.with_ports(self.say, number)
        if isinstance(said, list):
            self.shown = said
        return [said] if isinstance(said, bytes) else said

    def with_ports(self, said, number):
        """Puts the ports of the two servers into redirections."""
        if self.scenario.url:
            for word, port in (b"@HERE@", self.ports[number]), (b"@THERE@", self.ports[1 - number]):
                said = said.replace(encode(text(word)), encode(text(port))).replace(word, port)
        return said

    # -- The verdict

    def faults(self):
        if self.hung:
            yield f"still there after {TIME_S} s, or somebody still holds its output open"
        elif self.status < 0:
            yield f"killed by signal {-self.status}"
        elif self.status not in (STATUSES | FINDINGS if self.scenario.words[0] == "doctor" else STATUSES):
            yield f"status {self.status}"
        if self.asked > ASKED:
            yield f"asked {self.asked} times"
        if self.whole_scripts > WHOLE_SCRIPTS:
            yield f"sent {self.whole_scripts} scripts as a whole"
        yield from faults_of_messages(self.stderr)
        if not is_printable(self.stdout.replace(b"\n", b"")):
            yield f"output that is not printable: {self.stdout[:300]!r}"
        if "--json" in self.scenario.words and self.stdout and not is_json(self.stdout):
            yield f"output that is no JSON: {self.stdout[:300]!r}"
        if "--prometheus" in self.scenario.words and not METRICS.fullmatch(self.stdout):
            yield f"output that is no metrics: {self.stdout[:300]!r}"
        if not self.hung:
            yield from self.faults_of_success(self.status == 0)

    def faults_of_success(self, succeeded):
        wanted = self.scenario.success
        really = not wanted or any(wanted in map(tag, values(said)) for said in self.said)
        if not really and b"started" in self.stdout:
            yield "COMMAND was started without a grant"
        if not really and succeeded:
            yield f"status 0, but nobody said {wanted!r}"
        if self.harmless and not succeeded and wanted:
            yield "failed, though nothing happened that matters"


def environment(folder):
    return {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "LC_ALL": "C.UTF-8",
        # freed memory is not kept, and malloc refuses what is too large, as it does without a sanitizer
        "ASAN_OPTIONS": "exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
    }


def split(step):
    """The kind of request of a step, and the number of the request."""
    kind, number = re.fullmatch(r"(.*?)(\d*)", step).groups()
    return kind, int(number or 1)


def faults_of_messages(data):
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


METRICS = re.compile(
    rb'(?:# (?:HELP|TYPE) \w+ [^\n]+\n|\w+(?:\{lock="(?:[^"\\\n]|\\["\\n])+"\})? (?:\d+(?:\.\d+)?|\+Inf)\n)*'
)


def is_json(data):
    try:
        json.loads(data)
        return True
    except ValueError:
        return False


def is_printable(data):
    try:
        return all(code >= " " and not "\x7f" <= code <= "\x9f" for code in data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


# ---- All cases

# At these steps the server says all of LIGHT, at the others OFTEN: one piece of code reads both.
THOROUGH = {
    "wrap/hello", "wrap/subscribe", "wrap/acquire", "wait/message", "hold/message", "hold/renew", "status/status",
    "status-all/scan",
}
OFTEN = [*TYPES, *TALK, "array-2147483647", "push-message-null", "push-unknown", "error-ERR", "error-shown", "error-NOSCRIPT",
         "error-TRYAGAIN", "error-MOVED", "error-MOVED-shown"]
LIGHT = [*TYPES, *LENGTHS, *ERRORS, *PUSHES, *TALK]
# The code that reads answers at these steps is tried, element by element, at others.
ALIKE = {
    "wrap/hello", "wrap/subscribe", "wait/acquire2", "eval/acquire2", "status-all/status", "back/acquire2", "log-json/log",
    "log-stats/log", "doctor/hello",
}


def items_at(scenario, place):
    if scenario == "sentinel":
        return [*OFTEN, *ADDRESSES]
    if scenario.startswith("moved"):
        return REDIRECTIONS
    return LIGHT if place in THOROUGH else OFTEN


def cases_of(answers):
    """Yields all cases but the mutants."""
    for scenario, plan in SCENARIOS.items():
        for step in plan.steps:
            place = f"{scenario}/{step}"
            for name in items_at(scenario, place):
                yield Case(f"{place}/{name}", scenario, step, ITEMS[name], name in HARMLESS and plan.success is not None)
            if place not in ALIKE and not plan.url:
                yield from element_cases(answers, scenario, step)
    for number, said in enumerate(MESSAGES_SAID):
        for scenario in ["wait", "hold"]:
            yield Case(f"{scenario}/message/text-{number}", scenario, "message", push("message", "c", said))


def recorded(answers, scenario, step):
    """The answer of the real server at this step, or None."""
    kind, number = split(step)
    return answers.get((kind, SCENARIOS[scenario].wanted(kind, number)), (None, b""))[0]


def element_cases(answers, scenario, step):
    value = recorded(answers, scenario, step)
    if not value or not isinstance(value[1], list):
        return
    for path in leaves(value):
        place = ".".join(map(str, path))
        for name, data in [*ELEMENTS.items(), ("missing", None)]:
            say = lambda proper, path=path, data=data: with_element(parse(proper)[0], path, data)
            yield Case(f"{scenario}/{step}/{place}-{name}", scenario, step, say)


def mutants(answers, seed, numbers):
    pool = [encode(answers[key][0]) for key in sorted(answers, key=str)] + [push("message", "c", "0")]
    steps = [(name, step) for name, plan in SCENARIOS.items() for step in plan.steps]
    for number in numbers:
        dice = random.Random(f"{seed}/{number}")
        scenario, step = dice.choice(steps)
        say = lambda proper, dice=dice: [
            mutate(proper or dice.choice(pool), pool, dice), *dice.choice([[], [], [CLOSE]])
        ]
        yield Case(f"mutant/{seed}/{number}", scenario, step, say)


def chosen(arguments, answers):
    patterns = arguments.patterns or ["*"]
    for case in cases_of(answers):
        is_named = case.name in patterns
        is_spared = IS_SANITIZED and random.Random(f"{arguments.seed}/{case.name}").random() >= 1 / 3
        if is_named or not is_spared and any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns):
            yield case
    for pattern in patterns:
        named = re.fullmatch(r"mutant/(\d+)/(\d+)", pattern)
        if named:
            yield from mutants(answers, named[1], [int(named[2])])
    if not arguments.patterns or "mutant" in patterns:
        yield from mutants(answers, arguments.seed, range(arguments.mutants // (3 if IS_SANITIZED else 1)))


def report(case, faults, verbose):
    if verbose:
        print(f"{case.name}: status {case.status}\n  stdout: {case.stdout[:2000]!r}\n  stderr: {case.stderr[:2000]!r}")
    if faults:
        print(f"failed: {case.name}: " + "; ".join(faults))
        print(f"    repeat: tests/lib/hostile.py -v '{case.name}'", flush=True)
        if case.shown and case.name.startswith("mutant/"):
            print(f"    said at {case.step}: {case.shown[0][:2000]!r}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hostile.")
    count, failed, began = 0, 0, time.monotonic()
    try:
        answers = Recorder(folder).record()
        cases = list(chosen(arguments, answers))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            results = pool.map(lambda case: case.run(folder, answers), cases)
            for case, faults in zip(cases, results):
                for _ in range(4):  # alone, if the machine was too busy
                    if case.reached or faults:
                        break
                    faults = case.run(folder, answers)
                if not case.reached and not faults:
                    faults = ["never came to the step that the case is about"]
                report(case, faults, arguments.verbose)
                count, failed = count + 1, failed + bool(faults)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{count} cases, {failed} failed, seed {arguments.seed}, {time.monotonic() - began:.0f} s")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
