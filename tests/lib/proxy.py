"""A proxy between clients and a server that does harm to connections; proxy.bash starts it.

usage: proxy.py LISTEN TARGET FOLDER      LISTEN, TARGET: HOST:PORT, or the path of a unix socket

Reads commands from the fifo FOLDER/commands, one a line, and writes into FOLDER/answers when each is done. The
first answer is the address on which it listens; "error..." is a failure.

    pass                 no harm
    cut                  a dead wire: nothing comes through, not even the end of a connection. The next `pass`
                         delivers what was sent meanwhile
    delay MS [up|down]   everything comes so much later; up: only towards the server
    only up|down BYTES   each new connection is dead behind so much that way
    snap up|down [BYTES] resets the next connection when it is to carry more than that (0) that way;
                         another `snap` is for the connection after it
    snaps                how many snaps are still to come
    forget               the present connections never carry anything again; new ones do
    reset                resets the present connections, at both ends
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
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK), (host, int(port))


async def stop(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Connection:
    """A client, and the connection to the server for it."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client
        self.server, self.target = new_socket(proxy.target)
        self.is_forgotten = False
        # It carries so much that way, and then breaks, or hangs.
        self.way, self.most, self.hangs = proxy.snaps.pop(0) if proxy.snaps else proxy.limit
        self.pumps = []
        self.task = asyncio.create_task(self.run())

    async def run(self):
        was_well = False
        try:
            await asyncio.get_running_loop().sock_connect(self.server, self.target)
            self.pump(self.client, self.server, "up")
            self.pump(self.server, self.client, "down")
            await asyncio.gather(*self.pumps)
            was_well = True
        except OSError:
            pass
        except asyncio.CancelledError:
            if self.is_forgotten:
                await asyncio.Event().wait()
        finally:
            await stop(self.pumps)
            for end in self.client, self.server:
                if not was_well:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()

    def pump(self, source, sink, way):
        queue = asyncio.Queue(64)
        if sink.family != socket.AF_UNIX:
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pumps.append(asyncio.create_task(self.read(source, queue, way)))
        self.pumps.append(asyncio.create_task(self.write(sink, queue)))

    async def read(self, source, queue, way):
        """Queues what comes and when it is due, and at the end b"" or an error."""
        loop = asyncio.get_running_loop()

        async def put(part):
            await queue.put((loop.time() + self.proxy.delays[way], part))

        left = self.most if way == self.way else None
        data = b"?"
        while data:
            await self.proxy.is_open.wait()
            try:
                data = await loop.sock_recv(source, 65536)
            except OSError as error:
                return await put(error)
            if left is not None and len(data) > left:
                if left:
                    await put(data[:left])
                return await put(None if self.hangs else ConnectionError())
            if left is not None:
                left -= len(data)
            await put(data)

    async def write(self, sink, queue):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            await self.proxy.is_open.wait()
            if data is None:
                await asyncio.Event().wait()
            if isinstance(data, OSError):
                raise data
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            await loop.sock_sendall(sink, data)


class Proxy:
    """Its functions do_NAME are the commands."""

    def __init__(self, address, target):
        self.address, self.target = address, target
        self.connections = []
        self.snaps = []
        self.listener = self.accepting = None
        self.is_open = asyncio.Event()

    def present(self):
        return [connection for connection in self.connections if not connection.task.done()]

    async def take(self):
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(self.listener)
            client.setblocking(False)
            self.connections = self.present() + [Connection(self, client)]

    async def do_pass(self):
        self.delays = {"up": 0, "down": 0}
        self.limit = None, None, False
        self.is_open.set()

    async def do_cut(self):
        self.is_open.clear()

    async def do_delay(self, ms, *ways):
        self.delays.update((way, float(ms) / 1000) for way in ways or self.delays)

    async def do_only(self, way, most):
        self.limit = way, int(most), True

    async def do_snap(self, way, most=0):
        self.snaps.append((way, int(most), False))

    async def do_snaps(self):
        return str(len(self.snaps))

    async def do_count(self):
        return str(len(self.present()))

    async def do_forget(self):
        for connection in self.present():
            connection.is_forgotten = True
            await stop(connection.pumps)

    async def do_reset(self):
        await stop([connection.task for connection in self.present()])

    async def do_refuse(self):
        await stop([self.accepting])
        self.listener.close()

    async def do_listen(self):
        self.listener, address = new_socket(self.address)
        if "/" not in self.address:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif os.path.exists(address):
            os.unlink(address)
        self.listener.bind(address)
        self.listener.listen(1024)
        if "/" not in self.address:
            self.address = "{}:{}".format(*self.listener.getsockname())  # port 0 was any free one: keep it
        self.accepting = asyncio.create_task(self.take())


async def main(address, target, folder):
    proxy = Proxy(address, target)
    commands = asyncio.StreamReader()
    # Open for writing, too, so that there is no end of file between two writers.
    fifo = open(folder + "/commands", "r+b", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), fifo)
    answers = os.open(folder + "/answers", os.O_RDWR)
    await proxy.do_pass()
    await proxy.do_listen()
    os.write(answers, (proxy.address + "\n").encode())
    async for line in commands:
        try:
            command, *words = line.decode().split()
            answer = await getattr(proxy, "do_" + command)(*words) or "done"
        except (OSError, ValueError, TypeError, AttributeError) as error:
            answer = f"error: {error!r}"
        os.write(answers, (answer + "\n").encode())


files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
asyncio.run(main(*sys.argv[1:4]))
