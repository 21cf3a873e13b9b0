"""A real terminal, which tmux is, and what stands on its screen."""

import re
import subprocess
import time
from dataclasses import dataclass

# Everything that a scene waits for is there in a moment, or never.
PATIENCE_S = 30

SGR = re.compile(r"\x1b\[([0-9;:]*)m|\x1b[()].|[\x0e\x0f]")


def wait_until(true, what):
    """Returns what true() returns once it is something."""
    until = time.monotonic() + PATIENCE_S
    while True:
        found = true()
        if found:
            return found
        if time.monotonic() > until:
            raise TimeoutError(f"waited in vain until {what}")
        time.sleep(0.02)


@dataclass(frozen=True)
class Style:
    colour: int = -1  # of the 16 that terminals have; -1 is none
    bold: bool = False
    dim: bool = False
    reverse: bool = False


PLAIN = Style()


def restyled(style, codes):
    """The style after an escape sequence with these codes. Other codes change nothing that we draw."""
    for code in codes:
        if code == 0:
            style = PLAIN
        elif code in (1, 22):
            style = Style(style.colour, code == 1, style.dim and code == 1, style.reverse)
        elif code == 2:
            style = Style(style.colour, style.bold, True, style.reverse)
        elif code in (7, 27):
            style = Style(style.colour, style.bold, style.dim, code == 7)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = Style(code - 30 if code < 40 else code - 82, style.bold, style.dim, style.reverse)
        elif code == 39:
            style = Style(-1, style.bold, style.dim, style.reverse)
    return style


def cells_of(line, style):
    """The characters of a line, each with its style, and the style that goes on."""
    cells, at = [], 0
    for found in SGR.finditer(line):
        cells += [(character, style) for character in line[at : found.start()]]
        at = found.end()
        if found[1] is not None:
            style = restyled(style, [int(code or 0) for code in re.split("[;:]", found[1])])
    return cells + [(character, style) for character in line[at:]], style


class Terminal:
    """An interactive shell, which these words start, on a terminal of so many columns."""

    def __init__(self, folder, name, words, columns):
        self.command = ["tmux", "-S", f"{folder}/tmux", "-f", "/dev/null"]
        self.name = name
        self.tmux("new-session", "-d", "-s", name, "-x", str(columns), "-y", "60", *words)
        self.tmux("set-option", "-t", name, "status", "off")
        self.wait_for(r"^\$$")

    def tmux(self, *words):
        done = subprocess.run([*self.command, *words], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def type(self, line):
        self.tmux("send-keys", "-t", self.name, "-l", line)
        self.tmux("send-keys", "-t", self.name, "Enter")

    def text(self):
        return self.tmux("capture-pane", "-t", self.name, "-p")

    def shows(self, pattern):
        return re.search(pattern, self.text(), re.MULTILINE)

    def wait_for(self, pattern):
        """Returns the match."""
        try:
            return wait_until(lambda: self.shows(pattern), f"{self.name} shows {pattern}")
        except TimeoutError as late:
            raise TimeoutError(f"{late}; there is:\n{self.text()}") from None

    def run(self, line):
        """Types a line, and waits until it is done: there is a prompt below."""
        self.type(line)
        self.wait_for(r"^\$ " + re.escape(line) + r"[^$]*^\$$")

    def screen(self):
        """The lines down to the last one with something on it: lists of (character, style)."""
        lines, style = [], PLAIN
        for line in self.tmux("capture-pane", "-t", self.name, "-p", "-e").split("\n"):
            cells, style = cells_of(line, style)
            while cells and cells[-1][0] == " " and not cells[-1][1].reverse:
                cells.pop()
            lines.append(cells)
        while lines and not lines[-1]:
            lines.pop()
        return lines
