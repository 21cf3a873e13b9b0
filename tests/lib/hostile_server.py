"""The hostile server of hostile.py, and the loop that runs many cases at once."""

import collections
import heapq
import os
import selectors
import socket
import subprocess
import threading
import time

from corpus import CLOSE, Flood
from hostile_case import DIES_WITH_US, FAIRLOCK, HURRY, PATIENT, SAID_BYTES, TIME_S, owner_of
from resp import Incomplete, encode, parse, push, text


class Connection:
    """A connection that the program under test made."""

    def __init__(self, runner, case, peer, number):
        self.runner, self.case, self.peer, self.number = runner, case, peer, number
        self.heard = bytearray()
        self.said = bytearray()
        self.speech = collections.deque()  # iterators over parts: bytes, seconds to pause, CLOSE, a Flood
        self.rest = b""
        self.paused = False
        self.closed = False
        case.said.append(self.said)
        peer.setblocking(False)
        runner.selector.register(peer, selectors.EVENT_READ, self.ready)
        if case.step == "connect":
            self.do_harm(b"")
        self.speak()

    def do_harm(self, proper):
        self.case.reached = True
        said = self.case.say
        said = said(self.with_ports(proper)) if callable(said) else self.with_ports(said)
        if isinstance(said, list):
            self.case.shown = said
        self.speech.append(iter([said] if isinstance(said, bytes) else said))

    def with_ports(self, said):
        """Puts the ports of the two servers into redirections."""
        if self.case.scenario.url:
            for word, number in [(b"@HERE@", self.number), (b"@THERE@", 1 - self.number)]:
                port = self.case.ports[number]
                said = said.replace(encode(text(word)), encode(text(port))).replace(word, port)
        return said

    def ready(self, mask):
        if mask & selectors.EVENT_READ:
            self.listen()
        if mask & selectors.EVENT_WRITE and not self.closed:
            self.speak()

    def listen(self):
        try:
            data = self.peer.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self.heard += data
        try:
            while self.heard:
                value, end = parse(self.heard)
                del self.heard[:end]
                self.hear([part[1] for part in value[1]])
        except Incomplete:
            pass
        self.speak()

    def hear(self, words):
        case = self.case
        kind, proper = case.answer(self.runner.answers, words)
        if case.is_harm(kind):
            self.do_harm(proper)
        else:
            self.speech.append(iter([self.with_ports(proper)]))
        if kind == case.scenario.tells and case.counts[kind] == 1:
            message = push("message", words[8] + b":" + owner_of(words), "0")
            if case.step == "message":
                self.speech.append(iter([0.02]))
                self.do_harm(message)
            else:
                self.speech.append(iter([message]))

    def speak(self):
        """Sends what there is to say, as far as the program reads."""
        budget = 1 << 20  # then it is the turn of other connections
        while not self.paused and not self.closed and budget > 0:
            if not self.rest and not self.next_part():
                break
            try:
                sent = self.peer.send(self.rest[: 1 << 18]) if self.rest else 0
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
            if len(self.said) < SAID_BYTES:
                self.said += self.rest[: min(sent, SAID_BYTES)]
            self.rest = self.rest[sent:]
            budget -= sent
        if not self.closed:
            wants = self.rest or (self.speech and not self.paused)
            mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if wants else 0)
            self.runner.selector.modify(self.peer, mask, self.ready)

    def next_part(self):
        """Fetches the next part; returns False when there are no bytes to send now."""
        while self.speech:
            part = next(self.speech[0], None)
            if part is None:
                self.speech.popleft()
            elif part is CLOSE:
                self.close()
                return False
            elif isinstance(part, Flood):
                self.said += part[:SAID_BYTES]
                self.stop_listening()
                threading.Thread(target=flood, args=[self.peer.dup(), part], daemon=True).start()
                return False
            elif isinstance(part, float):
                self.paused = True
                self.runner.at(part, self.go_on)
                return False
            elif part:
                self.rest = memoryview(part)
                return True
        return False

    def go_on(self):
        self.paused = False
        if not self.closed:
            self.speak()

    def close(self):
        if not self.closed:
            self.stop_listening()
            self.peer.close()

    def stop_listening(self):
        self.closed = True
        self.runner.selector.unregister(self.peer)


def flood(peer, chunk):
    peer.settimeout(TIME_S)
    try:
        while True:
            peer.sendall(chunk)
    except OSError:
        peer.close()


class Runner:
    def __init__(self, folder, answers, jobs, report):
        self.folder, self.answers, self.jobs, self.report = folder, answers, jobs, report
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.running = set()
        self.again = []  # cases for which the machine was too busy
        self.number = 0
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "LC_ALL": "C.UTF-8",
            # freed memory is not kept, and malloc refuses what is too large, as it does without a sanitizer
            "ASAN_OPTIONS": "exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1",
        }

    def at(self, seconds, act):
        heapq.heappush(self.timers, (time.monotonic() + seconds, id(act), act))

    def run(self, cases):
        cases = iter(cases)
        more = True
        while more or self.running or self.again:
            while more and len(self.running) < self.jobs:
                case = next(cases, None)
                more = case is not None
                if more:
                    self.start(case)
            if self.again and not more and not self.running:
                self.start(self.again.pop())  # alone
            until = self.timers[0][0] if self.timers else time.monotonic() + 1
            for key, mask in self.selector.select(max(0, until - time.monotonic())):
                if key.fd in self.selector.get_map():  # an earlier event may have closed it
                    key.data(mask)
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()

    def start(self, case):
        case.tries += 1
        self.number += 1
        path = os.path.join(self.folder, f"s{self.number}")
        if case.scenario.url:
            case.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
            case.ports = [b"%d" % listener.getsockname()[1] for listener in case.listeners]
            url = case.scenario.url + case.ports[0].decode() + case.scenario.master
        else:
            case.listeners = [socket.socket(socket.AF_UNIX)]
            case.listeners[0].bind(path)
            case.listeners[0].listen()
            url = f"unix:{path}?db=1"
        for number, listener in enumerate(case.listeners):
            listener.setblocking(False)
            accept = lambda _, number=number: self.accept(case, number)
            self.selector.register(listener, selectors.EVENT_READ, accept)
        words = [PATIENT if word == HURRY and case.harmless else word for word in case.scenario.words]
        timeout = PATIENT if case.harmless else "300ms"
        case.started = time.monotonic()
        case.process = subprocess.Popen(
            [*DIES_WITH_US, FAIRLOCK, words[0], "-u", url,
             "--connect-timeout", timeout, *words[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment,
        )
        for name in case.output:
            pipe = getattr(case.process, name)
            os.set_blocking(pipe.fileno(), False)
            case.open.add(name)
            self.selector.register(
                pipe, selectors.EVENT_READ, lambda _, name=name, pipe=pipe: self.read(case, name, pipe)
            )
        case.pidfd = os.pidfd_open(case.process.pid)
        self.selector.register(case.pidfd, selectors.EVENT_READ, lambda _: self.reap(case))
        self.running.add(case)
        self.at(TIME_S, lambda tries=case.tries: self.hang(case, tries))

    def accept(self, case, number):
        peer = case.listeners[number].accept()[0]
        case.connections.append(Connection(self, case, peer, number))

    def read(self, case, name, pipe):
        data = pipe.read(1 << 16)
        if data:
            if len(case.output[name]) < 1 << 20:
                case.output[name] += data
            return
        self.selector.unregister(pipe)
        pipe.close()
        case.open.discard(name)
        self.check_end(case)

    def reap(self, case):
        _, case.status, case.usage = os.wait4(case.process.pid, 0)
        case.process.returncode = os.waitstatus_to_exitcode(case.status)
        case.ended = time.monotonic()
        self.selector.unregister(case.pidfd)
        os.close(case.pidfd)
        self.at(5, lambda tries=case.tries: self.finish(case, tries))
        self.check_end(case)

    def hang(self, case, tries):
        if case.status is None and case in self.running and case.tries == tries:
            case.hung = True
            case.process.kill()

    def check_end(self, case):
        if case.status is not None and not case.open:
            self.finish(case, case.tries)

    def finish(self, case, tries):
        if case not in self.running or case.tries != tries:
            return
        self.running.discard(case)
        for listener in case.listeners:
            self.selector.unregister(listener)
            if listener.family == socket.AF_UNIX:
                os.unlink(listener.getsockname())
            listener.close()
        for connection in case.connections:
            connection.close()
            connection.peer.close()
        faults = list(case.faults())
        if not case.reached and not faults and case.tries < 5:
            self.again.append(case)
        elif not case.reached:
            faults.append("never came to the step that the case is about")
        for name in list(case.open):
            pipe = getattr(case.process, name)
            self.selector.unregister(pipe)
            pipe.close()
        if case not in self.again:
            self.report(case, faults)
        case.forget()
