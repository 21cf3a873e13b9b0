"""What a client sends to its server: heard by standing between them."""

import select
import socket
import subprocess


def overhear(server, path, command):
    """Runs a command, whose way to the server's socket leads over path. Returns its output, and what it has sent: a list
    of (bytes, how many requests) with the server's replies between one and the next."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        listener.settimeout(10)
        with listener.accept()[0] as near, socket.socket(socket.AF_UNIX) as far:
            far.connect(server)
            sent = relay(near, far)
    output = client.communicate(timeout=10)[0]
    if client.returncode:
        raise RuntimeError(f"{command}: status {client.returncode}")
    return output.decode(), [(part, count_requests(part)) for part in sent]


def relay(near, far):
    sent, last = [], far
    while True:
        for side in select.select([near, far], [], [], 10)[0]:
            said = side.recv(65536)
            if not said:
                return sent
            if side is near and last is far:
                sent.append(b"")
            if side is near:
                sent[-1] += said
            last = side
            (far if side is near else near).sendall(said)


def count_requests(text):
    """In the protocol of Redis: *WORDS, then $BYTES and the word for each."""
    count = 0
    while text:
        head, text = text.split(b"\r\n", 1)
        for _ in range(int(head[1:])):
            length, text = text.split(b"\r\n", 1)
            text = text[int(length[1:]) + 2:]
        count += 1
    return count
