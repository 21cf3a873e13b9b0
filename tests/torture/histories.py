"""Judges the small histories in `histories`, and compares with the verdicts there.

The steps. Times are ms, from now; TOKEN may be - for a Redisson client; HOW is exclusive, shared, slots without one, or the
slot; @LOCK at the end of a step is another lock than x; FIELD=JSON adds to an event.

    job NAME [shared] [slots=A,B] [kind=script] [FIELD=JSON...]        a job begins, a wrap if nothing else is said
    start, beat, end, descriptors NAME TOKEN [HOW [OWNER]]             a line of its section
    beats NAME TOKEN HOW SECONDS       a beat, and a second, so often  finish: end, and the job ends with 0
    section NAME TOKEN [HOW]           a section of 100 ms, and finish
    seen HOLDER,... : WAITER...        a look; -WAITER is not present; lasts=MS: it takes so long
    kill, stop, cont, cut, term NAME ROLE [PID]                        the driver harms a process of the job
    data_kept, data_lost               the server is restarted         ends, stall, ...: see EVENTS
"""

import json
import os
import re
import sys
import tempfile

from check import Checker
from machine import MS

START = 1_000_000_000
HERE = os.path.dirname(os.path.abspath(__file__))
LINES = ("start", "beat", "end", "descriptors")
# What a step writes, and the names of its words.
EVENTS = {
    **{fault: ("fault", "job", "role", "pid") for fault in ("kill", "stop", "cont", "cut", "term")},
    "ends": ("exit", "job", "status"),
    "outage": ("outage", "kind", "since", "until", "path"),
    "asked": ("asked", "status", "since", "until"),  # release --stop
    "stall": ("stall", "since", "until"),  # the machine stood still
    "paused": ("paused", "job", "until"),  # one with its clock
    "status": ("status", "job", "command", "status"),  # of a script's command
    "step": ("step", "ms"),
    "left": ("left", "text"),
    "force": ("force",),
    "over": ("over",),
}
SHORT = {"data_kept": "outage killed 0 0", "data_lost": "outage killed 0 0 lost=true"}


class Story:
    def __init__(self):
        self.at, self.lock, self.fields = START, "x", {}
        self.events, self.known = [], set()

    def tell(self, step):
        words = step.split()
        while words and words[0].startswith("+"):
            self.at += int(words.pop(0)) * MS
        if not words:
            return
        words[:1] = SHORT.get(words[0], words[0]).split()
        self.lock = words.pop()[1:] if words[-1].startswith("@") else "x"
        pairs = [word.split("=", 1) for word in words if "=" in word]
        self.fields = {key: self.value(key, value) for key, value in pairs}
        what, *words = [word for word in words if "=" not in word]
        if what in EVENTS:
            kind, *names = EVENTS[what]
            values = (int(word) if re.fullmatch(r"-?\d+", word) else word for word in words)
            self.event(kind, **{"fault": what, **dict(zip(names, values))})
        elif what in LINES:
            self.line(what, *words)
        else:
            getattr(self, what)(*words)

    def value(self, key, value):
        if key in ("slots", "displaced"):
            return [word + (":7" if key == "displaced" else "") for word in value.split(",")]
        return value if key == "kind" else json.loads(value)

    def event(self, what, since=0, until=0, **fields):
        at, until = self.at + since * MS, self.at + until * MS
        defaults = {"at": at, "until": until, "what": what, "lock": self.lock, "pid": 7, "path": "server", "up": until}
        self.events.append({**defaults, **fields, **self.fields})

    def job(self, name, mode=None):
        mode = mode or ("slots" if "slots" in self.fields else "exclusive")
        self.event("job", job=name, kind="wrap", path="direct", lease=3000, mode=mode)

    def line(self, what, name, token, how="exclusive", owner=None):
        mode, _, slot = how.partition("+")
        if mode not in ("exclusive", "shared", "slots"):
            mode, slot = "slots", how
        token = {} if token == "-" else {"token": int(token)}
        self.event(what, job=name, owner=f"{owner or name}:7", mode=mode, slot=slot, **token)

    def beats(self, name, token, how, seconds):
        for _ in range(int(seconds)):
            self.line("beat", name, token, how)
            self.at += 1000 * MS

    def finish(self, name, token, *how):
        self.line("end", name, token, *how)
        self.event("exit", job=name, status=0)

    def section(self, name, token, *how):
        for what in "start", "beat":
            self.line(what, name, token, *how)
            self.at += 50 * MS
        self.finish(name, token, *how)

    def seen(self, *words):
        middle = words.index(":")
        holders = [f"{name}:7" for name in ",".join(words[:middle]).split(",") if name]
        queue = [(name.lstrip("-"), int(not name.startswith("-"))) for name in words[middle + 1 :]]
        until = self.fields.pop("lasts", 0)
        for name, _ in queue:
            if name not in self.known:
                self.waiter(name)
        self.event("seen", 0, until, holders=holders, queue=[(f"{name}:7", present) for name, present in queue])

    def waiter(self, name):
        self.known.add(name)
        self.events.append({"at": self.at, "what": "waiter", "owner": f"{name}:7", "job": name})


def expand(text, scenes):
    def scene(match):
        given = [word.strip() for word in match[2].split(";")]
        return re.sub(
            r"\{(\d)=?(\S*?)\}",
            lambda hole: (given[int(hole[1]) - 1] if int(hole[1]) <= len(given) else "") or hole[2],
            scenes[match[1]],
        )

    while re.search(r"\w+\([^()]*\)", text):
        text = re.sub(r"(\w+)\(([^()]*)\)", scene, text)
    return text


def read():
    """Yields (line, its events, the verdict) of each history."""
    with open(os.path.join(HERE, "histories"), encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    scenes = {}
    # a line that is indented goes on with the one before
    for line in re.sub(r"\n\s+", " ", "\n".join(lines)).splitlines():
        if line.startswith("scene "):
            name, _, body = line[6:].partition(":")
            scenes[name] = body.strip()
            continue
        steps, _, expected = line.partition("-> ")
        story = Story()
        for step in expand(steps, scenes).split("/ "):
            story.tell(step.rstrip("/ "))
        yield line, story.events, expected


def verdict(events, folder):
    """What the checker says."""
    with open(os.path.join(folder, "history"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    checker = Checker(folder)
    texts = [f"{name}: {text}" for name, text, *_ in checker.check()] or ["fine"]
    texts[-1] += f", {len(checker.stalled)} excused" if checker.stalled else ""
    return texts


def main():
    wrong = count = 0
    for count, (line, events, expected) in enumerate(read(), 1):
        with tempfile.TemporaryDirectory() as folder:
            found = verdict(events, folder)
        texts = expected.split(" & ")
        if len(found) != len(texts) or not all(text.strip() in got for text, got in zip(texts, found)):
            wrong += 1
            print(f"{line}\n    but it says: {' & '.join(found)}")
    print(f"{count} histories, {wrong} wrong verdicts")
    sys.exit(wrong > 0 or count == 0)


if __name__ == "__main__":
    main()
