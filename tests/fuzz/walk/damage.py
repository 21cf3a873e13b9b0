"""Somebody writes into the keys of the lock. The forms of the records do not matter: what stands between blanks is changed."""

import protocol
from promises import demand

NUMBERS = ["", "-", "-1", "0", "1", "99999999999999999999", "9007199254740992", "9007199254740991", "1e3", "1e400", "0x10",
           "nan", "inf", "-inf", "1.5", "1-2", "--", "9" * 400]
WORDS = NUMBERS + ["\x00\udcff", "a b", "\t", "\n", " ", "x" * 5000, ",", ",,", ",a", "held", "kept", "waits", "new", "ok", "ok1000",
                   "ok-", "o5", "w", "a", "h", ":", "1:exit", "é", "s", "x", "=", "=1", "=a", "=a,b", "asked", "#0", "#2",
                   "#99999999", "fairlock:slots", "fairlock:shared", "fairlock:1", "fairlock:"]
IDS = ["nemo", "a b", "", "\udcff", "x" * 3000, "fairlock:1", "fairlock:99999999999999999999", "fairlock:x"]
SCORES = ["inf", "-inf", "0", "1e300", "-1", "1.5", "1800000000000"]
KINDS = ["string", "hash", "set", "list", "zset"]


def choose(chance, look, ids):
    """The arguments of a step. Numbers choose among what is there when the step is carried out."""
    one, number, key = chance.choice, chance.randrange(1000), chance.randrange(len(protocol.KEYS))
    who, word = one(IDS + ids * 3 + look.list), one(WORDS if chance.random() < 0.4 else NUMBERS)
    name = one(["h:", "w:", "s:", "n:", ""]) + one(ids + ["1"])
    choices = [
        (40, ["column", number, chance.randrange(13), word]), (4, ["column", number, chance.randrange(13), None]),
        (5, ["cut", number, chance.randrange(200)]), (5, ["swap", number, chance.randrange(1000)]), (8, ["drop", number]),
        (10, ["write", number, word]), (12, ["field", name, word]), (4, ["count", one(NUMBERS)]), (3, ["persist", key]),
        (6, ["push", who]), (6, ["unlist", who]), (10, ["score", one(protocol.SETS), who, one(SCORES)]),
        (6, ["unscore", one(protocol.SETS), who]), (2, ["type", key, one(KINDS)]), (4, ["delete", key])]
    return chance.choices([step for _, step in choices], [weight for weight, _ in choices])[0]


def do(world, what, *words):
    ask = world.servers.connection.ask
    try:
        DAMAGES[what](world, ask, *words)
    except protocol.ServerError as error:
        if not world.odd_type:
            raise error


def field(ask, number):
    fields = sorted(ask("HKEYS", protocol.STATE))
    return fields[number % len(fields)] if fields else None


def change(ask, number, make):
    name = field(ask, number)
    if name is not None:
        ask("HSET", protocol.STATE, name, make(ask("HGET", protocol.STATE, name)))


def with_column(text, column, word):
    columns = text.split(" ")
    column %= len(columns)
    columns[column : column + 1] = [] if word is None else [word]
    return " ".join(columns)


def swap(world, ask, number, other):
    one, other = field(ask, number), field(ask, other)
    if one is not None:
        ask("HSET", protocol.STATE, one, ask("HGET", protocol.STATE, other))


def drop(world, ask, number):
    name = field(ask, number)
    if name is not None:
        ask("HDEL", protocol.STATE, name)


def persist(world, ask, number):
    world.may_stay.add(protocol.KEYS[number])
    ask("PERSIST", protocol.KEYS[number])


def score(world, ask, key, who, value):
    """A key that we make has no time to live."""
    ask("ZADD", key, value, who)
    world.may_stay.add(key)


def put_type(world, ask, number, kind):
    key = protocol.KEYS[number]
    world.odd_type = world.odd_type or kind != protocol.TYPES[number]
    world.may_stay.add(key)
    ask("DEL", key)
    ask(*{"string": ["SET", key, "1"], "hash": ["HSET", key, "a", "1"], "set": ["SADD", key, "a"], "list": ["RPUSH", key, "a"],
          "zset": ["ZADD", key, "1", "a"]}[kind])


def count(world, ask, number):
    for owner in world.look.key:
        ask("HSET", protocol.LOCK, owner, number)


def write(world, ask, name, word):
    ask("HSET", protocol.STATE, name, word)
    world.may_stay.add(protocol.STATE)


DAMAGES = {
    "column": lambda world, ask, number, column, word: change(ask, number, lambda text: with_column(text, column, word)),
    "cut": lambda world, ask, number, length: change(ask, number, lambda text: text[:length]),
    "write": lambda world, ask, number, word: change(ask, number, lambda text: word),
    "swap": swap, "drop": drop, "field": write, "count": count, "persist": persist,
    "push": lambda world, ask, who: ask("RPUSH", protocol.LIST, who),
    "unlist": lambda world, ask, who: ask("LREM", protocol.LIST, 0, who),
    "score": score, "unscore": lambda world, ask, key, who: ask("ZREM", key, who), "type": put_type,
    "delete": lambda world, ask, number: ask("DEL", protocol.KEYS[number]),
}


def heal(world):
    """However damaged: when all clients have gone, and keys of other types and the lock are deleted, it can be used."""
    ask = world.servers.connection.ask
    for client in world.clients.values():
        client.kill(True)
    for key, kind in zip(protocol.KEYS, protocol.TYPES):
        if ask("TYPE", key) not in (kind, "none"):
            ask("DEL", key)
    world.odd_type = False
    if [ask("HGET", protocol.STATE, name) for name in ("name", "v")] != [protocol.LOCK, protocol.VERSION]:
        ask("DEL", protocol.STATE)  # another spelling or version uses it, and it has a time to live
    world.run_other(protocol.force("healer", "", False, world))
    for who, value in ask("ZRANGE", protocol.SET, 0, -1, "WITHSCORES"):
        if float(value) > world.server_ms() + 3600000:  # Redisson's own scripts would wait for that, too
            ask("ZADD", protocol.SET, world.server_ms() + 3600000, who)
    for number, want in enumerate(["x", "#1", "s", "x"]):
        world.take_and_give_back(f"healer{number}", 600000, want)
    demand(world.look.is_empty(), "heal", f"in the end there are {world.look.key}, {world.look.list}, {world.look.scores}")
