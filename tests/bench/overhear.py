"""Overhears a client: a proxy keeps what it sends to its server."""

import select
import socket
import subprocess


def overhear(server, folder, name, command):
    """Runs a command with a --url that leads through the proxy. Returns its output, and a list: a file with what it
    sent, how many requests that is, the file with what it sent after the server's replies, ..."""
    path = folder / "between"
    try:
        output, sent = stand_between(server, str(path), [*command[:2], "--url", f"unix:{path}", *command[2:]])
    finally:
        path.unlink()
    words = []
    for number, part in enumerate(sent):
        file = folder / f"{name}.{number}"
        file.write_bytes(part)
        words += [str(file), str(count_requests(part))]
    return output.strip(), words


def stand_between(server, path, command):
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
    return output.decode(), sent


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
    """Counts requests in the protocol of Redis: *WORDS, then $BYTES and the word for each."""
    count = 0
    while text:
        head, text = text.split(b"\r\n", 1)
        for _ in range(int(head[1:])):
            length, text = text.split(b"\r\n", 1)
            text = text[int(length[1:]) + 2:]
        count += 1
    return count

