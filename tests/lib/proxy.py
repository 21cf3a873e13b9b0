"""A proxy between clients and a server that does harm to connections; proxy.bash starts it.

usage: proxy.py LISTEN TARGET FOLDER      LISTEN, TARGET: HOST:PORT, or the path of a unix socket

Reads commands from the fifo FOLDER/commands, one a line, and writes into FOLDER/answers when each is done. The
first answer is the address on which it listens; "error..." is a failure.

    pass                 no harm
    cut [up|down]        a dead wire: nothing comes through, not even the end of a connection, and a client
                         that connects hangs. The next `pass` delivers what was sent meanwhile. up: only
                         towards the server
    only BYTES [up|down] a dead wire as soon as so much more has come through; clients can connect
    delay MS [up|down]   everything comes so much later
    forget               the present connections never carry anything again; new ones do
    reset                resets the present connections, at both ends
    snap up|down [BYTES] resets the next connection when it is to carry more than that (0) that way;
                         another `snap` is for the connection after it
    snaps                how many snaps are still to come
    refuse, listen       refuses new connections; takes them again
    count                how many connections there are
"""

import asyncio
import os
import resource
import socket
import struct
import sys


def new_socket(address):
    """A socket for an address, and the address as Python wants it."""
    if "/" in address:
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK), address
    host, port = address.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK), (host.strip("[]"), int(port))


async def stop(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Way:
    """One direction of all connections."""

    def __init__(self):
        self.delay = 0
        self.left = None
        self.is_open = asyncio.Event()
        self.is_open.set()

    def sent(self, count):
        if self.left is not None:
            self.left -= count
            if self.left == 0:
                self.left = None
                self.is_open.clear()


class Connection:
    """A client, and the connection to the server for it."""

    def __init__(self, proxy, client):
        self.client = client
        self.server, self.target = new_socket(proxy.target)
        self.forgotten = False
        self.snap = proxy.snaps.pop(0) if proxy.snaps else {}
        self.pumps = []
        self.task = asyncio.create_task(self.run(proxy.up, proxy.down))

    async def run(self, up, down):
        was_well = False
        try:
            await asyncio.get_running_loop().sock_connect(self.server, self.target)
            self.pump(self.client, self.server, up, self.snap.get("up"))
            self.pump(self.server, self.client, down, self.snap.get("down"))
            await asyncio.gather(*self.pumps)
            was_well = True
        except OSError:
            pass
        except asyncio.CancelledError:
            if self.forgotten:
                await asyncio.Event().wait()
        finally:
            await stop(self.pumps)
            for end in self.client, self.server:
                if not was_well:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()

    def pump(self, source, sink, way, most):
        queue = asyncio.Queue(64)
        if sink.family != socket.AF_UNIX:
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pumps.append(asyncio.create_task(self.read(source, queue, way, most)))
        self.pumps.append(asyncio.create_task(self.write(sink, queue, way)))

    async def read(self, source, queue, way, most):
        """Queues what comes and when it is due, and at the end b"" or an error; behind `most` bytes, an error."""
        loop = asyncio.get_running_loop()
        data = b"?"
        while data:
            await way.is_open.wait()
            try:
                data = await loop.sock_recv(source, 65536)
            except OSError as error:
                await queue.put((loop.time() + way.delay, error))
                return
            if most is not None and len(data) > most:
                await queue.put((loop.time() + way.delay, data[:most] or ConnectionError()))
                await queue.put((loop.time() + way.delay, ConnectionError()))
                return
            most = most and most - len(data)
            await queue.put((loop.time() + way.delay, data))

    async def write(self, sink, queue, way):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            await way.is_open.wait()
            if isinstance(data, OSError):
                raise data
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            while data:
                await way.is_open.wait()
                part = data[: way.left]
                await loop.sock_sendall(sink, part)
                way.sent(len(part))
                data = data[len(part) :]


class Proxy:
    def __init__(self, address, target):
        self.address = address
        self.target = target
        self.up = Way()
        self.down = Way()
        self.connections = []
        self.listener = None
        self.accepting = []
        self.snaps = []
        self.fillers = {}  # by address: connections of our own that fill the queue

    def listen(self):
        if self.listener:
            return
        self.listener, address = new_socket(self.address)
        if self.listener.family == socket.AF_UNIX:
            if os.path.exists(address):
                os.unlink(address)
            self.listener.bind(address)
        else:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(address)
            # port 0 was any free one: keep it
            self.address = f"{self.address.rsplit(':', 1)[0]}:{self.listener.getsockname()[1]}"
        self.accept()

    def accept(self):
        self.listener.listen(1024)
        self.accepting = [asyncio.create_task(self.take(self.listener))]

    async def take(self, listener):
        while True:
            client, name = await asyncio.get_running_loop().sock_accept(listener)
            filler = self.fillers.pop(name, None) if name else None
            if filler:
                filler.close()
                client.close()
                continue
            client.setblocking(False)
            self.connections = [other for other in self.connections if not other.task.done()]
            self.connections.append(Connection(self, client))

    async def hang(self):
        """Accepts no client: a full queue of connections makes the kernel drop the next."""
        await stop(self.accepting)
        self.listener.listen(0)
        for _ in range(4 if self.listener.family != socket.AF_UNIX else 0):
            filler, _ = new_socket(self.address)
            filler.connect_ex(self.listener.getsockname())
            self.fillers[filler.getsockname()] = filler

    async def refuse(self):
        if not self.listener:
            return
        await stop(self.accepting)
        for filler in self.fillers.values():
            filler.close()
        self.fillers = {}
        self.listener.close()
        self.listener = None

    def present(self):
        return [connection for connection in self.connections if not connection.task.done()]

    def ways(self, which):
        return {"up": [self.up], "down": [self.down], "": [self.up, self.down]}[which]

    async def do(self, command, argument="", which=""):
        if command == "pass":
            for way in self.ways(""):
                way.delay = 0
                way.left = None
                way.is_open.set()
            if self.listener:
                await stop(self.accepting)
                self.accept()
        elif command == "cut":
            for way in self.ways(argument):
                way.is_open.clear()
            if self.listener:
                await self.hang()
        elif command == "only":
            for way in self.ways(which):
                way.left = int(argument)
        elif command == "delay":
            for way in self.ways(which):
                way.delay = float(argument) / 1000
        elif command == "forget":
            for connection in self.present():
                connection.forgotten = True
                await stop(connection.pumps)
        elif command == "reset":
            await stop([connection.task for connection in self.present()])
        elif command == "snap":
            self.snaps.append({argument: int(which or 0)})
        elif command == "snaps":
            return str(len(self.snaps))
        elif command == "refuse":
            await self.refuse()
        elif command == "listen":
            self.listen()
        elif command == "count":
            return str(len(self.present()))
        else:
            raise ValueError(f"there is no command {command}")
        return "done"


async def main(address, target, folder):
    proxy = Proxy(address, target)
    commands = asyncio.StreamReader()
    # Open for writing, too, so that there is no end of file between two writers.
    fifo = open(folder + "/commands", "r+b", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), fifo)
    answers = os.open(folder + "/answers", os.O_RDWR)
    proxy.listen()
    os.write(answers, (proxy.address + "\n").encode())
    async for line in commands:
        try:
            answer = await proxy.do(*line.decode().split())
        except (OSError, ValueError, KeyError, TypeError) as error:
            answer = f"error: {error!r}"
        os.write(answers, (answer + "\n").encode())


files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
asyncio.run(main(*sys.argv[1:4]))
