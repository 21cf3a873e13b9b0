"""A server with TLS 1.3 that ends each connection in one way, and knows no Redis.

usage: tls_ends.py WAY FOLDER PORT-FILE

FOLDER has server.crt, server.key and ca.crt. WAY is

refuse   wants a certificate; tells why it refuses, and resets the connection at once
goodbye  after the first bytes: says that nothing more comes, and closes
close    after the first bytes: just closes
reset    after the first bytes: resets the connection
garbage  after the first bytes: sends something that is no TLS
"""

import os
import socket
import ssl
import struct
import sys


def talk(tls, way):
    tls.recv(1000)
    if way == "goodbye":
        tls.unwrap()
    if way == "garbage":
        os.write(tls.fileno(), b"garbage " * 20)


def end(client, way, context):
    if way in ("refuse", "reset"):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        with context.wrap_socket(client, server_side=True) as tls:
            talk(tls, way)
    except OSError:
        pass
    client.close()


def main(way, folder, port_file):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(f"{folder}/server.crt", f"{folder}/server.key")
    context.load_verify_locations(f"{folder}/ca.crt")
    if way == "refuse":
        context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file, "w", encoding="ascii") as file:
        print(listener.getsockname()[1], file=file)
    while True:
        client, _ = listener.accept()
        end(client, way, context)


main(*sys.argv[1:])
