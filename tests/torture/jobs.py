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
# Locks with few jobs, in rounds in which the server is always there.
DRIFTING = ["drifting", "drifting slot"]
# The number of waiters that hang, and what they want: some slots, or the lock alone between readers.
HUNG = ["hung 2", "hung 3", "hung 4", "hung 3 slots", "hung 1 writer"]
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
# Options of wrap with a time, by the name that the checker knows.
PERIODS = {"max_hold": "--max-hold", "min_hold": "--min-hold", "once_per": "--once-per", "once_ok": "--once-ok"}
# For a calm round: all of them wait for ever.
CALM_KINDS = {"plain": 14, "several": 2, "redisson": 1}


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

    def fits_into(self, outer):
        """Whether a job that holds the lock with this other want may go in again with this one. None: that depends on
        the slot that it holds."""
        if outer.mode == "exclusive":
            return True
        if self.mode != outer.mode or not set(outer.slots) & set(self.slots):
            return self.mode == outer.mode == "shared"
        return True if set(outer.slots) <= set(self.slots) else None


class Plan:
    """Draws the same n-th job in each run of a seed, whatever happened to the jobs before it."""

    def __init__(self, seed, calm):
        self.seed, self.calm = seed, calm
        self.count = 0

    def next(self):
        self.count += 1
        dice = random.Random(f"{self.seed} job {self.count}")
        favourite = FAVOURITES[(self.seed + self.count // FAVOURED) % len(FAVOURITES)]
        job = Job(dice, f"j{self.count}", pick(dice, CALM_KINDS) if self.calm else None, favourite=favourite)
        if self.calm:
            job.patiently(dice)
        return job


def drifts(number, name, lock, slot, what="plain"):
    job = Job(random.Random(number), name, what, lock)
    job.patiently(random.Random(number))
    job.clocked = False
    if lock.endswith("slot"):
        job.want = Want("slots", [slot])
    return job


def cut_off(lock):
    """Holders of the lock, the first of which is cut off for longer than its lease."""
    job = drifts("cut off", f"cut off {lock}", lock, "a")
    job.lease, job.ms, job.path, job.deaf = 30000, 60000, "proxy", True
    if not lock.endswith("slot"):
        return [job]
    other = drifts("stays", f"stays {lock}", lock, "b")
    other.ms = 35000
    return [job, other]


def behind_hung(lock):
    """A holder, waiters that will hang, and one that lives."""
    count, what = int(lock.split()[1]), lock.split()[2:]
    jobs = []
    for number in range(count + 2):
        name = f"{lock.replace(' ', '')}.{number}"
        job = Job(random.Random(name), name, "plain", lock)
        job.patiently(random.Random(name))
        job.ms, job.clocked = 3000 if number == 0 else 100, False
        if what == ["slots"] and number > 0:
            job.want = Want("slots", ["1", "2"])
        elif what == ["writer"] and number in (0, count + 1):
            job.want = Want("shared")
        jobs.append(job)
    return jobs


def newcomer(number, lock):
    """A job that takes the lock, or its slot, only if the lease is over at that moment."""
    job = drifts(number, f"newcomer{number} {lock}", lock, "a", "try")
    job.wait, job.ms = 0, 100
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
        self.max_hold = None
        if self.what == "limited":
            self.ms, self.max_hold = 3000, dice.randrange(50, 300)
        self.min_hold = dice.randrange(100, 900) if self.what == "keeps" else None
        self.once_per = dice.randrange(500, 3000) if self.what == "once" else None
        self.once_ok = dice.randrange(500, 3000) if self.what == "done" else None
        if self.is_script:
            self.lease = max(2000, self.lease)
            self.ms = min(self.ms if self.what == "turns" else 5 * self.ms, self.lease // 4)
            self.own = 0
        self.want = Want.drawn(dice, self.lock, favourite)
        if self.what == "newest":
            self.want = Want()
        if not self.is_script and self.want.mode != "exclusive":
            self.ms = max(self.ms, min(1200, 3 * self.ms))  # others come meanwhile
        self.also = []  # other locks, in any order
        if self.what == "several":
            self.also = dice.sample([name for name in SEVERAL if name != self.lock], dice.randrange(1, 4))
            self.want = Want()
        self.inner_want = self.want
        if self.what == "beside" and self.inner or self.what == "again" and dice.random() < 0.4:
            self.inner_want = Want.drawn(dice, self.inner)
        while self.what == "again" and self.inner_want.fits_into(self.want) is None:
            self.inner_want = Want.drawn(dice, self.lock)
        if self.is_misfit:
            self.own = 64
        if self.what == "redisson":
            self.want, self.own, self.path, self.lease = Want(), 0, "direct", max(2000, self.lease)
            self.age = dice.choice(["old", "new"])

    def patiently(self, dice):
        """Makes the job wait for ever, and hold long enough for the looker to see it."""
        self.wait, self.own, self.path = None, 0, "direct"
        self.ms = dice.randrange(50, 1200)

    @property
    def is_script(self):
        return self.what in ("turns", "keeper", "exec")

    @property
    def kind(self):
        """The checker's name for it."""
        if self.what == "redisson":
            return self.what
        return "script" if self.what == "turns" else "keeper" if self.is_script else "wrap"

    @property
    def is_misfit(self):
        """Whether the inner wrap wants the same lock in a way that does not fit: then it ends with 64."""
        return self.what == "again" and not self.inner_want.fits_into(self.want)

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
        fields = {name: getattr(self, name) for name in ("lock", "lease", "path", "own", "kind", "wait", "also", *PERIODS)}
        fields.update(job=self.name, told=self.what, mode=self.want.mode, slots=self.want.slots)
        fields.update(newest=self.what == "newest", clocked=self.clocked)
        if self.what == "crowd":
            fields["wait"] = 0  # may be refused at once
        if self.inner:
            fields.update(inner=[self.inner], inner_mode=self.inner_want.mode, inner_slots=self.inner_want.slots)
            fields["misfit"] = self.is_misfit
        return fields

    def waiting(self):
        """The options for waiting."""
        if self.what == "try":
            return ["-n"]
        options = [] if self.wait is None else ["-w", f"{self.wait}ms"]
        return options + (["--max-queue", str(self.most)] if self.what == "crowd" else [])

    def fairlock(self, tools):
        """The program: a static one would keep the true clock."""
        return tools.shared if self.clocked else tools.fairlock

    def section(self, tools, lock, name, mode, ms, inner=()):
        argv = [tools.section, "-k", mode, "-m", str(ms), "-x", str(self.own if not inner else 0)]
        if self.also:
            argv.append("-a")
        if self.deaf and not inner:
            argv.append("-t")
        if self.child and not inner and self.inner is None:
            argv.append("-d")
        return [*argv, tools.history, lock, name, *inner]

    def argv(self, tools):
        if self.what == "redisson":
            words = [self.age, self.ms, self.lease, PATIENCE_MS if self.wait is None else self.wait]
            words += [] if self.wait is None else [self.wait]
            return [sys.executable, "-S", os.path.join(HERE, "rfairlock.py"), *map(str, words)]
        if self.is_script:
            words = [tools.script, self.what, str(self.turns), str(self.ms), str(self.lease)]
            return [*words, *self.waiting(), *self.want.options]
        inner = ()
        if self.inner:
            # the status is that of the inner section
            section = self.section(tools, self.inner, self.name + "/inner", self.inner_want.mode, self.inner_ms)
            inner = [self.fairlock(tools), "wrap", "-l", f"{self.lease}ms", *self.inner_want.options, self.inner, *section]
        options = ["-l", f"{self.lease}ms", *self.waiting(), *self.want.options]
        for name, option in {"kill_after": "-k", **PERIODS}.items():
            if getattr(self, name) is not None:
                options += [option, f"{getattr(self, name)}ms"]
        if self.what == "newest":
            options.append("--supersede")
        for lock in self.also:
            options += ["--also", lock]
        section = self.section(tools, self.lock, self.name, self.want.mode, self.ms, inner)
        return [self.fairlock(tools), "wrap", *options, self.lock, *section]

    def environment(self, tools, clock=None):
        variables = dict(
            os.environ,
            **tools.variables,
            **(clock.environment() if clock else {}),
            FAIRLOCK_URL=tools.urls[self.path],
            HOME=tools.folder,
            LOCK=self.lock,
            JOB=self.name,
            MODE=self.want.mode,
            HISTORY=tools.history,
            FAIRLOCK=tools.fairlock,
            SECTION=tools.section,
        )
        if self.verbose:
            variables["FAIRLOCK_VERBOSE"] = "yes"
        return variables
