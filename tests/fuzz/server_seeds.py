"""What a server says to begin with: the inputs of the targets replies, shown and handed.

parts/world.h tells how a script is written; the key of REPLIES and SHOWN is the first byte of the input."""

import re

ID = "00000000-0000-4000-8000-000000000000:1"
OTHER = "2f1c54f0-6b1e-4d1c-9a55-0c2f6a1b9d33:4711"
REDISSON = "9c0f2c1e-77aa-4c6b-8f1f-0123456789ab:55"
BY = "host.example\t4711\tsomebody\t/usr/bin/backup --all"
NOW = 1795261602123


def say(*values):
    """The lines of a script for values: texts, numbers, None, lists, and tuples that are maps."""
    lines = []
    for value in values:
        if isinstance(value, str):
            lines.append('"' + value)
        elif isinstance(value, int):
            lines.append(f":{value}")
        elif value is None:
            lines.append("_")
        elif isinstance(value, tuple):
            lines += [f"%{len(value) // 2}", *say(*value)]
        else:
            lines += [f"*{len(value)}", *say(*value)]
    return lines


def error(text):
    return ["-" + text]


def push(*values):
    return [f">{len(values)}", *say(*values)]


def text(*parts):
    return "\n".join(line for part in parts for line in part) + "\n"


PAUSE, SOON, END = ["---"], ["..."], ["==="]


def hello(mode="standalone", role="master", version="7.0.15", software="redis"):
    return say(
        ("server", software, "version", version, "proto", 3, "id", 7, "mode", mode, "role", role, "modules", [])
    )


HELLO = hello()
CLUSTER = hello(mode="cluster")
CHANNEL = "redisson_lock__channel:{job}"
SUBSCRIBED = push("subscribe", f"{CHANNEL}:{ID}", 1)
SHARDED = push("ssubscribe", f"{CHANNEL}:{ID}", 1)
BEGIN = HELLO + SUBSCRIBED


def granted(owner=ID, token=str(NOW), ttl=30000, mode="x"):
    return say(["granted", owner, token, ttl, 12, 1, mode])


def queued(ask_in=10000, first=0, ttl=29000, ticket="1795261602123001"):
    return say(["queued", ticket, ask_in, first, ttl, NOW])


def holder(owner=OTHER, by=BY, held=61000, mode="x", count=1, next_end=29000, by_hand="0"):
    """The end of answers that tell who holds the lock."""
    return [owner, by, held, mode, count, next_end, by_hand]


RENEWED = say(["renewed", 30000, str(NOW), 0, ""])
RELEASED = say(["released", 0])
KNOWN = say(-1)  # the time to live of a key
UNKNOWN = say(-2) * 6


def stops(*holds):
    """The answer to release --stop."""
    return say(["stops", *([what, ttl, BY, f"{NOW} 30000 x {OTHER}{number}"] for number, (what, ttl) in enumerate(holds))])


MESSAGE = push("message", f"{CHANNEL}:{ID}", "0")


def message(words):
    return push("message", f"{CHANNEL}:{ID}", words)


SECRET = "0123456789abcdef"


def handed(ttl, at=NOW, secret=SECRET, token=NOW):
    return message(f"granted {token} {ttl} {at} {secret}")


def view(place=2, waiters=5, **more):
    return say(["view", place, waiters, *holder(**more)])


KEPT = view(1, 1, held=-NOW)
VIEW = view()
SENTINEL = say(["127.0.0.1", "7000"])

LONG = "x" * 700  # longer than any buffer for a part of a reply

# Channel and message: @ is the secret, ~ the server's time.
HANDED = [
    f"{channel}\n{words}" for channel, words in (
        ("own", "granted ~ 5000 ~ @"),
        ("plain", "granted ~ 5000 ~ @"),
        ("none", "granted ~ 5000 ~ @"),
        ("own", "granted ~ 5000 ~"),
        ("own", f"granted ~ 5000 ~ {SECRET[::-1]}"),
        ("own", "granted ~ 5000 ~ @ @"),
        ("own", "granted ~ 30001 ~ @"),
        ("own", "granted ~ 0 ~ @"),
        ("own", "granted ~ 5000 9~ @"),
        ("own", "granted ~ 5000 1 @"),
        ("own", "granted 1111 ~ 5000 ~ @"),
        ("own", "granted 10000000000000000 5000 ~ @"),
        ("own", "granted ~ 5000 ~ @0"),
        ("own", "granted 99999999999999999999999 1125899906842624 1"),
        ("own", "granted ~ 5000 ~ @ 1"),
        ("slots", "granted ~ 5000 ~ @"),
        ("slots", "granted ~ 5000 ~ @ 1"),
        ("slots", "granted ~ 5000 ~ @ db1"),
        ("slots", "granted ~ 5000 ~ @ db1 db2"),
        ("slots", "granted ~ 5000 ~ @ " + "x" * 64),
        ("slots", "granted ~ 5000 ~ @ " + "x" * 65),
        ("own", "first 100"),
    )
]

REPLIES = {
    "a": [
        text(BEGIN, granted(owner=ID + "0" * 60)),
        text(BEGIN, granted(token="1" * 40)),
        text(BEGIN, granted(mode="=db1")),
        text(BEGIN, granted(mode="")),
        text(BEGIN, granted(owner=OTHER)),
        text(BEGIN, granted(mode="=" + "x" * 65)),
        text(BEGIN, say(["other", "=db1"])),
        text(BEGIN, queued(ticket="1" * 40)),
        text(BEGIN, queued(), SOON, message("first " + "1" * 80), SOON, message(LONG)),
        text(BEGIN, granted(), PAUSE, say(["lost", "taken", LONG, LONG])),
        text(BEGIN, granted(), PAUSE, RENEWED, PAUSE, RELEASED),
        text(BEGIN, queued(), SOON, MESSAGE, PAUSE, granted(), PAUSE, RENEWED, RENEWED, PAUSE, say(["kept", 900])),
        text(BEGIN, queued(first=1), SOON, message("first 2500"), SOON, message("second 100"), PAUSE, granted()),
        text(BEGIN, queued(), SOON, handed(5000), PAUSE, RENEWED, PAUSE, RELEASED),
        text(BEGIN, queued(), SOON, handed(5000, secret="f" * 16), SOON, handed(5000, token="1" * 17), PAUSE, granted()),
        text(BEGIN, queued(), SOON, push("message", CHANNEL, f"granted {NOW} 5000 {NOW} {SECRET}"), PAUSE, granted()),
        text(BEGIN, queued(), SOON, handed(5000, NOW - 60000), PAUSE, granted(), PAUSE, RELEASED),
        text(BEGIN, queued(), SOON, handed(5000, NOW + 60000), SOON, handed(0), SOON, message("granted 1 x"), PAUSE),
        text(BEGIN, queued(), SOON, handed(10 ** 18, 10 ** 18), PAUSE, END, BEGIN, RENEWED),
        text(BEGIN, queued(), END, BEGIN, queued(), END, END, BEGIN, granted(), END, BEGIN, RENEWED),
        text(BEGIN, error("NOSCRIPT No matching script."), PAUSE, granted(ttl=1), PAUSE, RENEWED),
        text(BEGIN, granted(), PAUSE, say(["lost", "taken", OTHER, BY]), PAUSE),
        text(BEGIN, granted(), PAUSE, say(["lost", "forced", "", ""])),
        text(BEGIN, granted(), SOON, MESSAGE, PAUSE, say(["released"])),
        text(BEGIN, granted(), SOON, MESSAGE, PAUSE, say(["renewed", 30000, str(NOW), 0, BY]), PAUSE, say(["released", 0])),
        text(BEGIN, granted(), SOON, MESSAGE, PAUSE, say(["lost", "gone", "", ""])),
        text(BEGIN, granted(), PAUSE, END, error("LOADING Redis is loading"), PAUSE, END, BEGIN, RENEWED),
        text(BEGIN, queued(ttl=-1), PAUSE, say(["removed"])),
        text(BEGIN, queued(), PAUSE, say(["superseded", BY, *holder()]), PAUSE, say(["left"])),
        text(BEGIN, queued(), PAUSE, say(["superseded", LONG])),
        text(BEGIN, say(["spelled", "{job}"])),
        text(BEGIN, error("NOPERM this user has no permissions to access one of the keys used as arguments")),
        text(HELLO, error("NOPERM no permissions to access the channel"), granted()),
        text(BEGIN, error("WRONGTYPE Operation against a key holding the wrong kind of value")),
        text(BEGIN, error("BUSY Redis is busy"), PAUSE, error("OOM command not allowed"), PAUSE, granted()),
        text(error("NOPROTO unsupported protocol version")),
        text(SOON, error("ERR max number of clients reached"), END),
        text(error("WRONGPASS invalid username-password pair")),
        "HTTP/1.1 400 Bad Request\nContent-Length: 0\n\n",
        "$1000000000\nabc",
        "*1\n" * 12,
        text(HELLO, ["|1", "+ttl", ":3600"], SUBSCRIBED, granted()),
        text(BEGIN, ["=9", "txt:hello", "(123", ",1.5", "#t", "~1", ":1", "!3", "ERR"]),
    ],
    "b": [
        text(BEGIN, say(["busy", *holder(LONG, LONG)])),
        text(BEGIN, say(["busy", *holder()])),
        text(BEGIN, say(["busy", *holder(by=LONG + "\t1\t" + LONG, held=1 << 62)])),
        text(BEGIN, say(["busy", *holder(by=BY + "\tnightly", held=-7, by_hand="1")])),
        text(BEGIN, say(["busy", *holder(held=-NOW)])),
        text(BEGIN, say(["busy", *holder(by=LONG, held=-(1 << 63), mode="s", count=3)])),
        text(BEGIN, say(["busy", *holder(REDISSON, "", -1)])),
        text(BEGIN, say(["busy", *holder(mode="=", count=2, next_end=1 << 62)])),
        text(BEGIN, say(["busy", *holder("", "", -1, "", 0, -1)])),
        text(BEGIN, granted(), PAUSE, RELEASED),
    ],
    "c": [
        text(BEGIN, granted(), PAUSE, say(2), PAUSE, RENEWED, PAUSE, say(1), PAUSE, RENEWED, PAUSE, say(2)),
        text(BEGIN, granted(), PAUSE, say(1), PAUSE, say(["left"])),
        text(BEGIN, granted(), PAUSE, error("ERR no WAIT")),
    ],
    "d": [
        text(BEGIN, queued(), PAUSE, view(owner=LONG, by=LONG), PAUSE, VIEW),
        text(BEGIN, queued(), PAUSE, VIEW, PAUSE, view(mode="=", count=2, by_hand="1"), SOON, MESSAGE, PAUSE, granted(), PAUSE, RELEASED),
        text(BEGIN, queued(first=1), PAUSE, view(1, 1, "", (), owner="", by="", held=-1, mode="", count=0), PAUSE, say(["left"])),
        text(BEGIN, queued(), PAUSE, error("NOPERM no permissions"), PAUSE, granted()),
        text(BEGIN, queued(first=1), PAUSE, KEPT, PAUSE, granted(), PAUSE, RELEASED),
    ],
    "e": [
        text(BEGIN, say(["ran ok", 60000])),
        text(BEGIN, say(["ran", 60000])),
        text(BEGIN, say(["ran", 60000, *holder()])),
        text(BEGIN, queued(), PAUSE, VIEW, PAUSE, granted(), PAUSE, RELEASED),
    ],
    "f": [text(BEGIN, granted()), text(BEGIN, queued(), PAUSE, granted())],
    "g": [text(BEGIN, say(["full", 3])), text(BEGIN, say(["full", 3, *holder()])), text(BEGIN, granted()), text(BEGIN, queued(), PAUSE, say(["left"]))],
    "h": [text(BEGIN, granted(owner="abc:1"))],
    "i": [
        text(HELLO, RENEWED),
        text(HELLO, say(["lost", "gone", "", ""])),
        text(HELLO, say(["spelled", "{job}"])),
    ],
    "j": [
        text(HELLO, RELEASED),
        text(HELLO, say(["not held", OTHER, BY])),
        text(HELLO, say(["not acquired"])),
    ],
    "k": [
        text(HELLO, KNOWN, say(["forced", LONG, LONG])),
        text(HELLO, KNOWN, say(["forced", OTHER, BY])),
        text(HELLO, KNOWN, say(["forced", REDISSON, ""])),
        text(HELLO, KNOWN, say(["free"])),
        text(HELLO, KNOWN, say(["not held", OTHER, BY])),
        text(HELLO, UNKNOWN),
    ],
    "l": [
        text(CLUSTER, ["+OK"], SHARDED, error(f"MOVED 7 {LONG}:7001")),
        text(CLUSTER, ["+OK"], SHARDED, error("MOVED 7 127.0.0.1:7001"), END, CLUSTER, ["+OK"], SHARDED, granted()),
        text(CLUSTER, error("ERR SELECT is not allowed in cluster mode")),
        text(CLUSTER, ["+OK"], SHARDED, error("ASK 7 [::1]:7001"), END, CLUSTER, ["+OK", "+OK"], SHARDED, ["+OK"], granted()),
        text(HELLO),
        text(CLUSTER, ["+OK"], SHARDED, queued(), PAUSE, END, CLUSTER, ["+OK"], granted()),
        text(CLUSTER, ["+OK"], SHARDED, queued(), SOON, push("sunsubscribe", CHANNEL, 0), END, CLUSTER, ["+OK"], SHARDED, granted()),
        text(CLUSTER, ["+OK"], SHARDED, error("TRYAGAIN Multiple keys request"), PAUSE, error("CLUSTERDOWN down"), PAUSE, granted()),
    ],
    "m": [
        text(CLUSTER, error("ERR DB index is out of range")),
        text(CLUSTER, ["+OK"], SHARDED, error("MOVED 1 :7000"), END, CLUSTER, ["+OK"], SHARDED, granted()),
    ],
    "n": [
        text(SENTINEL, END, HELLO, SUBSCRIBED, granted(), PAUSE, RENEWED, PAUSE, RELEASED),
        text(error("NOAUTH Authentication required."), END, ["+OK"], SENTINEL, END, HELLO, SUBSCRIBED, granted()),
        text(["*-1"], END, SENTINEL, END, hello(role="replica"), END, SENTINEL, END, HELLO, SUBSCRIBED, queued(), END),
    ],
    "o": [text(SENTINEL, END, HELLO, KNOWN, RELEASED), text(say(["", "1"])), text(say(["h" * 300, "1"]))],
    "p": [
        text(BEGIN, queued(), VIEW, PAUSE, VIEW, PAUSE, say(["left", *holder()])),
        text(BEGIN, queued(first=1), KEPT, PAUSE, KEPT, PAUSE, say(["left", *holder(held=-NOW)])),
        text(BEGIN, queued(), error("NOPERM no permissions"), PAUSE, PAUSE, END, PAUSE, BEGIN, queued(), PAUSE, VIEW),
        text(BEGIN, queued(), view(1, 1, "7", (), by=LONG, held=1 << 62), PAUSE, END, PAUSE, PAUSE, PAUSE, BEGIN),
    ],
    "q": [
        text(HELLO, KNOWN, SUBSCRIBED, say(["stops"])),
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", 30000)), MESSAGE, say(["stops"])),
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", 5), ("kept", 0)), PAUSE, stops(("asked", 1 << 62)), END, BEGIN, stops(("away", 0)), PAUSE),
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", -1), ("alone", 30000))),
        text(HELLO, KNOWN, SUBSCRIBED, say(["stops", ["asked", 1, LONG, LONG], ["asked", 1, "", ""]]), PAUSE, say(["stops", ["x", 1, "", ""]])),
        text(HELLO, KNOWN, SUBSCRIBED, say(["late"])),
    ],
    "r": [  # a connection for each lock
        text(BEGIN, granted(), PAUSE, RENEWED, PAUSE, RENEWED, PAUSE, RELEASED, END, BEGIN, granted(), PAUSE, RENEWED, PAUSE, RELEASED),
        text(BEGIN, granted(), PAUSE, say(["lost", "forced", "", ""]), END, BEGIN, queued(), PAUSE, granted()),
        text(BEGIN, granted(), PAUSE, say(["renewed", 30000, str(NOW), 1, BY]), END, BEGIN, queued(), PAUSE, PAUSE, granted()),
    ],
    "s": [
        text(BEGIN, say(["ran ok", 60000])),
        text(BEGIN, say(["ran ok"])),
        text(BEGIN, say(["ran ok", -(1 << 63)])),
        text(BEGIN, say(["ran", 60000])),
        text(BEGIN, queued(), SOON, MESSAGE, PAUSE, say(["ran ok", 5])),
        text(BEGIN, queued(), PAUSE, granted(ttl=1), PAUSE, say(["ran ok", 5])),
    ],
    "t": [
        text(HELLO, KNOWN, say(["forgot", 60000])),
        text(HELLO, KNOWN, say(["forgot", -1])),
        text(HELLO, KNOWN, say(["forgot", LONG])),
        text(HELLO, KNOWN, RELEASED),
    ],
}


def row(owner=OTHER, by=BY, ttl=29000, token=str(NOW), since=str(NOW - 61000), ours=1, kept=0, slot="", by_hand=0):
    """A holder in the answer to status."""
    return [owner, 1, ttl, token, by, since, ours, kept, slot, by_hand]


def state(*rows, name="job", mode="x", waiters=3, slots=0):
    """The answer to status; without a row the lock is free."""
    owner, count, ttl, token, by, since, ours, kept, _, by_hand = rows[0] if rows else row("", "", -2, "", "", 0)
    return say([owner, count, ttl, token, by, since, ours, waiters, str(NOW), name, 45000, 10, 1, 2, 0, kept, str(NOW - 90000),
                mode if rows else "", list(rows), len(rows), slots, str(NOW - 80000), by_hand, 0])


HELD = state(row())
FREE = state(waiters=0)
THEIRS = state(row(REDISSON, "", 29000, "", "", 0))
ENDLESS = state(row(ttl=-1))
SLOTTED = state(row(slot="1"), row(ID, slot="db1", kept=1), row(slot="3", by_hand=1), mode="=", slots=3)
OTHER_LOCK = state(row(), row(ID, BY + "\tnightly"), name="other", mode="s")
QUEUE = say([[OTHER, "45000", BY, 1, 1, "x"], [REDISSON, "", "", 0, 1, "x"], [ID, "90061000", BY, 1, 0, "#3"],
             [ID, "1", BY + "\twhy", 1, 1, "=db1,db2"], [ID, "", BY, 1, 1, "s"]])


def entry(number, event, **more):
    fields = {"event": event, "time": str(NOW - 10000 * number), "owner": OTHER, "token": str(NOW - 10000 * number),
              "by": BY, **more}
    return [f"{NOW - 10000 * number}-0", [word for item in fields.items() for word in item]]


ENTRIES = [
    entry(1, "left", waited="5000", held="", status="", cause="", slot="", actor=""),
    entry(2, "lost", held="1000"),
    entry(3, "granted", waited="20"),
    entry(4, "forced", held="90061000", by="other.example\t1\troot\tmake"),
    entry(5, "expired", held="30000", waited="1000"),
    entry(6, "released", held="12345", by='"h\\\t1\tü\té\x9b', status="143", cause="TERM", slot="db1"),
    entry(6, "released", held="20", status="0", cause="exit"),
    entry(6, "asked", actor=BY),
    entry(6, "superseded", waited="20", actor=BY),
    entry(7, "granted", waited="1"),
    ["1-1", ["event", "granted", "time", "x"]],
]
LAST = [OTHER, str(NOW - 30000), str(NOW - 30000), str(NOW + 30000), "20", BY, "x", ""]
LOG = say(["log", str(NOW), ENTRIES, OTHER, LAST, [[str(NOW - 500), BY], ["", ""]], [LAST]])
NOTHING = say(["log", str(NOW), [], "", [], [], []])
STRANGER = say(["log", str(NOW), ENTRIES[3:5], REDISSON, LAST, [], []])
MANY = say(["log", str(NOW), ENTRIES, OTHER, LAST, [], [LAST[:6] + ["=", "1"], [ID] + LAST[1:6] + ["=", "db1"]]])

SLOTS = say([[0, 8191, ["127.0.0.1", 7000, "a"], ["127.0.0.1", 7002, "b"]], [8192, 16383, ["", 7001, "c"]]])
LOGS = say(["7", ["fairlock_log:{job}"]]) + say(["0", ["fairlock_log:{{x}}", "fairlock_log:x{y}"]])
SCAN = say(["7", ["fairlock:{job}"]]) + say(["0", ["fairlock:{other}", "fairlock:{x}"]])
NAMES = SCAN + say("job") + say("other") + say("x{y}")

INFO = (
    r"# Server\nredis_version:7.0.15\nrun_id:0123456789abcdef\n"
    r"# Clients\nconnected_clients:12\nmaxclients:10000\n"
    r"# Memory\nused_memory:1000000\nmaxmemory:2000000\nmaxmemory_policy:noeviction\n"
    r"aof_enabled:0\nrdb_last_bgsave_status:ok\naof_last_write_status:err\n"
    r"evicted_keys:5\n"
    r"role:master\nconnected_slaves:2\nslave0:ip=127.0.0.1,port=7003,state=online,offset=42,lag=0\n"
    r"slave1:ip=::1,port=7004,state=wait_bgsave,offset=0,lag=99\n"
)
SETTINGS = {
    "save": "3600 1 300 100",
    "appendfsync": "everysec",
    "stop-writes-on-bgsave-error": "yes",
    "min-replicas-to-write": "1",
    "timeout": "300",
    "tcp-keepalive": "300",
    "client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
    "maxclients": "10000",
    "lua-time-limit": "5000",
}
TIMES = [line for i in range(20) for line in say([str(NOW // 1000), str(1000 * i)])]
GRANTS = say(1)
FULL = error("OOM command not allowed when used memory > 'maxmemory'.")
ALLOWED = say(["", "", "", 0, 0])
LACKING = say(["~job +get", "LREM, SET", "WAIT", 1, 1])


def doctor_info(settings=SETTINGS, may=1, hello=HELLO, grants=GRANTS):
    """The replies to what doctor asks of a server: HELLO, permissions, INFO, settings, whether it grants, clock."""
    return (
        hello + say([may] * 4) + say(INFO)
        + [line for pair in settings.items() for line in say(pair)] + grants + TIMES
    )


DOCTOR_INFO = doctor_info()
BAD_SETTINGS = {**SETTINGS, "save": "", "tcp-keepalive": "0", "lua-time-limit": "5", "timeout": "0",
       "client-output-buffer-limit": "pubsub 1 1 1", "maxclients": "13"}
HUGE_NUMBERS = [
    re.sub(r"(connected_clients|maxclients|used_memory|maxmemory|aof_enabled):\d+", r"\g<1>:9223372036854775807", line)
    for line in doctor_info({**SETTINGS, "maxclients": "9223372036854775807", "timeout": "-9223372036854775808"})
]
REPLICA_REFUSES = error("NOAUTH Authentication required.") + END
REPLICA_TIMES = HELLO + HELLO + TIMES + END
ONE_LOCK = HELD + QUEUE + LOG

SHOWN = {
    "A": [text(HELLO, state(row(LONG, LONG, token=LONG, since=LONG))), text(HELLO, HELD, OTHER_LOCK, GRANTS), text(HELLO, HELD, OTHER_LOCK, FULL), text(HELLO, FREE, error("WRONGTYPE no hash")), text(HELLO, SLOTTED, state(row(kept=1), name="other"))],
    "B": [text(HELLO, HELD, GRANTS), text(HELLO, HELD, FULL), text(HELLO, THEIRS), text(HELLO, ENDLESS), text(HELLO, FREE, KNOWN, GRANTS), text(HELLO, FREE, UNKNOWN), text(HELLO, SLOTTED, GRANTS), text(HELLO, state(row("\"\\", 'a"b\tx\\y\tz\t"\\')), GRANTS)],
    "C": [text(HELLO, state(row(by="a b\tx\ty\tz \\x1b[2J")))],
    "D": [text(HELLO, HELD, OTHER_LOCK), text(HELLO, FREE, FREE)],
    "E": [text(HELLO, HELD, OTHER_LOCK, GRANTS), text(HELLO, HELD, OTHER_LOCK, FULL), text(HELLO, ENDLESS, THEIRS)],
    "F": [text(HELLO, PAUSE, NAMES, HELD, OTHER_LOCK, GRANTS), text(HELLO, PAUSE, say(["0", []]), error("ERR compiling"), GRANTS)],
    "G": [
        text(CLUSTER, PAUSE, SLOTS, END, CLUSTER, NAMES, PAUSE, HELD, GRANTS, END, CLUSTER, say(["0", []]), PAUSE, OTHER_LOCK, FULL),
        text(CLUSTER, PAUSE, say([]), END),
        text(CLUSTER, PAUSE, say([[0, 1, [LONG, 7000]]]), END),
        text(CLUSTER, PAUSE, say([[0, 1]]), END),
        text(CLUSTER, PAUSE, say([[0, 1, ["h", 70000]]]), END),
    ],
    "H": [text(HELLO, PAUSE, NAMES, HELD, OTHER_LOCK, FULL)],
    "I": [text(HELLO, PAUSE, NAMES, HELD, OTHER_LOCK, END, HELLO, PAUSE, NAMES, HELD, FREE)],
    "J": [text(HELLO, QUEUE), text(HELLO, say([]))],
    "K": [text(HELLO, QUEUE)],
    "L": [text(HELLO, QUEUE)],
    "M": [text(HELLO, QUEUE, QUEUE)],
    "N": [text(HELLO, say(["left"])), text(HELLO, say(["unknown"])), text(HELLO, say(["spelled", "{job}"]))],
    "O": [text(HELLO, LOG), text(HELLO, NOTHING), text(HELLO, error("NOPERM no permissions"))],
    "P": [text(HELLO, LOG), text(HELLO, NOTHING)],
    "Q": [text(HELLO, LOG)],
    "R": [text(HELLO, say(["log", str(NOW), [["9" * 60, ENTRIES[2][1]]], LONG, [LONG] * 8, [[LONG, LONG]], [[LONG] * 8]])), text(HELLO, LOG, say(([["log", [ENTRIES[0]]]])), LOG, PAUSE, ["_"], PAUSE, LOG)],
    "S": [text(HELLO, LOG, PAUSE, ["_"], PAUSE, LOG, PAUSE, END, HELLO, ["_"], LOG)],
    "T": [text(HELLO, LOG), text(HELLO, NOTHING), text(HELLO, STRANGER), text(HELLO, MANY)],
    "U": [text(HELLO, LOG), text(HELLO, NOTHING)],
    "V": [text(HELLO, LOG), text(HELLO, NOTHING), text(HELLO, STRANGER), text(HELLO, MANY)],
    "W": [text(HELLO, LOG)],
    "X": [
        text(hello(version=LONG, software=LONG), PAUSE, hello(version=LONG, software=LONG, mode=LONG), say([1] * 4),
             say(f"slave0:ip={LONG},port=1\\nmaxmemory_policy:{LONG}")),
        text(HELLO, PAUSE, DOCTOR_INFO, ALLOWED, END, REPLICA_REFUSES, REPLICA_TIMES, HELLO, ONE_LOCK),
        text(HELLO, PAUSE, doctor_info(grants=FULL), ALLOWED, END, REPLICA_REFUSES, REPLICA_TIMES, HELLO, ONE_LOCK),
        text(HELLO, PAUSE, HUGE_NUMBERS, ALLOWED, END, REPLICA_TIMES, REPLICA_TIMES, HELLO, ONE_LOCK),
        text(HELLO, PAUSE, doctor_info(BAD_SETTINGS), say([]), END, REPLICA_REFUSES, END, HELLO, ENDLESS, QUEUE, error("WRONGTYPE no stream")),
        text(HELLO, PAUSE, HELLO, error("NOPERM no permissions to run the 'eval' command"), error("NOPERM info")),
        text(HELLO, PAUSE, HELLO, say([]), say(INFO)),
    ],
    "Y": [text(HELLO, PAUSE, DOCTOR_INFO, LACKING, END, REPLICA_REFUSES, REPLICA_TIMES, HELLO, ONE_LOCK)],
    "Z": [text(HELLO, PAUSE, DOCTOR_INFO, ALLOWED, NAMES, ONE_LOCK, ONE_LOCK, END, REPLICA_REFUSES, REPLICA_TIMES)],
    **{
        key: [
            text(CLUSTER, PAUSE, SLOTS, END, CLUSTER, said, ALLOWED, NAMES, ONE_LOCK, ONE_LOCK, END,
                 CLUSTER, said, LACKING, say(["0", []]), END, REPLICA_REFUSES, REPLICA_TIMES, REPLICA_REFUSES, REPLICA_TIMES)
        ]
        for key, said in {"[": doctor_info(BAD_SETTINGS, hello=CLUSTER), "\\": doctor_info(hello=CLUSTER)}.items()
    },
    "]": [text(HELLO, PAUSE, LOGS, say("job"), ["_"], LOG, NOTHING), text(HELLO, PAUSE, LOGS, say("x"), say("x{y}"), STRANGER, LOG)],
    "^": [text(CLUSTER, PAUSE, SLOTS, END, CLUSTER, LOGS, say("job"), say("x{y}"), LOG, LOG, END, CLUSTER, say(["0", []]))],
}
