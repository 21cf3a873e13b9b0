"""A port that drops everything, because its queue of connections is full: deaf.py PORT READY-FILE"""

import socket
import sys
import time

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(0)
fillers = []
for _ in range(4):
    filler = socket.socket()
    filler.setblocking(False)
    filler.connect_ex(listener.getsockname())
    fillers.append(filler)
open(sys.argv[2], "w", encoding="ascii").close()
time.sleep(600)
