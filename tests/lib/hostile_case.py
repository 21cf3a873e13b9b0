"""One case of hostile.py: a command, the step at which the server does harm, and the verdict."""

import collections
import hashlib
import json
import os
import re

from corpus import ERRORS
from resp import encode, replaced, tag, text, values

FAIRLOCK = os.environ.get("FAIRLOCK", "build/fairlock")
IS_SANITIZED = b"__asan_init" in open(FAIRLOCK, "rb").read()

TIME_S = 20  # for one case on a busy machine; a program that hangs takes longer
MEMORY_KB = 400 << 10 if IS_SANITIZED else 160 << 10
STATUSES = {0, 64, 69, 70, 71, 75, 76, 77, 78, 124}
FINDINGS = {1, 2}  # statuses of doctor
MESSAGE_BYTES = 4096
MESSAGES = 12
ASKED = 2000  # requests
WHOLE_SCRIPTS = 50
SAID_BYTES = 100000  # the verdict looks at no more of what the server said

# The kernel kills a program that is started with these words when we end, in whatever way.
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]


with open(os.path.join(os.path.dirname(FAIRLOCK), "scripts.c"), encoding="utf-8") as made:
    SCRIPTS = {sha1: name for name, sha1 in re.findall(r'\.name = "(.*)",\s*\.sha1 = "(.*)",', made.read())}


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
    """ARGV[2] of a script."""
    behind = 4 + int(words[2])
    return words[behind] if len(words) > behind else b""


def owner_of(words):
    """The owner id in a request."""
    return argument_of(words) if words[0].upper() in (b"EVALSHA", b"EVAL") else b""


# ---- Scenarios ----

OWNER = "11111111-2222-4333-8444-555555555555:77"
HURRY, PATIENT = "400ms", "10s"  # PATIENT for a harmless case, which must succeed on a busy machine, too
JOB = ["-w", HURRY, "job"]
STARTED = ["sh", "-c", "echo started"]
WORKING = ["sh", "-c", "echo started; exec sleep 0.5"]

# One command:
#   words    its command line
#   answers  for a kind of request, the first words of its answers in turn; the last one stays
#   success  the word that the server must have said if the command succeeds
#   steps    where the server may begin to do harm: a request (kind_of), with a number if it is not
#            the first of its kind; "connect"; "message", which follows the first answer to `tells`
#   url      with it there are two servers on TCP; a port and `master` complete it. @HERE@ and
#            @THERE@ in their words are their ports
#   once     the server does harm once, not at each later request of that kind, over all connections
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
    """The kind of request of a step, and the number of the request."""
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
        self.shown = None  # the harm of a mutant, for the report: it depends on what was recorded
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
        """The kind of a request, and the bytes with which a real server would answer."""
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
        """Whether to do harm at this request: at the step, and from then on unless `once`."""
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
