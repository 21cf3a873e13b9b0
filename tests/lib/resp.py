"""A connection to a server over RESP3. A byte that is no UTF-8 is a surrogate in texts, as in names of files."""

import socket


class Incomplete(Exception):
    pass


class ServerError(RuntimeError):
    """The server answered with an error."""


def parse(data, at=0):
    """Returns the kind of the value that begins at `at`, the value as Python has it, and where it ends. A map is the list of
    its keys and values in turn; an error of the server is a ServerError."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, line, end = data[at : at + 1], data[at + 1 : end].decode(errors="surrogateescape"), end + 2
    if kind in b"+-:_#,(":
        return kind, ServerError(line) if kind == b"-" else int(line) if kind == b":" else line or None, end
    count = int(line)
    if count < 0:
        return kind, None, end
    if kind in b"$=!":
        if len(data) < end + count + 2:
            raise Incomplete
        return kind, data[end : end + count].decode(errors="surrogateescape"), end + count + 2
    values = []
    for _ in range(count * 2 if kind == b"%" else count):
        _, value, end = parse(data, end)
        values.append(value)
    return kind, values, end


def request(words):
    parts = [word if isinstance(word, bytes) else str(word).encode(errors="surrogateescape") for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Connection:
    """To a port of 127.0.0.1, or to the path of a socket. When it breaks, or an answer is late, that is an OSError."""

    def __init__(self, place, timeout):
        self.data, self.pushed = bytearray(), []
        self.socket = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(place if isinstance(place, str) else ("127.0.0.1", place))

    def ask(self, *words):
        """Returns the answer; of a subscription, what confirms it. Other messages are kept in `pushed`."""
        self.socket.sendall(request(words))
        while True:
            kind, content = self.read()
            if kind != b">" or words[0].endswith("SUBSCRIBE") and content[0].endswith("subscribe"):
                return content
            self.pushed.append(content)

    def read(self):
        """The next value, and its kind; raises an error of the server."""
        kind, value = self.read_any()
        if isinstance(value, ServerError):
            raise value
        return kind, value

    def read_any(self):
        while True:
            try:
                kind, value, end = parse(self.data)
                break
            except Incomplete:
                part = self.socket.recv(65536)
                if not part:
                    raise ConnectionError from None
                self.data += part
        del self.data[:end]
        return kind, value

    def close(self):
        self.socket.close()
