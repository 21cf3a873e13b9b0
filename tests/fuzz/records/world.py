"""Carries out the steps of a history on a real server, and checks the keys and the answer after each.

A step is a list: its name and its arguments. What it needs to know of earlier answers (tickets, tokens, how many
requests were left under way) is remembered here, so a history stays one when some of its steps are taken out."""

import time

from checks import Failure, check_answer, check_clean, check_keys, check_newest, check_shown
from forms import DAMAGED_MESSAGES, MESSAGES, read_hold
from server import CHANNEL, KEYS, Look, ServerError
from ways import both_ways, copy_of, is_usual, put_back

MIN_TTL = 86400000


class World:
    def __init__(self, server):
        self.server = server
        server.client.ask("FLUSHALL")
        self.listening, self.heard = set(), []
        self.tickets, self.tokens, self.strays, self.questions = {}, {}, {}, 0
        self.wants, self.modes = {}, {}  # what each asked for last, and how it holds
        self.newest = set()  # who waits with --supersede
        self.since = {}  # and since when each waiter waits, by the server's clock
        self.asked = {}  # the holds that each request has asked to stop
        self.is_clean, self.has_other_type, self.lost_hash = True, False, False
        self.may_stay = set()  # keys that a damage made to stay for ever
        self.look = Look(server)
        self.ways_compared = 0

    def close(self):
        for name in list(self.listening):
            self.listen_not(name)

    # Subscriptions

    def listen_to(self, name):
        if name not in self.listening:
            self.listening.add(name)
            self.server.ears.ask("SUBSCRIBE", f"{CHANNEL}:{name}")

    def listen_not(self, name):
        self.listening.discard(name)
        self.server.ears.send("UNSUBSCRIBE", f"{CHANNEL}:{name}")
        self.drain("unsubscribe")

    def drain(self, until="pong"):
        """Returns what was heard since, as (id, message)."""
        if until == "pong":
            self.server.ears.send("PING")
        heard = []
        while True:
            kind, *rest = self.answer_of_ears()
            if kind.lower() == until:
                return heard
            if kind == "message":
                heard.append((rest[0][len(CHANNEL) + 1:], rest[1]))

    def answer_of_ears(self):
        content = self.server.ears.receive()[1]
        if isinstance(content, bytes):
            return [content.decode("latin-1")]
        return [part[1].decode("latin-1") if isinstance(part[1], bytes) else part[1] for part in content]

    # Steps

    def do(self, step):
        name, *words = step
        try:
            getattr(self, "do_" + name)(*words)
        except Failure as failure:
            failure.step = step
            raise

    def run(self, script, *words, compare=None):
        """Runs a script of ours, and checks what it left. compare: the words of the same request the long way."""
        before, began = self.look, time.monotonic()
        long_way = None
        if compare and not self.has_other_type and self.server.tells_ends and is_usual(script, words, before):
            keys = copy_of(self.server)
            _, other_answer = self.attempt(script, compare)
            long_way = Look(self.server, 20), self.drain(), other_answer
            put_back(self.server, keys)
        error, answer = self.attempt(script, words)
        after = Look(self.server, 20 if long_way else 8)
        after.lost_hash = self.lost_hash
        heard = self.drain()
        self.look = after
        if error and not (str(error).startswith("WRONGTYPE") and self.has_other_type):
            raise Failure("error", f"{script} is answered: {error}")
        if long_way:
            self.ways_compared += 1
            both_ways(script, words, (before, after, heard, answer), long_way, (time.monotonic() - began) * 1000 + 2)
        for who, message in heard:
            if not (MESSAGES if self.is_clean else DAMAGED_MESSAGES).fullmatch(message):
                raise Failure("message", f"{who} is told {message!r}")
            if message.startswith("granted "):
                parts = message.split(" ")
                self.tokens[who] = parts[1]
                self.modes[who] = "=" + parts[5] if len(parts) > 5 else "s" if self.wants.get(who) == "s" else "x"
        check_keys(script, before, after, self.may_stay, error)
        if error:
            return ["error"]
        check_answer(script, answer, after, self.is_clean)
        if self.is_clean:
            check_clean(script, words, answer, before, after, self.listening)
            check_newest(script, words, answer, before, after, self.newest)
        elif self.has_other_type is False and answer[:1] == ["version"] and self.look.hash.get("v") == "1":
            raise Failure("version", f"{script} answers {answer} though the version is ours")
        return answer

    def attempt(self, script, words):
        try:
            return None, self.server.run(script, *words)
        except ServerError as error:
            return error, None

    def do_acquire(self, who, options):
        get = options.get
        request = get("request", who)
        self.questions += 1
        strays = self.strays_of(request, get("strays", 0))
        ticket = self.tickets.get(who, "") if get("asks") else ""
        secret = "5ec%05x" % self.questions if get("secret") else ""

        want = self.wants[who] = get("want", "x")
        since = self.since.get(who, "-%d" % get("age", 0))

        def words(again, strays):
            return [who, request, get("kind", "w"), get("lease", 30000), get("mode", "wait"), ticket, again,
                    get("limit", ""), get("by", "by " + who), get("period", ""), strays, secret, want, since if get("newest") else "",
                    *get("inherited", [])]

        again = "1" if get("again") else "0"
        answer = self.run("acquire", *words(again, strays),
                          compare=get("compare") and get("strays", 0) >= 0 and words(again, strays + 1))
        if answer[0] == "queued":
            self.tickets[who] = answer[1]
            self.since.setdefault(who, str(int(answer[5]) - get("age", 0)))
            (self.newest.add if get("newest") else self.newest.discard)(who)
        elif answer[0] == "granted":
            self.tokens[answer[1]], self.modes[answer[1]] = answer[2], answer[6]
            self.forget(who)
        elif answer[0] in ("removed", "ran", "ran ok", "full", "superseded"):
            self.forget(who)

    def count_of(self, who):
        """The want of a hold of a slot that is counted."""
        return self.wants.get(who, "x") if self.wants.get(who, "x")[0] == "#" else ""

    def do_renew(self, who, options):
        get = options.get
        request = get("request", who)
        strays = self.strays_of(request, get("strays", 0))
        token = self.tokens.get(who, "") if get("token", True) else ""

        def words(strays):
            return [who, request, get("kind", "w"), get("lease", 30000), token, get("by", "by " + who), get("period", ""), strays,
                    self.modes.get(who, "x"), get("start", ""), self.count_of(who)]

        self.run("renew", *words(strays), compare=get("compare") and get("strays", 0) >= 0 and words(strays + 1))

    def do_release(self, who, options):
        get = options.get
        request = get("request", who)
        strays = self.strays_of(request, get("strays", 0))
        token = self.tokens.get(who, "") if get("token") else ""

        def words(strays):
            return [who, request, get("mode", "own"), token, "1" if get("again") else "0", get("min", ""), strays,
                    get("status", ""), get("cause", ""), get("only", ""), get("by", ""), asked_before]

        asked_before = "\n".join(self.asked.get(request, [])) if get("mode") == "stop" and get("again_with_list") else ""
        answer = self.run("release", *words(strays), compare=get("compare") and get("strays", 0) >= 0 and words(strays + 1))
        if answer[0] == "stops":
            self.asked[request] = [hold[3] for hold in answer[1:]]

    def do_leave(self, who, options):
        request = options.get("request", who)
        by = ["by " + request] if options.get("mode") == "remove" else []
        self.run("leave", who, request, self.strays_of(request, options.get("strays", 0)), options.get("mode", "own"), *by)
        if options.get("mode", "own") == "own":
            self.forget(who)

    def forget(self, who):
        """It waits no more."""
        self.tickets.pop(who, None)
        self.since.pop(who, None)

    def strays_of(self, request, more):
        """A late copy has fewer than the last, and is not remembered."""
        strays = max(0, self.strays.get(request, 0) + more)
        self.strays[request] = max(strays, self.strays.get(request, 0))
        return strays

    def do_show(self, who="anna"):
        """All scripts that change nothing."""
        answers = {"status": self.run("status"), "queue": self.run("queue"), "log": self.run("log", "", "", "1"),
                   "view": self.run("view", who, "")}
        if self.is_clean:
            check_shown(answers, self.look, self.listening)

    def do_present(self, who):
        self.listen_to(who)

    def do_absent(self, who):
        if who in self.listening:
            self.listen_not(who)

    def do_later(self, ms):
        self.quietly("passes", ms)

    def quietly(self, script, *words):
        """What is no script of ours fails on a key of another type."""
        try:
            self.server.run(script, *words)
        except ServerError as error:
            if self.is_clean:
                raise Failure("harness", f"{script} is answered: {error}") from error
        self.drain()
        self.look = Look(self.server)

    # Redisson's clients

    def do_redisson_asks(self, who, ms):
        self.quietly("redisson_lock", who, ms, self.look.now)

    def do_redisson_gives_up(self, who, ms):
        self.quietly("redisson_leave", who, ms)

    def do_redisson_sweeps(self, ms):
        self.quietly("redisson_sweep", self.look.now + ms)

    def do_delete(self, key):
        """Somebody forces the lock open, or the server loses a key."""
        self.server.client.ask("DEL", KEYS[key])
        self.look = Look(self.server)
        self.lost_hash = self.lost_hash or key == 3

    # Damages

    def damage(self, *command):
        self.is_clean = False
        before = self.look
        try:
            self.server.client.ask(*command)
        except ServerError:
            pass  # nothing was damaged
        for i in (3, 4, 5):  # what a damage makes stays for a day
            if before.ttl[i] == -2:
                self.server.client.ask("PEXPIRE", KEYS[i], MIN_TTL)
        self.look = Look(self.server)

    def set_field(self, field, text):
        self.damage("HSET", KEYS[3], field, text)

    def do_field(self, field, text):
        self.set_field(field, text)

    def do_drop(self, field):
        self.damage("HDEL", KEYS[3], field)

    def do_column(self, field, index, text):
        """text: None takes the column out."""
        if field in self.look.hash:
            words = self.look.hash[field].split(" ")
            index %= len(words)
            words[index:index + 1] = [] if text is None else [text]
            self.set_field(field, " ".join(words))

    def do_cut(self, field, length):
        if field in self.look.hash:
            self.set_field(field, self.look.hash[field][:length])

    def do_swap(self, one, other):
        texts = self.look.hash
        if one in texts and other in texts:
            self.damage("HSET", KEYS[3], one, texts[other], other, texts[one])

    def do_count(self, text):
        if self.look.field is not None:
            self.damage("HSET", KEYS[0], self.look.field, text)

    def do_persist(self, key):
        if self.look.ttl[key] > 0:
            self.may_stay.add(key)
            self.damage("PERSIST", KEYS[key])

    def do_push(self, who):
        self.damage("RPUSH", KEYS[1], who)

    def do_unlist(self, who):
        self.damage("LREM", KEYS[1], 1, who)

    def do_score(self, who, score):
        self.damage("ZADD", KEYS[2], score, who)

    def do_unscore(self, who):
        self.damage("ZREM", KEYS[2], who)

    def do_hold(self, who, score):
        self.damage("ZADD", KEYS[5], score, who)

    def do_unhold(self, who):
        self.damage("ZREM", KEYS[5], who)

    def do_type(self, key, kind):
        self.is_clean, self.has_other_type = False, True
        ask = self.server.client.ask
        ask("DEL", KEYS[key])
        ask(*{"string": ["SET", KEYS[key], "x"], "hash": ["HSET", KEYS[key], "x", "1"], "set": ["SADD", KEYS[key], "x"],
              "list": ["RPUSH", KEYS[key], "x"], "zset": ["ZADD", KEYS[key], 1, "x"]}[kind])
        ask("PEXPIRE", KEYS[key], MIN_TTL)
        self.look = Look(self.server)

    # The end

    def heal(self):
        """However damaged, the lock can be taken, queued for and released again."""
        self.has_other_type = False
        for key, kind in enumerate(["hash", "list", "zset", "hash", "stream", "zset"]):
            if self.look.types[key] not in (kind, "none"):
                self.server.client.ask("DEL", KEYS[key])
        for who in list(self.listening):
            self.listen_not(who)
        self.look = Look(self.server)
        if self.look.hash.get("name", "job") != "job" or self.look.hash.get("v") != "1":
            self.server.client.ask("DEL", KEYS[3])  # others use it, and it has a time to live
        self.run("release", "healer", "healer", "force", "", "0", "", 0, "", "", "")
        for who, score in self.look.scores.items():
            if 10 ** 13 <= float(score) < 10 ** 17:  # `later` moves such a score, and not where our hash has it
                self.server.client.ask("ZADD", KEYS[2], self.look.now + 3600000, who)
        self.take_and_hand_on("xena", "yves", "x")
        self.take_and_hand_on("sue", "sam", "#1")
        self.take_and_hand_on("zoe", "zack", "x")
        if self.look.list or self.look.scores or self.look.hash.get("ours") != "0":
            raise Failure("heal", f"in the end there are {self.look.list}, {self.look.scores}, ours {self.look.hash.get('ours')}")

    def take_and_hand_on(self, one, other, want):
        self.listen_to(one)
        self.listen_to(other)
        for _ in range(60):
            self.do_acquire(one, {"asks": True, "secret": True, "want": want})
            if self.look.has_hold(one):
                break
            self.do_later(6000)
        self.must_hold(one)
        self.do_acquire(other, {"secret": True, "want": want})
        if other not in self.look.list:
            raise Failure("heal", f"{other} does not queue")
        self.do_release(one, {})
        for _ in range(60):
            if self.look.has_hold(other):
                break
            self.do_acquire(other, {"asks": True, "secret": True, "want": want})
            self.do_later(3000)
        self.must_hold(other)
        self.do_release(other, {})
        for _ in range(20):
            if not self.look.list:
                break
            self.do_later(6000)
            self.do_leave("nora", {})
        self.listen_not(one)
        self.listen_not(other)

    def must_hold(self, who):
        hold = read_hold(self.look.hash.get("h:" + who))
        if not self.look.has_hold(who) or not hold or hold["state"] != "held":
            raise Failure("heal", f"{who} does not get the lock: it is {self.look.owners}'s, {self.look.holders}; {self.look.list} wait")
        self.tokens[who] = hold["token"]
        answer = self.run("renew", who, who, "w", 30000, hold["token"], "by " + who, "", self.strays_of(who, 0),
                          self.modes.get(who, "x"), "", self.count_of(who))
        if answer[0] != "renewed":
            raise Failure("heal", f"{who} holds the lock, and its renewal is answered {answer}")


