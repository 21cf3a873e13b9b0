"""A receiver on a datagram socket, as syslog is.

receiver.py SOCKET FILE    writes each datagram as a line
receiver.py SOCKET         reads nothing, and makes SOCKET.full when its queue is full"""

import os
import socket
import sys
import time

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
if len(sys.argv) > 2:
    with open(sys.argv[2], "ab", buffering=0) as out:
        while True:
            out.write(receiver.recv(65536) + b"\n")
sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sender.connect(sys.argv[1])
sender.setblocking(False)
try:
    while True:
        sender.send(b"x")
except BlockingIOError:
    os.close(os.open(sys.argv[1] + ".full", os.O_CREAT | os.O_WRONLY))
time.sleep(600)
