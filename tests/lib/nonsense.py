"""A server on a unix socket, or a port of this host, that behaves as none should: nonsense.py PLACE FUNCTION."""

import os
import socket
import sys
import threading
import time


def http(peer):
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def close(peer):
    pass


def half(peer):
    peer.recv(4096)
    peer.sendall(b"%1\r\n$6\r\nserver\r\n$5\r\nre")
    time.sleep(60)


def silent(peer):
    time.sleep(60)


def wrong(peer):
    """Greets well, and then answers what is no answer."""
    peer.recv(4096)
    peer.sendall(b"%1\r\n$5\r\nproto\r\n:3\r\n")
    peer.sendall(b"*2\r\n$6\r\nqueued\r\n:1\r\n")
    time.sleep(60)


def proxy(peer):
    """Knows RESP2 only."""
    peer.recv(4096)
    peer.sendall(b"-NOPROTO sorry, this protocol version is not supported\r\n")
    time.sleep(60)


def serve(peer):
    with peer:
        try:
            globals()[sys.argv[2]](peer)
        except OSError:
            pass


if sys.argv[1].isdigit():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1] + ".tmp")
    listener.listen()
    os.rename(sys.argv[1] + ".tmp", sys.argv[1])
while True:
    # threads end with the process, and the process with the test
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
