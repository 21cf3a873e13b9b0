"""What the server of hostile.py says in place of an answer.

An item is bytes, or a function of the proper answer that returns or yields bytes, seconds to pause, or CLOSE."""

import re

from resp import array, bulk, encode, push

CLOSE = object()


SHOWN = b"\x1b]0;owned\x07\x1b[2J\x9b31m\xc2\x9b2K\x00\x08\x7f\r\n\xff\xfe\xe2\x80\xae%s%n\t'\"\\{}"


def after(*parts):
    """The proper answer, and then these parts."""
    return lambda proper: (part for part in [proper, *parts])


def before(*parts):
    return lambda proper: (part for part in [*parts, proper])


def bytewise(proper):
    for index in range(len(proper)):
        yield proper[index : index + 1]
        if index < 20 or index % 20 == 0:
            yield 0.001


TYPES = {
    "status": b"+OK\r\n",
    "status-empty": b"+\r\n",
    "integer": b":1\r\n",
    "integer-empty": b":\r\n",
    "integer-max": b":9223372036854775807\r\n",
    "integer-min": b":-9223372036854775808\r\n",
    "integer-too-large": b":9223372036854775808\r\n",
    "integer-text": b":one\r\n",
    "string": b"$2\r\nhi\r\n",
    "string-empty": b"$0\r\n\r\n",
    "string-shown": bulk(SHOWN),
    "null-string": b"$-1\r\n",
    "null-array": b"*-1\r\n",
    "null-map": b"%-1\r\n",
    "null-push": b">-1\r\n",
    "null": b"_\r\n",
    "null-with-text": b"_x\r\n",
    "true": b"#t\r\n",
    "neither": b"#x\r\n",
    "double": b",1.5\r\n",
    "double-nan": b",nan\r\n",
    "double-huge": b",1e999999\r\n",
    "double-long": b"," + b"9" * 4000 + b"\r\n",
    "big-number": b"(3492890328409238509324850943850943825024385\r\n",
    "big-number-not": b"(one\r\n",
    "verbatim": b"=8\r\ntxt:some\r\n",
    "verbatim-short": b"=2\r\nhi\r\n",
    "blob-error": b"!10\r\nERR reason\r\n",
    "array-empty": b"*0\r\n",
    "array-nulls": array(*[b"_\r\n"] * 10),
    "array-strings": array(*[bulk("x")] * 12),
    "array-integers": array(*[b":1\r\n"] * 12),
    "array-nested": array(array(array(array(b":1\r\n")))),
    "map": b"%1\r\n+a\r\n:1\r\n",
    "map-of-maps": b"%1\r\n%0\r\n%1\r\n_\r\n_\r\n",
    "set": b"~2\r\n:1\r\n:1\r\n",
    "stream-string": b"$?\r\n;4\r\nhalf\r\n;0\r\n",
    "stream-array": b"*?\r\n:1\r\n.\r\n",
    "stream-map": b"%?\r\n+a\r\n:1\r\n.\r\n",
    "unknown-type": b"@1\r\n",
    "no-type": b"\r\n",
    "zero-bytes": bytes(64),
    "http": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "tls-alert": b"\x15\x03\x03\x00\x02\x02\x28",
}
LENGTHS = {
    f"{name}-{length.decode().strip()}": b"%s%s\r\n" % (kind, length)
    for name, kind in {"string": b"$", "array": b"*", "map": b"%", "push": b">"}.items()
    for length in [
        b"2147483647", b"4294967295", b"9223372036854775807", b"18446744073709551616", b"-2", b"", b"x",
    ]
}
ERRORS = {
    "error-" + (name or "empty"): b"-%s\r\n" % line
    for name, line in {
        "": b"",
        "blank": b" ",
        "ERR": b"ERR something",
        "shown": b"ERR " + SHOWN.replace(b"\r\n", b""),
        "1MB": b"ERR " + b"long " * 200000,
        "NOSCRIPT": b"NOSCRIPT No matching script. Please use EVAL.",
        "WRONGTYPE": b"WRONGTYPE Operation against a key holding the wrong kind of value",
        "LOADING": b"LOADING Redis is loading the dataset in memory",
        "BUSY": b"BUSY Redis is busy running a script.",
        "READONLY": b"READONLY You can't write against a read only replica.",
        "NOAUTH": b"NOAUTH Authentication required.",
        "TRYAGAIN": b"TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN": b"CLUSTERDOWN Hash slot not served",
        "MOVED": b"MOVED",
        "MOVED-blank": b"MOVED  ",
        "MOVED-slot": b"MOVED 1",
        "MOVED-no-host": b"MOVED 1 :7000",
        "MOVED-nowhere": b"MOVED 1 127.0.0.1:1",
        "MOVED-port-0": b"MOVED 1 127.0.0.1:0",
        "MOVED-port": b"MOVED 1 127.0.0.1:99999999999999999999",
        "MOVED-minus": b"MOVED -1 127.0.0.1:-1",
        "MOVED-slot-large": b"MOVED 99999999999999999999 127.0.0.1:1",
        "MOVED-shown": b"MOVED 1 \x1b[2J\xff:1",
        "MOVED-long": b"MOVED 1 " + b"h" * 100000 + b":1",
        "MOVED-ipv6": b"MOVED 1 [::1:1",
        "MOVED-path": b"MOVED 1 /etc/passwd",
        "ASK": b"ASK",
        "ASK-nowhere": b"ASK 1 127.0.0.1:1",
        "ASK-port": b"ASK 1 x:y",
    }.items()
}
REDIRECTIONS = {
    name.replace("127.0.0.1", "").replace("@", "").replace(" ", "-"): b"-%s\r\n" % name.encode()
    for name in [
        f"{word} {slot} {place}"
        for word in ["MOVED", "ASK"]
        for slot in ["0", "16383", "16384"]
        for place in ["127.0.0.1:@HERE@", "127.0.0.1:@THERE@"]
    ]
}
ADDRESSES = {
    "sentinel-" + name: array(*map(bulk, place))
    for name, place in {
        "itself": [b"127.0.0.1", b"@HERE@"],
        "nowhere": [b"127.0.0.1", b"1"],
        "port-0": [b"127.0.0.1", b"0"],
        "port-large": [b"127.0.0.1", b"99999999999999999999"],
        "port-minus": [b"127.0.0.1", b"-1"],
        "port-word": [b"127.0.0.1", b"redis"],
        "port-empty": [b"127.0.0.1", b""],
        "host-empty": [b"", b"6379"],
        "host-long": [b"h" * 100000, b"1"],
        "host-shown": [SHOWN, b"1"],
        "host-path": [b"/etc/passwd", b"1"],
        "one": [b"127.0.0.1"],
        "three": [b"127.0.0.1", b"1", b"1"],
    }.items()
}
PUSHES = {
    "push-" + name: before(data)
    for name, data in {
        "empty": b">0\r\n",
        "one": push("message"),
        "nulls": b">3\r\n_\r\n_\r\n_\r\n",
        "integers": b">3\r\n:1\r\n:2\r\n:3\r\n",
        "nested": b">3\r\n" + array(bulk("message")) + array() + b">1\r\n:1\r\n",
        "unknown": push("invalidate", "x"),
        "message-null": b">3\r\n" + bulk("message") + bulk("c") + b"_\r\n",
        "message-list": b">3\r\n" + bulk("message") + bulk("c") + array(bulk("0")),
        "message-shown": push("message", "c", SHOWN),
        "message-foreign": push("message", "another", "0"),
        "smessage": push("smessage", "c", "0"),
        "pmessage": push("pmessage", "*", "c", "0"),
        "subscribe": b">3\r\n" + bulk("subscribe") + bulk("c") + b":-9223372036854775808\r\n",
        "subscribe-100": (b">3\r\n" + bulk("subscribe") + bulk("c") + b":1\r\n") * 100,
        "unsubscribe": b">3\r\n" + bulk("unsubscribe") + b"_\r\n:0\r\n",
        "sunsubscribe": b">3\r\n" + bulk("sunsubscribe") + bulk("c") + b":0\r\n",
    }.items()
}
TALK = {
    "silence": b"",
    "close": lambda _: [CLOSE],
    "proper-close": after(CLOSE),
    "half-close": lambda proper: [proper[: len(proper) // 2], CLOSE],
    "half-silence": lambda proper: [proper[: len(proper) // 2]],
    "bytewise": bytewise,
    "twice": lambda proper: [proper, proper],
    "unasked-error": before(b"-ERR nobody asked\r\n"),
    "attribute": before(b"|1\r\n+ttl\r\n:3600\r\n"),
    "attribute-only": b"|1\r\n+ttl\r\n:3600\r\n",
    "then-junk": after(b"junk\r\n"),
    "deep-10000": b"*1\r\n" * 10000 + b":1\r\n",
}
ITEMS = {**TYPES, **LENGTHS, **ERRORS, **PUSHES, **TALK, **REDIRECTIONS, **ADDRESSES}

# After these the program must succeed all the same. (HARMFUL ones make it connect again, each time.)
HARMFUL = {"push-subscribe-100", "push-sunsubscribe"}
HARMLESS = ["bytewise", *(name for name in PUSHES if name not in HARMFUL)]

# Each stands in place of one element of the proper answer, at any depth.
ELEMENTS = {
    "null": b"_\r\n",
    "zero": b":0\r\n",
    "minus": b":-1\r\n",
    "one": b":1\r\n",
    "max": b":9223372036854775807\r\n",
    "min": b":-9223372036854775808\r\n",
    "text-empty": bulk(""),
    "text-zero": bulk("0"),
    "text-max": bulk("9223372036854775807"),
    "text-min": bulk("-9223372036854775808"),
    "text-larger": bulk("99999999999999999999"),
    "text-long": bulk("x" * 100000),
    "text-shown": bulk(SHOWN),
    "text-tabs": bulk("\t" * 20 + "\x1b[2J"),
    "status": b"+OK\r\n",
    "double": b",1.5\r\n",
    "true": b"#t\r\n",
    "list": array(bulk("a"), b":1\r\n"),
    "list-empty": array(),
    "map": b"%1\r\n+a\r\n:1\r\n",
    "push": push("message", "c", "0"),
    "error": b"-ERR inside\r\n",
}
MESSAGES_SAID = [
    b"", b"1", b"first", b"first 0", b"first -1", b"first 1", b"first 9223372036854775807",
    b"first 99999999999999999999", b"first 1e9", b"second", b"second 9223372036854775807",
    b"second -9223372036854775808", b"third 1", SHOWN, b"0" * 100000,
]


def leaves(value, path=()):
    """The paths to the elements of an answer."""
    kind, content = value
    if isinstance(content, list):
        for index, part in enumerate(content):
            yield (*path, index)
            yield from leaves(part, (*path, index))


def with_element(value, path, data):
    """The answer as bytes, with data in place of one element; None: without the element."""
    kind, content = value
    parts = []
    for index, part in enumerate(content):
        if index != path[0]:
            parts.append(encode(part))
        elif len(path) > 1:
            parts.append(with_element(part, path[1:], data))
        elif data is not None:
            parts.append(data)
    return b"%s%d\r\n" % (kind, len(parts) // 2 if kind == b"%" else len(parts)) + b"".join(parts)


def mutate(data, pool, dice):
    """Returns data with some bytes flipped, cut, doubled or joined."""
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.choice([1, 1, 2, 5, 20, 100]))
        deed = dice.randrange(7)
        if deed == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif deed == 1 and at < len(data):
            data[at] = dice.choice(b"$*:-+>%~_,#(=|!\r\n0123456789\0\x1b\xff")
        elif deed == 2:
            del data[at:end]
        elif deed == 3:
            data[at:at] = data[at:end] * dice.choice([1, 2, 50])
        elif deed == 4:
            other = dice.choice(pool)
            begin = dice.randrange(len(other))
            data[at:at] = other[begin : begin + dice.choice([2, 10, 1000])]
        elif deed == 5:
            del data[at:]
        else:
            numbers = list(re.finditer(rb"\d+", data))
            if numbers:
                found = dice.choice(numbers)
                data[found.start() : found.end()] = str(
                    dice.choice([0, 1, 2, 7, 1000, 2**31 - 1, 2**31, 2**63 - 1, 2**64])
                ).encode()
    return bytes(data)
