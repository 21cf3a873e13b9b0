"""The requests of fairlock's clients, and the answers and messages that they get: the one place that knows the form of both.

A request is a tuple: the script, its words, whether it wants or has a hold beside others. An answer is a dictionary; `is` says
which of the answers it is."""

import os
import re
import subprocess

from server import ROOT, ServerError  # noqa: F401

LOCK = "job"
KEYS = [LOCK] + [key + "{" + LOCK + "}" for key in (
    "redisson_lock_queue:", "redisson_lock_timeout:", "fairlock:", "fairlock_log:", "fairlock_queue:", "fairlock_holders:")]
LIST, SET, STATE, LOG, OURS, HOLDERS = KEYS[1:]
SETS = [SET, OURS, HOLDERS]
QUEUE = [LIST, SET, OURS]  # whoever deletes one of these takes places away
VERSION = "1"
NEVER = 2 ** 60
TYPES = ["hash", "list", "zset", "hash", "stream", "zset", "zset"]
CHANNEL = "redisson_lock__channel:{" + LOCK + "}"
SCRIPTS = ["acquire", "release", "renew", "leave", "look"]
CHANGING = ["acquire", "release", "renew", "leave"]
READERS = [("look", ["status"], True), ("look", ["queue"], True), ("look", ["log", "", "", "1"], True), ("look", ["view", "nobody", ""], True)]
MOST_FIELDS = 20  # of our hash, when nobody holds or waits any more


def texts(lua):
    join = os.path.join(lua, "join")
    join = join if os.path.exists(join) else os.path.join(ROOT, "lua", "join")
    return {name: subprocess.run([join, os.path.join(lua, "scripts", name + ".lua")], check=True, capture_output=True).stdout
            for name in SCRIPTS}


def command(shas, request):
    """The request as words for the server."""
    script, words, shares = request
    keys = KEYS if shares else KEYS[:6]
    return ("EVALSHA", shas[script], len(keys), *keys, CHANNEL, *words)


def channel(name):
    return f"{CHANNEL}:{name}"


# Requests. `process` has: id, name (of the request), owner, kind, lease, want, mode ...

def acquire(p, again):
    since = "" if not p.newest else p.since or f"-{p.age + p.now - p.began}"
    words = [p.id, p.id, p.kind, p.lease, "try" if p.tries else "wait", p.ticket, "1" if again else "0", p.limit, p.by, p.period,
             p.strays, p.secret, p.want, since] + p.inherited
    return "acquire", words, p.want != "x"


def renew(p):
    count = p.want if p.want[0] == "#" else ""
    words = [p.owner, p.id, "w" if p.starts else p.kind, p.lease, p.token, p.by, p.period, p.strays, p.mode,
             "1" if p.starts else "", count]
    return "renew", words, p.mode != "x"


def release(p, again, unused, status, cause):
    words = [p.owner, p.id, "unused" if unused else "own", "", "1" if again else "0", p.min_hold, p.strays, status, cause, ""]
    return "release", words, p.mode != "x"


def leave(p):
    return "leave", [p.id, p.id, p.strays, "own"] + p.inherited, p.want != "x"


# What is asked about others.

def release_any(request, owner, world):
    return "release", [owner, request, "any", "", "0", "", 0, "", "", ""], True


def force(request, only, with_token, world):
    """None: there is no such hold."""
    token = ""
    if with_token:
        owner = only or next(iter(world.look.holders), "")
        if owner not in world.promises.tokens:
            return None
        token = world.promises.tokens[owner]
    return "release", ["", request, "force", token, "0", "", 0, "", "", only, "by " + request], True


def forget(request, world):
    return "release", ["", request, "forget", "", "0", "", 0, "", "", ""], False


def stop(request, only, holds, world):
    words = ["", request, "stop", "", "1" if holds else "0", "", 0, "", "", only, "by " + request, "\n".join(holds)]
    return "release", words, True


def remove(request, waiter, world):
    return "leave", [waiter, request, 0, "remove", "by " + request], False


# Answers

FORMS = {
    "acquire": {
        "granted": "owner token ttl waited count mode", "queued": "ticket ask_in first ttl now marker", "busy": "*", "full": "waiters *",
        "ran": "ago *", "ran ok": "ago", "removed": "*", "forced": "*", "superseded": "by *", "other": "mode"},
    "renew": {"renewed": "ttl token taken_up by", "released": "", "late": "", "not by hand": "", "lost": "why owner by"},
    "release": {"released": "left", "kept": "ms", "forced": "*", "free": "", "forgot": "ago", "stops": "*", "late": "",
                "not held": "owner by *", "not acquired": ""},
    "leave": {"left": "*", "late": "", "unknown": ""},
}


def answer(script, value):
    """A dictionary, or None: the answer has another form."""
    if script not in FORMS:
        return {"is": "shown", "rest": value} if isinstance(value, list) else None
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return None
    if value[0] in ("version", "spelled"):
        return {"is": value[0]}
    form = FORMS[script].get(value[0])
    if form is None:
        return None
    names = form.split()
    rest = "*" in names
    if len(value) - 1 < len(names) - rest or not rest and len(value) - 1 > len(names):
        return None
    found = dict(zip(names, value[1:]))
    return {"is": value[0], "rest": value[1 + len(names) - rest :], **found}


def stops(found):
    """Of the answer to `stop`: the holds that are not over, as the next request has to name them; in how many ms to look again."""
    holds = found["rest"] if found["is"] == "stops" else []
    return [hold[3] for hold in holds], min([hold[1] for hold in holds if hold[1] >= 0], default=10500)


# Messages

MESSAGE = re.compile(r"granted (?P<token>\d+) (?P<ttl>\d+) (?P<at>\d+) (?P<secret>[0-9a-f]+)(?: (?P<slot>\S+))?"
                     r"|first (?P<first>\d+)|second (?P<second>\d+)|(?P<turn>0)")


def message(text):
    found = MESSAGE.fullmatch(text)
    return found and {name: value for name, value in found.groupdict().items() if value is not None}


def listens_too(process, answer):
    """Whether a waiter that got this answer listens to another channel from now on. Then it asks once more."""
    if answer["marker"] == "" or "fairlock:" + answer["marker"] in process.channels:
        return False
    process.world.listen(process, "fairlock:" + answer["marker"])
    return True


# Keys

LOOK = """
local function get(...)
	local found = redis.pcall(...)
	return type(found) == 'table' and found.err and {} or found
end
local found = {get('HGETALL', KEYS[1]), get('LRANGE', KEYS[2], 0, -1), get('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'),
	get('ZRANGE', KEYS[7], 0, -1, 'WITHSCORES'), get('HLEN', KEYS[4]), {}, {}, get('ZRANGE', KEYS[6], 0, -1, 'WITHSCORES')}
for i, key in ipairs(KEYS) do
	found[6][i] = redis.call('PTTL', key)
	found[7][i] = redis.call('TYPE', key).ok
end
return found
"""


class Look:
    """What the keys said at one moment (ms, by the server's clock)."""

    def __init__(self, found, now):
        key, self.list, scores, holders, self.fields, self.ttl, self.types, ours = found
        self.ours = dict(zip(ours[::2], map(float, ours[1::2])))
        self.now, self.key = now, dict(zip(key[::2], key[1::2]))
        self.scores = dict(zip(scores[::2], map(float, scores[1::2])))
        self.field = key[0] if key else None
        self.beside = self.field is not None and self.field.startswith("fairlock:")
        # who holds, and until when
        if self.beside:
            self.holders = {who: float(end) for who, end in zip(holders[::2], holders[1::2]) if float(end) > now}
        else:
            self.holders = {who: now + self.ttl[0] if self.ttl[0] >= 0 else 2 ** 60 for who in self.key}
        self.members = len(holders)

    def is_gone(self, number, now):
        """Whether this key has expired by then."""
        return self.ttl[number] >= 0 and self.now + self.ttl[number] < now

    def live(self, now):
        """Who still holds then: key 1 is there in its last millisecond."""
        return {who for who, end in self.holders.items() if end > now or end == now and not self.beside}

    def has(self, id):
        """Whether this client of ours waits."""
        return id in self.ours

    def agrees(self):
        return len(set(self.list)) == len(self.list) and set(self.list) == set(self.scores)

    def essence(self, now):
        """What a late copy must not change."""
        holders = {who: round(min(end, NEVER)) for who, end in self.holders.items() if end > now and not self.is_gone(0, now)}
        return {} if self.is_gone(0, now) else self.key, holders, [] if self.is_gone(1, now) else self.list, {} if self.is_gone(5, now) else self.ours

    def contents(self, now):
        return (self.essence(now), {} if self.is_gone(2, now) else self.scores, 0 if self.is_gone(3, now) else self.fields,
                0 if self.is_gone(6, now) else self.members)

    def is_empty(self):
        return not (self.key or self.list or self.scores or self.members or self.ours)


def batches(look):
    """{marker: those of ours who belong to it}: the last one whose ticket is not larger; older ones belong to the first."""
    markers = [(float(id[len("fairlock:"):]), id) for id in look.list if id.startswith("fairlock:")]
    found = {marker: set() for _, marker in markers}
    for id, ticket in look.ours.items():
        batch = next((marker for begins, marker in reversed(markers) if begins <= ticket), markers[0][1] if markers else None)
        found.setdefault(batch, set()).add(id)
    return found


def displaced(before, after, but):
    """Who has lost its place by a script of Redisson's: its own, and ours whose marker has gone."""
    gone = set(before.list) - set(after.list) - {but}
    return gone.union(*(ids for marker, ids in batches(before).items() if marker in gone))


def emptied(before, after):
    """The markers in the list whose batch has gone: Redisson's unlock may speak to one, and nobody listens."""
    full, now = batches(before), batches(after)
    return [marker for marker in now if not now[marker] and full.get(marker)]
