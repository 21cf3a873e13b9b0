#!/usr/bin/env python3
"""Runs a program whose standard output or standard error another program has made non-blocking, and reads slowly.

usage: nonblocking.py pipe|socket|terminal 1|2 FILL COMMAND...

FILL bytes are in the pipe before the program starts; "full" is as many as it takes. Prints what the program wrote to this
descriptor, and ends with its status; with 99 if the descriptor of this process is a blocking one afterwards.
"""
import os
import pty
import socket
import subprocess
import sys
import termios
import time
import tty


def ends(kind):
    """Two descriptors: what is written to the second one can be read from the first."""
    if kind == "pipe":
        return os.pipe()
    if kind == "terminal":
        master, slave = pty.openpty()
        tty.setraw(slave, termios.TCSANOW)
        return master, slave
    return [end.detach() for end in socket.socketpair()]


def fill(writer, size):
    """Writes so many bytes, or as many as there is room for. Returns how many."""
    done = 0
    while size is None or done < size:
        try:
            done += os.write(writer, b"x" * (4096 if size is None else size - done))
        except BlockingIOError:
            break
    return done


def main():
    kind, number, size, *command = sys.argv[1:]
    reader, writer = ends(kind)
    os.set_blocking(writer, False)
    filled = fill(writer, None if size == "full" else int(size))
    other = "stderr" if number == "1" else "stdout"
    stream = "stdout" if number == "1" else "stderr"
    with subprocess.Popen(command, **{stream: writer, other: subprocess.DEVNULL}) as child:
        time.sleep(0.3)  # so that it finds the pipe full; if it is slower, the test is easier
        was_changed = os.get_blocking(writer)
        os.close(writer)
        text = b""
        while True:
            try:
                piece = os.read(reader, 5000)
            except OSError:  # a terminal that nobody has open any more
                break
            if not piece:
                break
            text += piece
            time.sleep(0.002)
        status = child.wait()
    sys.stdout.buffer.write(text[filled:])
    sys.stdout.flush()
    sys.exit(99 if was_changed and kind != "socket" else status)


main()
