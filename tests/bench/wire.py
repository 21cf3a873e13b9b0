"""A connection to a Redis server for the benchmarks' own requests."""

import socket


class Wire:
    """One connection, whose replies are read one by one."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rwb")

    def send(self, *words):
        self.file.write(encoded(*words))
        self.file.flush()

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if not line:
            raise ConnectionError("the server is gone")
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    def call(self, *words):
        self.send(*words)
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()


def encoded(*words):
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
