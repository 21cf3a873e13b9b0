"""A proxy that keeps one request back, so that the server gets it late, behind newer ones.

usage: late.py SOCKET WORD FOLDER      SOCKET: the server's; WORD: a word of the request

It listens on a port of 127.0.0.1, which it writes into FOLDER/port. It keeps the first request that has the word, and
closes that connection to the client. When there is a file FOLDER/go, it sends the request to the server, over the old
connection, and makes FOLDER/gone when the server has answered. It passes on everything else.
"""

import os
import select
import socket
import sys
import threading
import time


def write(path, text):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(path + ".new", path)


class Late:
    def __init__(self, path, word, folder):
        self.path, self.word, self.folder = path, word, folder
        self.is_kept = False

    def split(self, data):
        """Splits data into what to pass on and what to keep: all from the request with the word on."""
        at = data.find(self.word)
        if self.is_kept or at < 0:
            return data, b""
        self.is_kept = True
        begin = data.rfind(b"\r\n*", 0, at) + 2 if b"\r\n*" in data[:at] else 0
        return data[:begin], data[begin:]

    def deliver(self, server, kept):
        while not os.path.exists(self.folder + "/go"):
            time.sleep(0.02)
        server.sendall(kept)
        server.recv(65536)
        write(self.folder + "/gone", "")

    def carry(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.path)
        while True:
            ready, _, _ = select.select([client, server], [], [])
            for source in ready:
                data = source.recv(65536)
                if not data:
                    return
                if source is server:
                    client.sendall(data)
                    continue
                data, kept = self.split(data)
                server.sendall(data)
                if kept:
                    if data:
                        client.sendall(server.recv(65536))  # the client must learn what kind of server this is
                    client.close()
                    self.deliver(server, kept)
                    return

    def run(self):
        listener = socket.create_server(("127.0.0.1", 0))
        write(self.folder + "/port", str(listener.getsockname()[1]))
        while True:
            client, _ = listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()


Late(sys.argv[1], sys.argv[2].encode(), sys.argv[3]).run()
