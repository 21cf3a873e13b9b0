"""Reads and writes RESP3, for the torture test.

A value is (type, content): content is bytes, an int, or for the nested types a list. A map is the list
of its keys and values in turn; a null has None, whatever its spelling."""

import re
import socket

NESTED = b"*%~>|"
LINES = b"+-:_#,("
BULKS = b"$=!"


class Incomplete(Exception):
    pass


class Nonsense(Exception):
    pass


def parse(data, at=0, depth=0):
    """Returns the value that begins at `at`, and where it ends."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, line = data[at : at + 1], bytes(data[at + 1 : end])
    end += 2
    if not kind or kind not in NESTED + LINES + BULKS or depth > 50:
        raise Nonsense
    if kind in LINES:
        return (kind, int(line) if kind == b":" and re.fullmatch(rb"-?\d+", line) else line), end
    if not re.fullmatch(rb"\d+|-1", line):
        raise Nonsense
    count = int(line)
    if count < 0:
        return (b"_", None), end
    if kind in BULKS:
        if len(data) < end + count + 2:
            raise Incomplete
        return (kind, bytes(data[end : end + count])), end + count + 2
    content = []
    for _ in range(count * 2 if kind in b"%|" else count):
        value, end = parse(data, end, depth + 1)
        content.append(value)
    if kind == b"|":  # an attribute of the value that follows
        return parse(data, end, depth)
    return (kind, content), end


def bulk(string):
    content = string if isinstance(string, bytes) else string.encode()
    return b"$%d\r\n%s\r\n" % (len(content), content)


def array(*parts):
    return b"*%d\r\n" % len(parts) + b"".join(parts)


def plain(value):
    """As a Python value; raises RuntimeError for an error of the server."""
    kind, content = value
    if kind == b"-":
        raise RuntimeError(content.decode())
    if isinstance(content, list):
        return [plain(part) for part in content]
    return content.decode() if isinstance(content, bytes) else content


class Connection:
    """To a server of 127.0.0.1. When it breaks, or an answer is late, that is an OSError."""

    def __init__(self, port, timeout):
        self.data, self.pushed = bytearray(), []
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)

    def ask(self, *words):
        """Returns the answer; of a subscription, what confirms it. Other messages are kept in `pushed`."""
        self.socket.sendall(array(*(bulk(str(word)) for word in words)))
        while True:
            kind, content = self.read()
            if kind != b">" or words[0].endswith("SUBSCRIBE") and content[0].endswith("subscribe"):
                return content
            self.pushed.append(content)

    def read(self):
        """The next value, and its kind."""
        while True:
            try:
                value, end = parse(self.data)
                break
            except Incomplete:
                part = self.socket.recv(65536)
                if not part:
                    raise ConnectionError from None
                self.data += part
        del self.data[:end]
        return value[0], plain(value)

    def close(self):
        self.socket.close()
