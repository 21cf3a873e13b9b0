"""A server on a unix socket, or a port of this host, that behaves as none should.

usage: nonsense.py PLACE FUNCTION [FOLDER]      with FOLDER it speaks TLS 1.3, with server.crt, server.key and ca.crt in FOLDER"""

import os
import socket
import ssl
import struct
import sys
import threading
import time


def http(peer):
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def close(peer):
    if context:
        peer.recv(1000)


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


# With TLS

RESETS = struct.pack("ii", 1, 0)


def refuse(peer):
    """Never comes here: tells in the handshake that it wants a certificate, and resets the connection at once."""


def goodbye(peer):
    """Says that nothing more comes, and closes."""
    peer.recv(1000)
    peer.unwrap()


def reset(peer):
    peer.recv(1000)


def garbage(peer):
    """Sends something that is no TLS."""
    peer.recv(1000)
    os.write(peer.fileno(), b"garbage " * 20)


def serve(peer):
    if sys.argv[2] in ("refuse", "reset"):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
    try:
        with context.wrap_socket(peer, server_side=True) if context else peer as end:
            globals()[sys.argv[2]](end)
    except OSError:
        pass
    peer.close()


place, function, *folder = sys.argv[1:]
context = None
for name in folder:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(f"{name}/server.crt", f"{name}/server.key")
    context.load_verify_locations(f"{name}/ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED if function == "refuse" else ssl.CERT_NONE
if place.isdigit():
    listener = socket.create_server(("127.0.0.1", int(place)))
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place + ".tmp")
    listener.listen()
    os.rename(place + ".tmp", place)
while True:
    # threads end with the process, and the process with the test
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
