"""Chooses the next step of a walk at random. Each walk has few clients and few of all faults, so that these meet."""

import damage

LEASES = [3000, 30000, 30000, 30000, 300000]
RUNS = [0, 50, 500, 2000, 9000, 40000]
PAUSES = [0, 1, 20, 60, 400, 1100, 2100, 5100, 5100, 11000, 16000, 31000, 70000]
WANTS = ["x", "s", "s", "#1", "#2", "#3", "=a", "=b,a", "=1,2"]
PERIODS = ["5000", "60000", "60000", "ok5000", "ok60000", "ok60000"]
ENDS = [["0", "exit"], ["0", "exit"], ["1", "exit"], ["143", "TERM"], ["unused"], ["", "lost"]]
PATIENCE = [1000, 5000, 300000, 300000, 300000, 3600000]
DELAYS = [0, 0, 0, 1, 5, 30, 400]
CROWD = 25


class Chance:
    def __init__(self, random):
        self.random = random
        maybe = self.maybe
        self.most = self.one([2, 3, 3, 4, 5, 6])
        self.wants = random.sample(WANTS, random.randint(1, 3)) + ["x"] if maybe(45) else ["x"]
        self.periods = random.sample(PERIODS, 2) if maybe(20) else []
        self.newest = maybe(15) and self.wants == ["x"]  # --supersede goes with neither --slots nor --shared
        self.delays = [0] if maybe(40) else DELAYS
        self.leases = random.sample(LEASES, 2)
        self.kinds = ["w"] if maybe(50) else ["w", "w", "w", "a", "a", "h", "v"]
        self.damages = maybe(25)
        self.crowd = CROWD if maybe(4) else 0
        self.redissons = random.randint(1, 3) if maybe(45) else 0
        self.ages = self.one([["new"], ["new", "old"], ["old"]])
        weights, self.pauses = {"start": 18, "wait": 26, "end": 8}, PAUSES
        self.calm = maybe(20)  # many beside Redisson, and nothing fails: so all is in time
        if self.calm:
            self.most, self.redissons, self.damages, self.delays, self.pauses = 6, 3, False, [0], PAUSES[:8]
        for name, percent, weight in (
                ("inner", 25, 5), ("quit", 40, 4), ("kill", 55, 4), ("hang", 45, 5), ("cut", 55, 7), ("any", 30, 3), ("force", 30, 3),
                ("remove", 25, 3), ("forget", 10, 2), ("stop", 25, 3), ("show", 30, 2), ("lose", 30, 3), ("restart", 25, 2),
                ("clock", 8, 2), ("stall", 15, 2), ("memory", 8, 2)):
            if maybe(80 * (name in ("quit", "remove", "cut")) if self.calm else percent):
                weights[name] = weight
        if self.redissons:
            weights["redisson"] = 14
        if "cut" in weights or "kill" in weights:
            weights["late"] = 6
        if "hang" in weights:
            weights["wake"] = 7
        if "restart" in weights:
            weights["copy"] = 2
        if self.damages:
            weights["damage"] = 25
        if self.calm:
            weights.update({name: 10 for name in ("quit", "cut") if name in weights})
        self.names, self.weights, self.count = list(weights), list(weights.values()), 0

    def one(self, choices):
        return self.random.choice(choices)

    def maybe(self, percent):
        return self.random.random() * 100 < percent

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}:1"

    def somebody(self, world, *states, ours=True):
        found = [client.id for client in world.clients.values()
                 if client.alive and client.state in states and (client.ours or not ours)]
        return self.one(found) if found else "nobody"

    def steps(self, world):
        """The next steps."""
        if self.crowd and self.count == 0:
            holder = self.name("c")
            return [["start", holder, {"runs": 9000}]] + [["start", self.name("c"), self.options()] for _ in range(self.crowd)]
        name = self.random.choices(self.names, self.weights)[0]
        step = MAKERS[name](self, world)
        return [step] if step else []

    # Clients

    def options(self):
        options = {"runs": self.one(RUNS), "delay": self.one(self.delays), "want": self.one(self.wants), "kind": self.one(self.kinds),
                   "lease": self.one(self.leases)}
        if options["kind"] in "ah" and self.maybe(20):
            options["mute"] = True
        for name, percent, choices in (("end", 40, ENDS), ("tries", 8, [True]), ("wait", 15, [0, 100, 3000, 20000]), ("limit", 5, [0, 1, 3]),
                                       ("min_hold", 6, [100, 5000, 60000])):
            if self.maybe(percent) and (name not in ("end", "min_hold") or options["kind"] == "w"):
                options[name] = self.one(choices)
        if self.periods and options["kind"] == "w" and self.maybe(60):
            options["period"] = self.one(self.periods)
        if self.newest and options["kind"] == "w" and not options.get("tries") and self.maybe(60):
            options.update(newest=True, age=self.one([0, 0, 100, 5000]))
        if "period" in options:
            options.pop("tries", None)
        return options

    def start(self, world):
        busy = sum(client.ours and client.is_busy() for client in world.clients.values())
        if busy < self.most or self.maybe(10):
            return ["start", self.name("c"), self.options()]
        return None

    def redisson(self, world):
        theirs = [client.id for client in world.clients.values() if not client.ours and client.is_busy()]
        if len(theirs) < self.redissons or self.maybe(10):
            options = {"age": self.one(self.ages), "runs": self.one(RUNS), "delay": self.one(self.delays), "patience": self.one(PATIENCE)}
            if self.maybe(20):
                options["wait"] = options["patience"] = self.one([1000, 5000, 300000])
            if self.maybe(8):
                options["tries"] = True
            if self.maybe(4):
                options["ahead"] = self.one([-2000, 2000, 400000])
            return ["redisson", self.name("r"), options]
        if self.calm:
            return None
        who = self.one(theirs)
        return self.one([["break", who], ["kill", who, True], ["hang", who], ["wake", who]])

    def wake(self, world):
        hung = [client.id for client in world.clients.values() if client.alive and not client.awake]
        return ["wake", self.one(hung)] if hung else None


# Makes the step of this name, for the Chance `c` and the world `w`; None: there is none now.
MAKERS = {
    "start": Chance.start,
    "inner": lambda c, w: ["inner", c.name("i"), c.somebody(w, "holds"), {**c.options(), "period": "", "newest": False}],
    "redisson": Chance.redisson,
    "wait": lambda c, w: ["wait", c.one(c.pauses)],
    "end": lambda c, w: ["end", c.somebody(w, "holds", ours=False)],
    "quit": lambda c, w: ["quit", c.somebody(w, "waits")],
    "kill": lambda c, w: ["kill", c.somebody(w, "waits", "holds", "releases"), c.maybe(50)],
    "hang": lambda c, w: ["hang", c.somebody(w, "waits", "waits", "holds")],
    "wake": Chance.wake,
    "cut": lambda c, w: ["cut", c.somebody(w, "waits", "holds", "releases", "leaves"), c.maybe(70), c.maybe(50),
                         c.one([0, 5, 200, 1300, 6000])],
    "late": lambda c, w: ["late", c.random.randrange(100)] if w.limbo else None,
    # what is done to others
    "any": lambda c, w: ["any", c.name("x"), c.somebody(w, "holds")],
    "force": lambda c, w: ["force", c.name("x"), c.one(["", c.somebody(w, "holds", ours=False)]), c.maybe(40)],
    "remove": lambda c, w: ["remove", c.name("x"), c.somebody(w, "waits")],
    "forget": lambda c, w: ["forget", c.name("x")],
    "stop": lambda c, w: ["stop", c.name("s"), c.one(["", "", c.somebody(w, "holds")])],
    "show": lambda c, w: ["show"],
    # the server
    "lose": lambda c, w: ["lose", c.one([-1, -1, 0, 1, 2, 3, 4, 5, 6])],
    "restart": lambda c, w: ["restart", c.one(["kept", "kept", "lost", "old"])],
    "copy": lambda c, w: ["copy"],
    "clock": lambda c, w: ["clock", c.one([-100000, -1000, 1000, 5000, 100000])],
    "stall": lambda c, w: ["stall", c.one([500, 3000, 16000, 40000])],
    "memory": lambda c, w: ["memory", not w.memory_full],
    "damage": lambda c, w: ["damage", *damage.choose(
        c.random, w.look, [client.id for client in w.clients.values() if client.is_busy()] or ["nobody"])],
}
