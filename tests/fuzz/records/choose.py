"""Chooses the next step of a history at random: what clients do, what time does, and damages."""

OURS = ["anna", "ben", "cleo", "5c1f1e2a-2ab1-4c0e-9b0f-6d5f1a2b3c4d:17"]
REDISSONS = ["r1", "r2", "r3a0c1e2-2ab1-4c0e-9b0f-6d5f1a2b3c4d:1"]
LEASES = [3000, 30000, 30000, 30000, 86400000, 2592000000]
PERIODS = ["1000", "1000", "5000", "60000", "86400000", "ok1", "ok1000", "ok60000", "ok86400000"]
BYS = [None, None, "h\t1\tu\tmake -j 2 all", "", "-", " ", "h\t1\tu\tsh -c ' a  b '\twhy not", "1 2 3 - -", "h\t1\tu\tx\n y",
       "\xff\xfe\xc3\xa9", "held 1 2 3 4 5 6 - - - ,wanna, x"]
WANTS = ["x", "s", "s", "#1", "#2", "#3", "=a", "=b,a", "=1,2"]
CAUSES = [("", ""), ("0", "exit"), ("0", "exit"), ("0", "exit"), ("143", "TERM"), ("1", "max-hold"), ("", "lost")]
PAUSES = [10, 600, 2500, 5100, 11000, 16000, 31000, 601000, 90000000]

NUMBERS = ["", "-", "-1", "0", "1", "99999999999999999999", "9007199254740992", "9007199254740991", "1e3", "1e400", "0x10",
           "nan", "inf", "-inf", "1.5", "1-2", "--", "9" * 400]
WORDS = NUMBERS + ["\x00\xff", "a b", "\t", "\n", " ", "x" * 5000, ",", ",,", ",a", "held", "kept", "released", "taken", "counted",
                   "waits", "new", "dropped", "removed", "superseded", "gone", "ok", "ok1000", "ok-", "o5", "forced", "free", "given", "left", "w", "a", "h", ":", "1:exit", "é", "s", "x", "=", "=1", "=a",
                   "=a,b", "asked", "asked 1 2 x a", "#0", "#2", "#99999999", "fairlock:slots", "fairlock:shared"]
FIELDS = ["name", "v", "token", "ticket", "ours", "back", "run", "newest", "turn", "started", "done", "once", "head", "theirs", "tended", "holder",
          "n:granted", "n:expired", "n:forced", "n:lost", "s:1", "s:a", "a:anna", "a:ben"]
ODD_FIELDS = {"h:": "x", "w:": "x", "r:": "x", "": "x", "w:a b": "x", "\xff": "\xff"}
RECORDS = ["held 1700000000000 1700000000000 1700000030000 30000 0 - - - - x ,wben, by ben",
           "held 1700000000000 1700000000000 9900000030000 30000 0 - - - - =1 ,wben, by ben",
           "held 1700000000000 1700000000000 9900000030000 30000 0 - - - - s ,wben, by ben",
           "new 1700000000000000 1700000000000 30000 5ec w - x by ben", "new 1700000000000000 1700000000000 30000 5ec w - #2 by ben",
           "1700000000000 1 left ben", "1700000000000 0 forced anna x", "1700000000000 0 asked 1 - x anna", "stopper1 by x",
           "anna 1700000000000", "ben 1700000000000", "- - -", "superseded 1700000000000000 1700000000000 - - w - x by anna",
           "1700000000000 1700000000000", "1 99999999999999999999", "new 1700000000000000 1700000000000 30000 5ec w ok60000 x by ben"]


class Chooser:
    def __init__(self, random, world):
        self.random, self.world = random, world
        self.damages = False
        # Each history has few clients, and some words of a request often, others never.
        self.ours = random.sample(OURS, random.randint(2, len(OURS)))
        self.redissons = random.sample(REDISSONS, random.randint(1, len(REDISSONS)))
        self.factors = {}
        # In half of the histories somebody shares the lock.
        self.wants = random.sample(WANTS, random.randint(1, 3)) if self.maybe(60) else ["x"]
        # In a third of them, some ask with --supersede.
        self.newest = random.sample(self.ours, random.randint(2, len(self.ours))) if self.maybe(35) else []
        self.opening = self.crowd() if self.maybe(3) else []

    def one(self, choices):
        return self.random.choice(choices)

    def maybe(self, percent):
        return self.random.random() * 100 < percent

    def known_id(self):
        """Somebody in the lock or the queue, more often than others."""
        look = self.world.look
        some = ([look.owner] if look.owner else []) + list(look.holders) + look.list
        return self.one(some) if some and self.maybe(70) else self.one(self.ours)

    def steps(self):
        """The next steps."""
        if self.opening:
            opening, self.opening = self.opening, []
            return opening
        if self.damages and self.maybe(25):
            return [self.damage()]
        chosen = self.random.choices(
            [self.acquire, self.come_in, self.renew, self.give_back, self.break_lock, self.stop, self.forget, self.leave,
             self.remove, self.show, self.listen, self.pause, self.redisson, self.delete],
            [20, 12, 14, 20, 3, 5, 2, 4, 3, 8, 10, 10, 10, 2])[0]()
        for step in chosen:
            if step[0] == "acquire" and step[1] in self.newest:
                step[2].update(newest=True, age=self.one([0, 0, 1, 100, 5000, 100000]))  # in all of its requests
        return chosen

    def crowd(self):
        """A queue that is too long for the scripts to look through."""
        crowd = ["w%d" % i for i in range(20)]
        return [["acquire", "anna", {}]] + [step for who in crowd for step in (
            ["present", who], ["acquire", who, {"secret": True, "lease": self.one(LEASES)}])]

    def extra(self, options, **more):
        """Some words of a request, each seldom."""
        for name, (percent, choices) in more.items():
            factor = self.factors.setdefault(name, self.one([0, 1, 1, 4]))
            if self.maybe(min(80, percent * factor)):
                options[name] = self.one(choices)
        if self.maybe(50):
            options["compare"] = True
        return options

    def acquire(self):
        who = self.one(self.ours)
        options = self.extra({"asks": who in self.world.tickets and self.maybe(90), "secret": self.maybe(80)},
                             again=(8, [True]), kind=(30, ["a", "h", "v"]), lease=(30, LEASES), mode=(12, ["try"]), limit=(8, [0, 1, 3]),
                             by=(50, BYS[2:]), period=(25, PERIODS), strays=(8, [1, 1, -1]), request=(4, [who + "2"]))
        options["want"] = self.one(self.wants)
        if options.get("request"):
            options["secret"] = False
        if options.get("mode"):
            options["asks"] = options["again"] = False  # such a client never queues
        present = [["present", who]] if options["secret"] and self.maybe(85) else []
        return present + [["acquire", who, options]]

    def come_in(self):
        """Another process of the holder goes in again, or a free lock is taken."""
        look = self.world.look
        owner = self.one(list(look.holders)) if look.holders else look.owner
        if owner is None:
            return [["acquire", self.one(self.ours), self.extra({"want": self.one(self.wants)}, kind=(30, ["a", "h"]), by=(50, BYS[2:]))]]
        request = self.one([owner + "2", owner + "3", owner])
        return [["acquire", self.one([owner, request]), {"request": request, "kind": self.one("wvah"), "inherited": [owner],
                                                         "again": self.maybe(10), "lease": self.one(LEASES),
                                                         "want": self.one(self.wants)}]]

    def renew(self):
        who = self.known_id()
        options = self.extra({}, kind=(30, ["a", "", "v"]), lease=(40, LEASES + [""]), strays=(6, [1, -1]),
                             token=(10, [False]), request=(15, [who + "2", "renewer"]), period=(10, PERIODS), by=(20, BYS[2:]))
        if "kind" not in options and self.maybe(20):
            options["start"] = "1"
        return [["renew", who, options]]

    def give_back(self):
        who = self.known_id()
        options = self.extra({}, mode=(25, ["any", "unused", "any"]), again=(8, [True]), min=(20, [0, 5000, 60000, 172800000]),
                             strays=(6, [1, -1]), request=(15, [who + "2", who + "3", "releaser"]))
        if self.maybe(50):
            options["status"], options["cause"] = self.one(CAUSES)
        return [["release", who, options]]

    def break_lock(self):
        return [["release", self.one(self.ours), {"mode": "force", "request": self.one(["forcer1", "forcer2", "anna"]),
                                             "token": self.maybe(30),
                                             "only": self.one(["", "", self.known_id(), "=1", "=a"])}]]

    def stop(self):
        number = self.random.randint(1, 6)
        return [["release", self.one(self.ours), {"mode": "stop", "request": "stopper%d" % number, "by": "by stopper%d" % number,
                                                  "again_with_list": self.maybe(50), "strays": self.one([0, 0, 0, 1, -1]),
                                                  "only": self.one(["", "", self.known_id(), "=1", "=a"])}]]

    def forget(self):
        return [["release", "", {"mode": "forget", "request": self.one(["forgetter1", "forgetter2"]),
                                 "strays": self.one([0, 0, 1, -1])}]]

    def leave(self):
        return [["leave", self.known_id(), {"strays": self.one([0, 0, 0, 1, -1])}]]

    def remove(self):
        return [["leave", self.known_id(), {"request": self.one(["remover1", "remover2"]), "mode": "remove"}]]

    def show(self):
        return [["show", self.known_id()]]

    def listen(self):
        return [[self.one(["present", "present", "absent"]), self.known_id()]]

    def pause(self):
        return [["later", self.one(PAUSES) if self.maybe(93) else -self.one([1000, 5000, 100000])]]

    def redisson(self):
        who = self.one(self.redissons)
        return [self.one([["redisson_asks", who, self.one([1000, 300000, 3600000])]] * 4 + [
            ["redisson_gives_up", who, self.one([1000, 300000])], ["redisson_sweeps", self.one([0, 0, 400000])],
            ["present", who], ["absent", who]])]

    def delete(self):
        """Somebody forces the lock open, or the server loses all that it knows, and the holder comes back."""
        who = self.known_id()
        return self.one([[["delete", self.one([0, 0, 3, 4, 5])]],
                         [["delete", key] for key in [0, 1, 2, 3, 5] + self.one([[], [4]])] +
                         [["renew", one, {}] for one in list(self.world.look.holders)[:3]] + [["renew", who, {}]]])

    def damage(self):
        look = self.world.look
        fields = list(look.hash)
        if fields and self.maybe(60):
            # the records of the present holder and waiters, more often than others
            current = [field for field in fields if field[:2] in ("h:", "w:") and
                       field[2:] in [look.owner] + list(look.holders) + look.list]
            fields += [field for field in fields if field[:2] in ("h:", "w:", "r:", "a:")] * 2
            field = self.one(current if current and self.maybe(40) else fields)
            return self.random.choices(
                [["column", field, self.random.randrange(13), self.one(WORDS if self.maybe(40) else NUMBERS)],
                 ["column", field, self.random.randrange(13), None], ["cut", field, self.random.randrange(len(look.hash[field]) + 1)],
                 ["swap", field, self.one(fields)], ["drop", field], ["field", field, self.one(WORDS + RECORDS)]],
                [60, 6, 6, 8, 8, 12])[0]
        who = self.one(OURS + REDISSONS + ["nemo", "a b", "", "\xff", "x" * 3000] + look.list)
        odd = self.one(list(ODD_FIELDS))
        return self.random.choices(
            [["field", odd, ODD_FIELDS[odd]], ["field", self.one(FIELDS), self.one(WORDS + RECORDS)],
             ["field", self.one(["h:", "w:", "r:"]) + self.one(OURS), self.one(WORDS + RECORDS)], ["count", self.one(NUMBERS)],
             ["persist", self.one([0, 3, 4, 5])], ["push", who], ["unlist", who],
             ["score", who, self.one(["inf", "-inf", "0", "1e300", "-1", "1.5", "1800000000000"])], ["unscore", who],
             ["type", self.random.randrange(6), self.one(["string", "hash", "set", "list", "zset"])],
             ["hold", self.one([who, self.known_id()]), self.one(["inf", "-inf", "0", "1e300", "1.5", "1800000000000"])],
             ["unhold", self.known_id()]],
            [10, 16, 16, 5, 4, 10, 6, 8, 6, 2, 6, 4])[0]
