"""A process of fairlock as the server meets it: what it sends, and when; what it makes of answers and messages; how long it
counts on its lease. It follows src/lock, in a time that the world moves."""

import protocol

NEVER = 1 << 60
EARLY_RENEW_MS = 50  # of a lock that was handed over
LISTEN_MS = 20  # the first waiter asks once more, and listens for others
LEAVE_MS = 2000
CLOCK_SLACK_MS = 20
SEEN_MS = 14000  # one that has shown no sign of life for longer may be passed over


class Request:
    """under way: not answered. words: as they leave, so a copy that comes late is the same."""

    def __init__(self, client, name, words, sent, arrives):
        self.client, self.name, self.words, self.sent, self.arrives = client, name, words, sent, arrives
        self.answer, self.heard, self.number = None, NEVER, -1  # number: of requests until then, when it was carried out


class Party:
    """Whoever sends requests. What promises.py asks of each is here, as that of a client of Redisson's."""

    ours, place, newest, kind, inherited, period, gone = False, None, False, "", (), "", None
    joined, confirmed, arrived, gave_up_at = -1, -1, NEVER, -1
    displaced, was_away, broken, is_awaited, ended = False, False, False, False, None
    alive, awake, connected = True, True, True

    def is_busy(self):
        return self.alive and self.state != "over"

    def wake(self):
        self.awake, self.joined = True, -1


class Client(Party):
    ours = True

    def __init__(self, world, id, **options):
        self.world, self.id, self.owner, self.now = world, id, id, world.ms()
        get = options.get
        self.kind, self.lease, self.want, self.tries = get("kind", "w"), get("lease", 30000), get("want", "x"), get("tries", False)
        self.limit, self.period, self.newest, self.age = get("limit", ""), get("period", ""), get("newest", False), get("age", 0)
        self.min_hold, self.runs, self.delay = get("min_hold", ""), get("runs", 1000), get("delay", 0)
        self.inherited, self.mute = list(get("inherited", [])), get("mute", False)
        self.end = get("end", ["0", "exit"])  # how COMMAND ends: status and cause; or ['unused']
        self.by = f"host\t1\tuser\t{id}"
        self.began = self.now
        self.gives_up = self.now + get("wait", NEVER)
        self.ticket, self.since, self.strays, self.secret, self.token, self.mode = "", "", 0, "", "", "x"
        self.starts, self.late_grants, self.questions = False, 0, 0
        self.alive, self.awake, self.connected, self.fresh = True, True, False, False
        self.state = "new"  # waits, holds, releases, leaves, over
        self.request, self.told, self.asks = None, [], []
        self.ask_at, self.watch_at, self.back_at = NEVER, NEVER, self.now
        self.renew_at, self.ends_at, self.deadline, self.leave_until = NEVER, NEVER, 0, NEVER
        self.hears_outsiders, self.repeats = False, None
        self.channels, self.why = set(), ""
        # what promises.py knows of it: its ticket, when it came, when it asked last, when the server confirmed its hold ...
        self.arrived, self.seen, self.ready_since, self.first_asked = None, 0, 0, None
        self.confirmed, self.is_repeating = -1, False

    # Events

    def due(self):
        request = self.request
        if not self.alive:
            return NEVER
        times = [request.arrives] if request and request.answer is None and self.connected else []
        if self.awake and self.state != "over":
            if not self.connected:
                times.append(self.back_at)
            elif request:
                times += [request.heard] + [told[0] for told in self.told[:1]]
            elif self.state in ("waits", "holds"):
                times += [told[0] for told in self.told[:1]]
            if self.state == "waits":
                times.append(self.gives_up)
                if self.connected and not request:
                    times += [self.ask_at, self.watch_at]
            elif self.state == "holds":
                times.append(self.deadline)
                if not request and self.connected:
                    times += [self.renew_at, self.ends_at]
            elif self.state == "leaves":
                times.append(self.leave_until)
        return min(times, default=NEVER)

    def step(self):
        now = self.now = self.world.ms()
        request = self.request
        if request and request.answer is None and self.connected and request.arrives <= now:
            self.world.run(request)
            if request.heard <= now and self.awake:
                self.answered()
        elif not self.awake:
            return
        elif not self.connected and self.back_at <= now:
            self.connect()
        elif self.state == "holds" and self.deadline <= now:
            self.over("its lease has passed", False)
        elif request and request.heard <= now:
            self.answered()
        elif self.told and self.told[0][0] <= now and self.connected:
            self.heard(*self.told.pop(0)[1:])
        elif self.state == "waits" and self.gives_up <= now:
            self.leave()
        elif self.state == "leaves" and self.leave_until <= now:
            self.over("it has left", False)
        elif request or not self.connected:
            return
        elif self.state == "waits" and min(self.ask_at, self.watch_at) <= now:
            self.ask()
        elif self.state == "holds" and self.ends_at <= now:
            self.finish()
        elif self.state == "holds" and self.renew_at <= now:
            self.renew()

    # The connection

    def connect(self):
        self.connected = True
        self.world.listen(self, self.owner if self.state == "holds" else self.id)
        if self.state == "new":
            self.state = "waits"
            self.ask()
        elif self.repeats:
            name, self.repeats = self.repeats, None
            self.send(name, True)
        elif self.state == "waits":
            self.fresh = True
            self.ask()
        elif self.state == "holds":
            self.renew()
        elif self.state == "releases":
            self.send("release", True)
        else:
            self.send("leave", True)

    def cut(self, noticed, lost, back_ms):
        """The connection is gone. What was under way may still come to the server, late, if it is not lost."""
        if not self.connected:
            return
        self.connected, self.told, self.back_at = False, [], self.world.ms() + back_ms
        self.joined = -1
        if noticed:
            self.world.hush(self)
        self.give_up_request(lost)

    def give_up_request(self, lost):
        request, self.request = self.request, None
        if request:
            self.strays += 1
            self.repeats = request.name
            if request.answer is None and not lost:
                self.world.limbo.append(request)

    def restarted(self, back_ms):
        """The server is another process."""
        if self.alive and self.state not in ("over", "new"):
            self.cut(True, True, back_ms)

    def kill(self, lost):
        self.world.hush(self)
        if self.request and self.request.answer is None and not lost:
            self.world.limbo.append(self.request)
        self.alive, self.connected, self.request = False, False, None

    def over(self, why, is_answered=True):
        self.world.hush(self)
        self.state, self.why, self.request, self.told, self.connected, self.back_at = "over", why, None, [], False, NEVER
        if is_answered:
            self.ended = self.number

    # Requests

    def send(self, name, again=False):
        self.now = self.world.ms()
        if name == "ask":
            if not again and not self.mute:
                self.questions += 1
                self.secret = f"{int.from_bytes(self.id.encode()[:4], 'big'):08x}{self.questions:08x}"
            self.is_repeating = again or self.fresh
            words = protocol.acquire(self, self.is_repeating)
        elif name == "renew":
            words = protocol.renew(self)
        elif name == "release":
            words = protocol.release(self, again, self.end == ["unused"], *(self.end if len(self.end) > 1 else ("", "")))
        else:
            words = protocol.leave(self)
        self.request = Request(self, name, words, self.now, self.now + self.delay)
        if self.delay == 0 and self.connected:
            self.step()

    def pace(self):
        """A message makes it ask, but ten times a second at most."""
        return max(self.now, self.asks[-10] + 1000 if len(self.asks) >= 10 else 0)

    def ask(self):
        self.ask_at = self.watch_at = NEVER
        self.asks = self.asks[-9:] + [self.now]
        self.send("ask")

    def renew(self):
        self.renew_at = NEVER
        self.asks = self.asks[-9:] + [self.now]
        self.send("renew")

    def leave(self):
        self.give_up_request(False)
        self.repeats = None
        self.state, self.leave_until = "leaves", self.now + LEAVE_MS
        if self.connected:
            self.send("leave")

    def finish(self):
        """COMMAND is to begin, or has ended."""
        if self.kind == "v":
            self.starts, self.ends_at = True, NEVER
            self.renew()
        else:
            self.state = "releases"
            self.send("release")

    # Answers

    def answered(self):
        request, self.request = self.request, None
        self.now, self.fresh, self.number = self.world.ms(), False, request.number
        getattr(self, "after_" + request.name)(request, request.answer)

    def after_ask(self, request, answer):
        what = answer["is"]
        if what == "granted":
            self.owner, self.token, self.mode = answer["owner"], answer["token"], answer["mode"]
            self.confirmed = request.number
            deadline = request.sent + answer["ttl"]
            if deadline - self.now <= answer["ttl"] * 3 // 5:
                self.late_grants += 1
                self.leave() if self.late_grants == 3 else self.ask()
                return
            self.hold(deadline, request.sent + self.lease // 3)
        elif what == "queued":
            self.ticket = answer["ticket"]
            if self.newest and not self.since:
                self.since = str(answer["now"] - (request.sent - self.began) - self.age)
            self.heard_at, self.server_at = request.sent, answer["now"]
            self.ask_at = self.now + answer["ask_in"]
            if protocol.listens_too(self, answer):
                self.ask()
        elif what == "OOM":
            self.fresh, self.ask_at = True, self.now + 1000
        else:
            self.over(what)

    def hold(self, deadline, renew_at):
        self.state, self.deadline, self.renew_at = "holds", deadline, renew_at
        self.ends_at = self.now + self.runs
        if self.kind == "h":
            self.world.hush(self)  # the process ends; nobody renews
            self.connected, self.told, self.renew_at, self.ends_at, self.back_at = False, [], NEVER, NEVER, NEVER
        elif self.owner != self.id:
            self.world.hush(self)
            self.world.listen(self, self.owner)
        self.world.say(f"{self.id} counts on {self.owner}, {self.mode}, token {self.token}, until {deadline}")

    def after_renew(self, request, answer):
        what = answer["is"]
        if what == "renewed":
            if (answer["taken_up"] == 1 or self.strays) and self.now >= self.deadline:
                self.over("it was taken up too late", False)
                return
            self.deadline, self.renew_at = request.sent + answer["ttl"], request.sent + self.lease // 3
            self.confirmed = request.number
            if self.starts or self.kind == "v":
                self.token = str(max(int(self.token), int(answer["token"])))
            if self.starts:
                self.starts, self.kind, self.ends_at = False, "w", self.now + self.runs
            if answer["by"] and self.state == "holds":
                self.end, self.ends_at = ["143", "asked"], min(self.ends_at, self.now + 200)
                if self.kind == "v":
                    self.kind, self.end = "w", ["unused"]
        elif what == "OOM":
            self.renew_at = self.now + self.lease // 20
        elif self.state == "holds":
            self.over(what)

    def after_release(self, request, answer):
        self.over(answer["is"])

    def after_leave(self, request, answer):
        self.over("it has left")

    # Messages

    def heard(self, text, number):
        found = protocol.message(text)
        if self.state == "holds":
            if not self.request:
                self.renew_at = min(self.renew_at, self.pace())
            return
        if self.state != "waits":
            return
        if self.request is None and found and self.accepts(found):
            self.confirmed = number
            return
        in_ms = 0
        if found and "first" in found:
            in_ms = int(found["first"]) + 1
            if not self.hears_outsiders:
                self.hears_outsiders, in_ms = True, min(in_ms, LISTEN_MS)
        elif found and "second" in found:
            in_ms = int(found["second"])
        if self.request is None and self.watch_at > self.pace():
            self.watch_at = max(self.now + in_ms, self.pace())

    def accepts(self, found):
        """The message hands the lock over."""
        if "secret" not in found or self.kind not in "wv" or found["secret"] != self.secret or not self.ticket:
            return False
        ttl, waited = int(found["ttl"]), self.now - self.heard_at
        since = int(found["at"]) - self.server_at
        if since > waited + CLOCK_SLACK_MS + waited // 1000 or ("slot" in found) != (self.want[0] in "#="):
            return False
        since = self.heard_at + max(0, min(since, waited))
        if ttl == 0 or ttl > self.lease or self.now - since > ttl // 10:
            return False
        self.token, self.owner = found["token"], self.id
        self.mode = "=" + found["slot"] if "slot" in found else self.want
        self.hold(since + ttl, self.now + EARLY_RENEW_MS)
        return True

    # For the checks

    def counts(self, now):
        """It believes that it holds the lock."""
        return self.alive and self.state == "holds" and now < self.deadline

    def is_ready(self, promises):
        """It waits, and nothing excuses that somebody goes before it."""
        return (self.alive and self.awake and self.connected and self.state == "waits" and self.place is not None and
                self.joined > promises.disturbed and not self.gone and self.world.ms() - self.seen < SEEN_MS)

    def is_busy(self):
        return self.alive and self.state != "over" and not (self.state == "holds" and not self.connected and
                                                            self.world.ms() >= self.deadline)
