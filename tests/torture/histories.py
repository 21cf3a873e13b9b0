"""Judges the small histories in `histories`, and compares with the verdicts there.

The steps. Times are ms; TOKEN may be - for a Redisson client; HOW is exclusive, shared, slots without one, or the slot;
@LOCK at the end of a step is another lock than x; FIELD=JSON adds to an event.

    job NAME [shared] [slots=A,B] [kind=script] [FIELD=JSON...]        a job begins, a wrap if nothing else is said
    start, beat, end, descriptors NAME TOKEN [HOW [OWNER]]             a line of its section
    beats NAME TOKEN HOW SECONDS       a beat, and a second, so often  finish: end, and the job ends with 0
    section NAME TOKEN [HOW]           a section of 100 ms, and finish ends NAME STATUS      the job ends
    kill, stop, cont, cut, term NAME ROLE [PID]                        the driver harms a process of the job
    seen HOLDER,... : WAITER...        a look; -WAITER is not present; lasts=MS: it takes so long
    outage KIND FROM UNTIL [WAY]       data_kept, data_lost: the server is restarted
    asked STATUS FROM UNTIL            release --stop ran from FROM to UNTIL, in ms from now
    stall FROM UNTIL                   the machine stood still         paused NAME MS        one with its clock
    status NAME COMMAND STATUS         of a script's command           force, step MS, waiter NAME, left, over
"""

import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing is left beside the tests
from check import Checker

MS = 1_000_000
START = 1_000_000_000
FAULTS = ("kill", "stop", "cont", "cut", "term")
LINES = ("start", "beat", "end", "descriptors")


class Story:
    def __init__(self):
        self.at, self.lock, self.fields = START, "x", {}
        self.events, self.history, self.known = [], [], set()

    def tell(self, step):
        words = step.split()
        while words and words[0].startswith("+"):
            self.at += int(words.pop(0)) * MS
        if not words:
            return
        self.lock = words.pop()[1:] if words[-1].startswith("@") else "x"
        pairs = [word.split("=", 1) for word in words if "=" in word]
        self.fields = {key: self.value(key, value) for key, value in pairs}
        what, *words = [word for word in words if "=" not in word]
        if what in FAULTS:
            self.fault(what, *words)
        elif what in LINES:
            self.line(what, *words)
        else:
            getattr(self, what)(*words)

    def value(self, key, value):
        if key in ("slots", "displaced"):
            return [word + (":7" if key == "displaced" else "") for word in value.split(",")]
        return value if key == "kind" else json.loads(value)

    def event(self, what, since=0, until=0, **fields):
        at, until = self.at + int(since) * MS, self.at + int(until) * MS
        self.events.append({"at": at, "until": until, "what": what, **fields, **self.fields})

    def job(self, name, mode=None):
        mode = mode or ("slots" if "slots" in self.fields else "exclusive")
        fields = {"job": name, "kind": "wrap", "lock": self.lock, "lease": 3000, "own": 0, "wait": None, "mode": mode}
        self.event("job", **fields)

    def line(self, what, name, token, how="exclusive", owner=None):
        mode, _, slot = how.partition("+")
        if mode not in ("exclusive", "shared", "slots"):
            mode, slot = "slots", how
        fields = {"at": self.at, "what": what, "lock": self.lock, "job": name, "pid": 7, "owner": f"{owner or name}:7"}
        fields.update({} if token == "-" else {"token": int(token)}, mode=mode, slot=slot)
        self.history.append(fields)

    def beats(self, name, token, how, seconds):
        for _ in range(int(seconds)):
            self.line("start" if not self.history or self.history[-1]["job"] != name else "beat", name, token, how)
            self.at += 1000 * MS

    def finish(self, name, token, *how):
        self.line("end", name, token, *how)
        self.ends(name, 0)

    def section(self, name, token, *how):
        self.line("start", name, token, *how)
        self.at += 50 * MS
        self.line("beat", name, token, *how)
        self.at += 50 * MS
        self.finish(name, token, *how)

    def ends(self, name, status):
        self.event("exit", job=name, status=int(status))

    def fault(self, how, name, role, pid=7):
        self.event("fault", fault=how, job=name, role=role, pid=int(pid))

    def seen(self, *words):
        middle = words.index(":")
        holders = [f"{name}:7" for name in ",".join(words[:middle]).split(",") if name]
        for name in words[middle + 1 :]:
            if name.lstrip("-") not in self.known:
                self.waiter(name.lstrip("-"))
        queue = [[f"{name.lstrip('-')}:7", int(not name.startswith("-"))] for name in words[middle + 1 :]]
        lasts = self.fields.pop("lasts", 0)
        fields = {"ttl": 0, "queue_ttl": 0, "agree": True, "sound": True}
        self.event("seen", 0, lasts, lock=self.lock, holders=holders, queue=queue, **fields)

    def waiter(self, name):
        self.known.add(name)
        self.events.append({"at": self.at, "what": "waiter", "owner": f"{name}:7", "job": name})

    def outage(self, kind, since, until, path="server"):
        up = {"up": self.at + int(until) * MS} if kind == "killed" else {}
        self.event("outage", since, until, kind=kind, path=path, **up)

    def data_kept(self):
        self.outage("killed", 0, 0)

    def data_lost(self):
        self.event("outage", kind="killed", path="server", lost=True, up=self.at)

    def asked(self, status, since, until):
        self.event("asked", since, until, lock=self.lock, status=int(status))

    def stall(self, since, until):
        self.history.append({"at": self.at + int(since) * MS, "until": self.at + int(until) * MS, "what": "stall"})

    def paused(self, name, lasts):
        self.event("paused", 0, lasts, job=name)

    def status(self, name, command, status):
        self.history.append({"at": self.at, "what": "status", "job": name, "command": command, "status": int(status)})

    def force(self):
        self.event("force", lock=self.lock)

    def step(self, ms):
        self.event("step", ms=int(ms))

    def left(self, *words):
        self.event("left", text=" ".join(words))

    def over(self):
        self.event("end")

    def verdict(self, folder):
        """What the checker says: the violations, and how many overlaps are excused."""
        for name, events in ("events", self.events), ("history", self.history):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
        checker = Checker(folder)
        return [f"{name}: {text}" for name, text, *_ in checker.check()], checker.excused


def entries(text):
    """The lines without comments; those that are indented belong to the one before."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return re.sub(r"\n\s+", " ", "\n".join(lines)).splitlines()


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


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    scenes, wrong, count = {}, 0, 0
    with open(os.path.join(here, "histories"), encoding="utf-8") as file:
        lines = entries(file.read())
    for line in lines:
        if line.startswith("scene "):
            name, _, body = line[6:].partition(":")
            scenes[name] = body.strip()
            continue
        steps, _, expected = line.partition("-> ")
        story = Story()
        for step in expand(steps, scenes).split("/ "):
            story.tell(step.rstrip("/ "))
        with tempfile.TemporaryDirectory() as folder:
            found, excused = story.verdict(folder)
        texts = [] if expected.startswith("fine") else expected.split(" & ")
        fits = len(found) == len(texts) and all(text.strip() in got for text, got in zip(texts, found))
        if not fits or f"fine, {excused} excused" != expected and "excused" in expected:
            wrong += 1
            print(f"{line}\n    but it says: {' & '.join(found) or 'fine'}, {excused} excused")
        count += 1
    print(f"{count} histories, {wrong} wrong verdicts")
    sys.exit(wrong > 0 or count == 0)


if __name__ == "__main__":
    main()
