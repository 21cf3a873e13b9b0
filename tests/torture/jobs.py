"""The jobs of a round: what the seed decides of the n-th one."""

import os
import random
import sys

# The locks, in the order of their bytes, and their slots; the last one has exclusive holders only.
SLOTS = {
    "alpha": ["1", "2", "3"],
    "epsilon%d": ["1", "2", "3", "4", "5"],
    "two words": ["db1", "db2", "db3"],
    "{gamma}1": ["1", "2"],
    "δέλτα": ["ä", "b-2"],
    "ζ/6": [],
}
LOCKS = list(SLOTS)
# Few locks, so that jobs of which only the newest counts meet each other.
NEWEST = ["ζ/6", "alpha"]
# And jobs that take several meet in all orders.
SEVERAL = LOCKS[-4:]
MODES = {"exclusive": 30, "shared": 30, "slots": 40}
# So many jobs in a row mostly want the same: then slots are all taken, and readers are many.
FAVOURED = 30
FAVOURITES = ["slots", "shared", "slots", None]
FAVOUR = 250
SHORT_LEASES = [1000, 1500, 2000, 3000]
LONG_LEASES = [6000, 10000]

KINDS = {
    "plain": 44,  # wrap
    "wait": 12,  # wrap -w
    "try": 8,  # wrap -n
    "crowd": 4,  # wrap --max-queue
    "limited": 4,  # wrap --max-hold
    "keeps": 3,  # wrap --min-hold
    "once": 3,  # wrap --once-per
    "done": 4,  # wrap --once-ok
    "newest": 8,  # wrap --supersede
    "again": 6,  # wrap, and in it wrap of the same lock
    "beside": 4,  # wrap, and in it wrap of another lock
    "several": 14,  # wrap --also
    "turns": 10,  # acquire, renew, release
    "keeper": 6,  # acquire --while-pid, release
    "exec": 4,  # acquire --while-pid, and the script becomes its section
    "redisson": 8,  # a Redisson client, with lock or tryLock
}
# For a calm round: all of them wait for ever.
CALM_KINDS = {"plain": 14, "several": 2, "redisson": 1}
# The options of wrap with a time, by the name that the checker knows: the kind of job that has one, and its ms.
PERIODS = {
    "max_hold": ("limited", 50, 300),
    "min_hold": ("keeps", 100, 900),
    "once_per": ("once", 500, 3000),
    "once_ok": ("done", 500, 3000),
}
SCRIPTS = ("turns", "keeper", "exec")
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_MS = 300000  # Redisson's own


def pick(dice, weights):
    return dice.choices(list(weights), weights.values())[0]


class Want:
    """How a job wants a lock: alone, shared, or one of these slots."""

    def __init__(self, mode="exclusive", slots=()):
        self.mode, self.slots = mode, list(slots)

    @classmethod
    def drawn(cls, dice, lock, favourite=None):
        slots = SLOTS.get(lock)
        weights = {mode: weight + (FAVOUR if mode == favourite else 0) for mode, weight in MODES.items()}
        mode = pick(dice, weights) if slots else "exclusive"
        if mode == "slots" and slots[0] != "1" and dice.random() < 0.4:
            slots = dice.sample(slots, dice.randrange(1, len(slots) + 1))
        return cls(mode, slots if mode == "slots" else ())

    @property
    def options(self):
        if self.mode == "slots":
            # all jobs of a lock say the same number
            return ["--slots", str(len(self.slots)) if self.slots[0] == "1" else ",".join(self.slots)]
        return ["--shared"] if self.mode == "shared" else []


def nth(seed, count, calm):
    """Draws the same n-th job in each run of a seed, whatever happened to the jobs before it."""
    dice = random.Random(f"{seed} job {count}")
    favourite = FAVOURITES[(seed + count // FAVOURED) % len(FAVOURITES)]
    job = Job(dice, f"j{count}", pick(dice, CALM_KINDS) if calm else None, favourite=favourite)
    return job.patient(dice.randrange(50, 1200)) if calm else job


def extra(name, lock, ms):
    """A job that the seed does not decide."""
    job = Job(random.Random(name), name, "plain", lock).patient(ms)
    job.want, job.clocked = Want(), False
    return job


class Job:

    def __init__(self, dice, name, kind=None, lock=None, favourite=None):
        self.name = name
        self.what = kind or pick(dice, KINDS)
        self.lock = lock or dice.choice({"newest": NEWEST, "several": SEVERAL}.get(self.what, LOCKS))
        self.lease = dice.choice(SHORT_LEASES if dice.random() < 0.75 else LONG_LEASES)
        self.ms = min(400, int(dice.expovariate(1 / 60)))
        if dice.random() < 0.3:
            # long enough to lose the lock
            self.ms = min(6000, int(dice.uniform(0.3, 3) * self.lease))
        self.own = dice.choice([0, 0, 0, 1, 7])
        self.path = "proxy" if dice.random() < 0.3 else "direct"
        self.verbose = dice.random() < 0.5
        self.deaf = dice.random() < 0.25
        self.child = dice.random() < 0.25
        self.kill_after = dice.choice([None, None, None, 0, 200])
        self.wait = dice.randrange(50, 6000) if self.what == "wait" or dice.random() < 0.1 else None
        if self.what == "try":
            self.wait = 0
        self.most = dice.randrange(1, 8)
        self.turns = dice.randrange(1, 4)
        self.inner_ms = dice.randrange(0, 60)
        self.clocked = not self.is_script and dice.random() < 0.25
        self.periods = {period: dice.randrange(*ms) for period, (what, *ms) in PERIODS.items() if what == self.what}
        if self.what == "limited":
            self.ms = 3000
        if self.is_script:
            self.lease = max(2000, self.lease)
            self.ms = min(self.ms if self.what == "turns" else 5 * self.ms, self.lease // 4)
            self.own = 0
        self.want = Want() if self.what in ("newest", "several", "redisson") else Want.drawn(dice, self.lock, favourite)
        if not self.is_script and self.want.mode != "exclusive":
            self.ms = max(self.ms, min(1200, 3 * self.ms))  # others come meanwhile
        self.also = []  # other locks, in any order
        if self.what == "several":
            self.also = dice.sample([name for name in SEVERAL if name != self.lock], dice.randrange(1, 4))
        self.inner_want = Want.drawn(dice, self.inner) if self.what == "beside" and self.inner else self.want
        if self.what == "redisson":
            self.own, self.path, self.lease = 0, "direct", max(2000, self.lease)
            self.age = dice.choice(["old", "new"])

    def patient(self, ms):
        """Makes the job wait for ever, and hold long enough for the looker to see it. Returns it."""
        self.wait, self.own, self.path, self.ms = None, 0, "direct", ms
        return self

    @property
    def is_script(self):
        return self.what in SCRIPTS

    @property
    def inner(self):
        """The lock that COMMAND takes. All jobs go through the locks in one order, as wrap --also does, so that there
        is no deadlock."""
        if self.what == "again":
            return self.lock
        at = LOCKS.index(self.lock) + 1 if self.what == "beside" else len(LOCKS)
        return LOCKS[at] if at < len(LOCKS) else None

    def fields(self):
        """What the journal says of the job."""
        kinds = {"redisson": "redisson", "turns": "script", "keeper": "keeper", "exec": "keeper"}
        fields = {name: getattr(self, name) for name in ("lock", "lease", "path", "own", "wait", "also")}
        fields.update(self.periods, job=self.name, kind=kinds.get(self.what, "wrap"))
        fields.update(mode=self.want.mode, slots=self.want.slots, newest=self.what == "newest")
        if self.what == "crowd":
            fields["wait"] = 0  # may be refused at once
        if self.inner:
            fields.update(inner=[self.inner], inner_mode=self.inner_want.mode, inner_slots=self.inner_want.slots)
        return fields

    def waiting(self):
        """The options for waiting."""
        if self.what == "try":
            return ["-n"]
        options = [] if self.wait is None else ["-w", f"{self.wait}ms"]
        return options + (["--max-queue", str(self.most)] if self.what == "crowd" else [])

    def section(self, tools, lock, name, mode, ms, inner=()):
        words = [tools["SECTION"], "-k", mode, "-m", str(ms), "-x", "0" if inner else str(self.own)]
        flags = {"-a": self.also, "-t": self.deaf and not inner, "-d": self.child and self.inner is None}
        return [*words, *(flag for flag, is_on in flags.items() if is_on), tools["HISTORY"], lock, name, *inner]

    def argv(self, tools):
        """tools: the variables of all jobs"""
        if self.what == "redisson":
            wait = [PATIENCE_MS] if self.wait is None else [self.wait, self.wait]
            words = [self.age, self.ms, self.lease, *wait]
            return [sys.executable, "-SB", os.path.join(HERE, "rfairlock.py"), *map(str, words)]
        if self.is_script:
            words = [self.what, str(self.turns), str(self.ms), str(self.lease)]
            return [os.path.join(HERE, "script"), *words, *self.waiting(), *self.want.options]
        # a static program would keep the true clock
        wrap = [tools["DYNAMIC" if self.clocked else "FAIRLOCK"], "wrap", "-l", f"{self.lease}ms"]
        inner = ()
        if self.inner:
            # the status is that of the inner section
            inner = self.section(tools, self.inner, self.name + "/inner", self.inner_want.mode, self.inner_ms)
            inner = [*wrap, *self.inner_want.options, self.inner, *inner]
        options = [*self.waiting(), *self.want.options]
        for name, ms in {"kill_after": self.kill_after, **self.periods}.items():
            options += [] if ms is None else [f"--{name.replace('_', '-')}", f"{ms}ms"]
        options += ["--supersede"] * (self.what == "newest") + [word for lock in self.also for word in ("--also", lock)]
        section = self.section(tools, self.lock, self.name, self.want.mode, self.ms, inner)
        return [*wrap, *options, self.lock, *section]

    @property
    def environment(self):
        verbose = {"FAIRLOCK_VERBOSE": "yes"} if self.verbose else {}
        return {"LOCK": self.lock, "JOB": self.name, "MODE": self.want.mode, **verbose}
