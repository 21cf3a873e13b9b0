"""Where the scenes play: a few hosts and a server. tests/pictures/run has made namespaces for them, so that network, process ids
and host names are their own, and all of it ends with the scene."""

import os
import shutil
import subprocess
import sys
import tempfile

from terminal import Terminal, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/torture"))
from clockwork import Clockwork  # noqa: E402

PORT = 6390  # nobody else is in this network
URL = f"redis://lock.example.com:{PORT}"

# The commands that run under locks, and what they print. Each works until the scene ends it.
COMMANDS = {"backup.sh": "", "report": "", "deploy.sh": 'echo "$1: copying files"'}
BODY = """#!/bin/sh
{first}
until [ -e "end.${{0##*/}}" ]; do sleep 0.02; done
rm "end.${{0##*/}}"
"""

ON_HOST = ["unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh"]
SHELL = ["bash", "--norc", "--noprofile", "-i"]


class World:
    def __init__(self, build, server, cli):
        self.folder = tempfile.mkdtemp(prefix="pictures-")
        self.bin = os.path.join(self.folder, "bin")
        self.work = os.path.join(self.folder, "work")
        self.cli = cli
        os.mkdir(self.bin)
        os.mkdir(self.work)
        os.symlink(os.path.join(build, "fairlock"), os.path.join(self.bin, "fairlock"))
        for name, first in COMMANDS.items():
            self.write_command(os.path.join(self.work, name), first)
        library = os.path.join(build, "programs/clockwork.so")
        self.clock = Clockwork(library, os.path.join(self.folder, "clock"))
        self.start_server(server)

    def write_command(self, path, first):
        with open(path, "w", encoding="ascii") as file:
            file.write(BODY.format(first=first))
        os.chmod(path, 0o755)

    def start_server(self, server):
        words = [server, "--port", str(PORT), "--bind", "127.0.0.1", "--dir", self.folder, "--daemonize", "no"]
        words += ["--save", "", "--appendonly", "no"]
        environment = {**os.environ, **self.clock.environment()}
        with open(os.path.join(self.folder, "redis.log"), "wb") as log:
            subprocess.Popen(words, env=environment, stdout=log, stderr=log)
        wait_until(lambda: self.ask("PING") == "PONG", "the server answers")

    # The server: what it knows, and its clock

    def ask(self, *words):
        """What redis-cli prints."""
        command = [self.cli, "-p", str(PORT), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip()

    def set_clock(self, seconds):
        now, microseconds = map(int, self.ask("TIME").split())
        self.clock.step((seconds - now) * 10**9 - microseconds * 1000)

    def holder(self, name):
        """host, process id, user and command of the holder"""
        state = f"fairlock:{{{name}}}"
        record = self.ask("--raw", "HGET", state, "h:" + self.ask("--raw", "HGET", state, "holder"))
        return record.split(" ", 11)[-1].split("\t")

    def wait_for_holder(self, name, command, lease_s):
        """Until this command holds the lock, for longer than so."""

        def holds():
            return command in self.holder(name)[-1] and int(self.ask("PTTL", name)) > lease_s * 1000

        wait_until(holds, f"{command} holds {name}")

    def wait_for_waiters(self, name, count):
        queue = f"fairlock_queue:{{{name}}}"
        wait_until(lambda: self.ask("ZCARD", queue) == str(count), f"{count} wait for {name}")

    def wait_until_free(self, name):
        wait_until(lambda: self.ask("EXISTS", name) == "0", f"{name} is free")

    # People and programs on hosts

    def on(self, user, host, words):
        """The words that run these words as this user on this host, in the folder of the commands."""
        environment = {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": self.folder,
            "LOGNAME": user,
            "FAIRLOCK_URL": URL,
            "TERM": "tmux-256color",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            # A blue prompt, and what is typed is bold.
            "PS1": r"\[\e[34m\]$\[\e[0;1m\] ",
            "PROMPT_COMMAND": "sleep 0.5",  # what programs in the background say comes before the prompt
            "PS0": "\x1b[0m",
        }
        pairs = [f"{name}={value}" for name, value in environment.items()]
        return [*ON_HOST, host, "env", "-i", "-C", self.work, *pairs, *words]

    def terminal(self, user, host, columns):
        return Terminal(self.folder, host, self.on(user, host, SHELL), columns)

    def start(self, user, host, *words):
        """fairlock, in the background"""
        command = self.on(user, host, ["fairlock", *words])
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def end_command(self, name):
        """The command of this name that runs now ends."""
        path = os.path.join(self.work, f"end.{name}")
        with open(path, "wb"):
            pass
        wait_until(lambda: not os.path.exists(path), f"{name} has ended")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
