"""What a server says to begin with: {command line of replies.c: its scripts}. parts/world.h tells how a script is written."""

import re

ID = "00000000-0000-4000-8000-00000000abcd:1"
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
    return say(("server", software, "version", version, "proto", 3, "id", 7, "mode", mode, "role", role, "modules", []))


HELLO = hello()
CLUSTER = hello(mode="cluster")
CHANNEL = "redisson_lock__channel:{job}"
SUBSCRIBED = push("subscribe", f"{CHANNEL}:{ID}", 1)
SHARDED = push("ssubscribe", f"{CHANNEL}:{ID}", 1)
BEGIN = HELLO + SUBSCRIBED


def granted(owner=ID, ttl=30000, mode="x"):
    return say(["granted", owner, str(NOW), ttl, 12, 1, mode])


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


def message(words):
    return push("message", f"{CHANNEL}:{ID}", words)


def view(place=2, waiters=5, **more):
    return say(["view", place, waiters, *holder(**more)])


TURN = message("0")
HANDED = f"granted {NOW} 5000 {NOW} 0123456789abcdef"
SENTINEL = say(["127.0.0.1", "7000"])

LONG = "x" * 700  # longer than any buffer for a part of a reply
GRANTED, QUEUED, LEFT = granted(), say(["queued", "1795261602123001", 10000, 0, 29000, NOW]), say(["left"])

TAKEN = {
    "wrap job true": [
        text(BEGIN, granted(mode="=" + "x" * 65)),
        text(BEGIN, say(["other", "=db1"])),
        text(BEGIN, GRANTED, PAUSE, say(["lost", "taken", LONG, LONG])),
        text(BEGIN, error("NOSCRIPT No matching script."), PAUSE, granted(ttl=1), PAUSE, RENEWED),
        text(BEGIN, GRANTED, SOON, TURN, PAUSE, say(["renewed", 30000, str(NOW), 0, BY]), PAUSE, RELEASED),
        text(BEGIN, GRANTED, PAUSE, END, error("LOADING Redis is loading"), PAUSE, END, BEGIN, RENEWED),
        text(HELLO, error("NOPERM no permissions to access the channel"), ["*6x"]),  # once failed
        text(SOON, error("ERR max number of clients reached"), END),
        text(HELLO, ["|1", "+ttl", ":3600"], SUBSCRIBED, ["=9", "txt:hello", "(123", ",1.5", "#t", "~1", ":1", "!3", "ERR"]),
        "*1\n" * 12,
    ],
    "wrap -n job true": [
        text(BEGIN, say(["busy", *holder()])),
        text(BEGIN, say(["busy", *holder(by=LONG, held=-(1 << 63), mode="s", count=3)])),
        text(BEGIN, say(["busy", *holder(by=BY + "\tnightly", held=-7, by_hand="1")])),
        text(BEGIN, say(["busy", *holder(REDISSON, "", -NOW, mode="=", count=2, next_end=1 << 62)])),
        text(BEGIN, say(["spelled", "{job}"])),
    ],
    "wrap -v -w 20 --replicas 2 job true": [
        text(BEGIN, GRANTED, PAUSE, say(2), PAUSE, RENEWED, PAUSE, say(1), PAUSE, RENEWED, PAUSE, say(2)),
        text(BEGIN, GRANTED, PAUSE, say(1), PAUSE, LEFT),
    ],
    "wrap -w 60 job true": [
        text(BEGIN, QUEUED, PAUSE, view(owner=LONG, by=LONG), PAUSE, view(mode="=", count=2, by_hand="1"), SOON, TURN, PAUSE, GRANTED),
    ],
    "wrap -w 60 --report 5 --reason why job true": [
        text(BEGIN, QUEUED, view(1, 1, by=LONG, held=1 << 62), PAUSE, END, PAUSE, PAUSE, PAUSE, BEGIN),
    ],
    "wrap -v --once-per 1h --min-hold 30 job true": [text(BEGIN, say(["ran", 60000, *holder()]))],
    "wrap -v -w 60 --once-ok 1h job true": [text(BEGIN, say(["ran ok", -(1 << 63)]))],
    "wrap -v -w 60 --slots db1,db2 job true": [
        text(BEGIN, QUEUED, SOON, message(HANDED), SOON, message(HANDED + " db1"), PAUSE, RENEWED, PAUSE, RELEASED),
    ],
    "wrap -v -w 60 --also x job true": [  # a connection for each lock
        text(BEGIN, GRANTED, PAUSE, RENEWED, PAUSE, RENEWED, PAUSE, RELEASED, END, BEGIN, GRANTED, PAUSE, RENEWED, PAUSE, RELEASED),
        text(BEGIN, GRANTED, PAUSE, say(["renewed", 30000, str(NOW), 1, BY]), END, BEGIN, QUEUED, PAUSE, PAUSE, GRANTED),
    ],
    "SEEDS wrap -v -w 20 job true": [
        text(CLUSTER, SHARDED, error(f"MOVED 7 {LONG}:7001")),
        text(CLUSTER, SHARDED, QUEUED, END, BEGIN, GRANTED, PAUSE, END, HELLO),  # once failed
        text(CLUSTER, SHARDED, error("ASK 7 [::1]:7001"), END, CLUSTER, ["+OK"], SHARDED, GRANTED),
    ],
    "SENTINELS wrap -v -w 20 job true": [
        text(SENTINEL, END, HELLO, ["+OK"], SUBSCRIBED, GRANTED, PAUSE, RENEWED, PAUSE, RELEASED),
        text(error("NOAUTH Authentication required."), END, ["+OK"], SENTINEL, END, HELLO, ["+OK"], SUBSCRIBED, GRANTED),
        text(["*-1"], END, SENTINEL, END, hello(role="replica"), END, SENTINEL, END, HELLO, error("ERR DB index is out of range")),
        text(say(["h" * 300, "1"])),
    ],
    "acquire --json -w 20 --max-queue 3 job": [
        text(BEGIN, say(["full", 3, *holder()])),
        text(BEGIN, GRANTED),
        text(BEGIN, say(["granted" + "\0" * 40, ID, str(NOW), 30000, 12, 1, "x"])),  # once failed
    ],
    "acquire --owner 00000000-0000-4000-8000-00000000abcd:1 job": [text(BEGIN, granted(owner="00000000-0000-4000-8000-00000000abcd:1"))],
    "renew -v --owner 00000000-0000-4000-8000-00000000abcd:1 job": [text(HELLO, RENEWED), text(HELLO, say(["lost", "gone", "", ""]))],
    "release -v --owner 00000000-0000-4000-8000-00000000abcd:1 job": [text(HELLO, say(["not held", OTHER, BY]))],
    "release --force --token 7 job": [
        text(HELLO, KNOWN, say(["forced", REDISSON, ""])),
        text(HELLO, KNOWN, say(["free"])),
        text(HELLO, UNKNOWN),
    ],
    "release -v --stop -w 30 job": [
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", 30000)), TURN, say(["stops"])),
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", 5), ("kept", 0)), PAUSE, stops(("asked", 1 << 62)), END,
             BEGIN, stops(("away", 0)), PAUSE),
        text(HELLO, KNOWN, SUBSCRIBED, stops(("asked", -1), ("alone", 30000))),
    ],
    "release --forget-run job": [text(HELLO, KNOWN, say(["forgot", LONG]))],
}


def row(owner=OTHER, by=BY, ttl=29000, token=str(NOW), since=str(NOW - 61000), ours=1, kept=0, slot="", by_hand=0):
    """A holder in the answer to status."""
    return [owner, 1, ttl, token, by, since, ours, kept, slot, by_hand]


def state(*rows, name="job", mode="x", waiters=3, slots=0):
    """The answer to status; without a row the lock is free."""
    owner, count, ttl, token, by, since, ours, kept, _, by_hand = rows[0] if rows else row("", "", -2, "", "", 0)
    return say([owner, count, ttl, token, by, since, ours, waiters, str(NOW), name, 45000, 10, 1, 2, 0, kept, str(NOW - 90000),
                mode if rows else "", list(rows), len(rows), slots, str(NOW - 80000), by_hand, 0])


ONE = state(row())
FREE = state(waiters=0)
ENDLESS = state(row(REDISSON, "", -1, "", "", 0))
SLOTTED = state(row(slot="1"), row(ID, slot="db1", kept=1), row(slot="3", by_hand=1), mode="=", slots=3)
OTHER_LOCK = state(row(by="a b\tx\ty\tz\t\"\\ \x1b[2J"), row(ID, BY + "\tnightly"), name="other", mode="s")
QUEUE = say([[OTHER, "45000", BY, 1, 1, "x"], [REDISSON, "", "", 0, 1, "x"], [ID, "90061000", BY, 1, 0, "#3"],
             [ID, "1", BY + "\twhy", 1, 1, "=db1,db2"], [ID, "", BY, 1, 1, "s"]])


def entry(number, event, **more):
    fields = {"event": event, "time": str(NOW - 10000 * number), "owner": OTHER, "token": str(NOW - 10000 * number), "by": BY, **more}
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
    entry(7, "granted", waited="1"),
    ["1-1", ["event", "granted", "time", "x"]],
]
LAST = [OTHER, str(NOW - 30000), str(NOW - 30000), str(NOW + 30000), "20", BY, "x", ""]
LOG = say(["log", str(NOW), ENTRIES, OTHER, LAST, [[str(NOW - 500), BY], ["", ""]], [LAST]])
NOTHING = say(["log", str(NOW), [], "", [], [], []])
STRANGER = say(["log", str(NOW), ENTRIES[3:5], REDISSON, LAST, [], []])

SLOTS = say([[0, 8191, ["127.0.0.1", 7000, "a"], ["127.0.0.1", 7002, "b"]], [8192, 16383, ["", 7001, "c"]]])
LOGS = say(["7", ["fairlock_log:{job}"]], ["0", ["fairlock_log:{{x}}", "fairlo\0ck_log:x{y}", "fairlock_log:x{y}"]], "job", "x{y}")
NAMES = say(["7", ["fairlock:{job}"]], ["0", ["fairlock:{other}", "fairlock:{x}"]], "job", "other", "x{y}")

INFO = (
    r"# Server\nredis_version:7.0.15\nrun_id:0123456789abcdef\n"
    r"# Clients\nconnected_clients:12\nmaxclients:10000\n"
    r"# Memory\nused_memory:1000000\nmaxmemory:2000000\nmaxmemory_policy:noeviction\n"
    r"aof_enabled:0\nrdb_last_bgsave_status:ok\naof_last_write_status:err\n"
    r"evicted_keys:5\n"
    r"role:master\nconnected_slaves:2\nslave0:ip=127.0.0.1,port=7003,state=online,offset=42,lag=0\n"
    r"slave1:ip=::1,port=7004,state=wait_bgsave,offset=0,lag=99\n"
)
GRANTS = say(1)
FULL = error("OOM command not allowed when used memory > 'maxmemory'.")
ALLOWED = say(["", "", ""])
LACKING = say(["~job +get", "+scan", "LREM, SET"])


def doctor_info(save="3600 1 300 100", fsync="everysec", least="1", clients="10000", info=INFO, hello=HELLO):
    """The replies to what doctor asks of a server: HELLO, permissions, INFO, settings, whether it grants, clock."""
    times = [line for i in range(3) for line in say([str(NOW // 1000), str(1000 * i)])]
    return hello + ALLOWED + say(info, save, fsync, "yes", least, clients) + GRANTS + times


HUGE_NUMBERS = doctor_info(least=str(-(1 << 63)), clients="9223372036854775807",
                           info=re.sub(r"(clients|memory|aof_enabled):\d+", r"\1:9223372036854775807", INFO))
ONE_LOCK = ONE + QUEUE

SHOWN = {
    "status job other": [text(HELLO, state(row(LONG, LONG, token=LONG, since=LONG))),
                         text(HELLO, SLOTTED, state(row(kept=1), name="other"))],
    "status --raw job": [text(HELLO, state(row(by="a b\tx\t\\\t-")))],
    "status --json -o +HELD,LEASE job": [text(HELLO, ENDLESS), text(HELLO, FREE, UNKNOWN)],
    "status --prometheus": [text(HELLO, HELLO, PAUSE, NAMES, ONE, OTHER_LOCK, FULL), text(HELLO, HELLO, PAUSE, say(["0", []]), error("ERR compiling"))],
    "status --watch": [text(HELLO, HELLO, PAUSE, NAMES, ONE, OTHER_LOCK, END, HELLO, HELLO, PAUSE, NAMES, ONE, FREE)],
    "SEEDS status --json": [
        text(CLUSTER, PAUSE, CLUSTER, PAUSE, SLOTS, END, CLUSTER, NAMES, PAUSE, ONE, GRANTS, END, CLUSTER, say(["0", []]), PAUSE, OTHER_LOCK, FULL),
        text(CLUSTER, PAUSE, CLUSTER, PAUSE, error("NOPERM no key S ")),  # once failed
        *(text(CLUSTER, PAUSE, CLUSTER, PAUSE, say(slots), END) for slots in ([], [[0, 1, [LONG, 7000]]])),
    ],
    "queue job": [text(HELLO, say([]))],
    "queue --json -o +WAITING job": [text(HELLO, QUEUE)],
    "queue --watch job": [text(HELLO, QUEUE, QUEUE)],
    "queue --remove 00000000-0000-4000-8000-00000000abcd:1 job": [text(HELLO, LEFT), text(HELLO, say(["unknown"]))],
    "log job": [text(HELLO, LOG),
                text(HELLO, say(["log", str(NOW), [["9" * 60, ENTRIES[2][1]]], LONG, [LONG] * 8, [[LONG, LONG]], [[LONG] * 8]]))],
    "log --follow --json job": [text(HELLO, LOG, PAUSE, ["_"], PAUSE, LOG, PAUSE, END, HELLO, ["_"], LOG)],
    "log --stats job": [text(HELLO, LOG), text(HELLO, NOTHING)],
    "log --stats --json --since 1h job": [text(HELLO, LOG)],
    "log --plot --since 1h job": [text(HELLO, LOG)],
    "SEEDS log --json --since 1w": [text(CLUSTER, PAUSE, CLUSTER, PAUSE, SLOTS, END, CLUSTER, LOGS, LOG, STRANGER, END, CLUSTER, say(["0", []]))],
    "doctor --replicas 1 job": [
        text(hello(version=LONG, software=LONG), HELLO, PAUSE, hello(version=LONG, mode=LONG), ALLOWED, say(f"slave0:ip={LONG},port=1\\n")),
        text(HELLO, HELLO, PAUSE, HUGE_NUMBERS, HELLO, ONE_LOCK),
        text(HELLO, HELLO, PAUSE, HELLO, error("NOPERM no permissions to run the 'eval' command"), error("NOPERM info")),
    ],
    "doctor --json job": [text(HELLO, HELLO, PAUSE, HELLO, LACKING, doctor_info()[len(HELLO + ALLOWED):], ONE_LOCK)],
    "SEEDS doctor": [text(CLUSTER, PAUSE, CLUSTER, PAUSE, SLOTS, END,
                          CLUSTER, doctor_info(save="", hello=CLUSTER, fsync="always"), NAMES, ONE_LOCK, ONE_LOCK, END,
                          CLUSTER, doctor_info(hello=CLUSTER), say(["0", []]), END)],
}
