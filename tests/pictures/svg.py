"""Draws a picture in both themes from screens that tmux has kept with their colours: see tests/pictures/scenes.

Text stands on a grid of cells. Whatever font a reader has, the columns stay in line.

usage: svg.py takeover LEFT1 LEFT2 LEFT3 RIGHT1 RIGHT2 RIGHT3
       svg.py status|log|doctor SCREEN
"""

import os
import re
import sys
from html import escape
from itertools import groupby

TITLES = {
    "takeover": "web1 holds a lock and web2 waits for it. fairlock on web1 is killed, and web2 starts.",
    "status": "fairlock status: two locks that are held; two hosts wait for one of them. A last line counts one free lock.",
    "log": "fairlock log --plot: an hour of a lock, drawn to scale.",
    "doctor": "fairlock doctor: what it finds about a server, with a warning and its remedy.",
}
CAPTIONS = [
    "web1 has the lock “site” and deploys.",
    "web2 asks for the same lock and waits. A live line shows its place in the queue, and who holds the lock.",
    "Somebody kills fairlock on web1. Its deploy.sh is stopped first. Then web2 gets the lock and starts.",
]

MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = "-apple-system,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"

# GitHub's colours: page, window, its bar, its frame, text, faint text; then the 8 colours of terminals (bright ones are
# the same) from black to white.
THEMES = {
    "light": "#ffffff #ffffff #f6f8fa #d0d7de #1f2328 #59636e "
    "#24292f #cf222e #1a7f37 #9a6700 #0969da #8250df #1b7c83 #6e7781",
    "dark": "#0d1117 #0d1117 #161b22 #3d444d #e6edf3 #9198a1 "
    "#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4",
}

CELL, LEADING = 0.6, 1.45  # a cell's width and height, of the size of the font
BAR = 22  # height of a window's bar
PADDING = 9

# Characters that are drawn, so that they fill their cells in every font: the part of the cell's height above, the part
# filled, and how dense.
BLOCKS = {chr(0x2580 + eighths): (0.94 - eighths * 0.11, eighths * 0.11, 1) for eighths in range(1, 9)}
BLOCKS |= {"░": (*BLOCKS["█"][:2], 0.35), "┊": (0, 1, 1)}

SGR = re.compile(r"\x1b\[([0-9;:]*)m|\x1b[()].|[\x0e\x0f]")


def restyled(style, codes):
    """The style, a set of CSS classes, after an escape sequence with these codes. Other codes change nothing that we draw."""
    for code in codes:
        if code in (0, 22):
            style = {name for name in style if code and name[0] == "c"}
        elif code in (1, 2):
            style = style | {"bold" if code == 1 else "dim"}
        elif 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
            style = {name for name in style if name[0] != "c"} | ({f"c{code % 10}"} if code != 39 else set())
    return style


def screen(path):
    """The lines down to the last one with something on it: lists of (character, classes)."""
    lines, style = [], set()
    with open(path, encoding="utf-8") as file:
        for text in file.read().split("\n"):
            cells, at = [], 0
            for found in SGR.finditer(text):
                cells += [(character, " ".join(sorted(style))) for character in text[at : found.start()]]
                at = found.end()
                if found[1] is not None:
                    style = restyled(style, [int(code or 0) for code in re.split("[;:]", found[1])])
            cells += [(character, " ".join(sorted(style))) for character in text[at:]]
            while cells and cells[-1][0] == " ":
                cells.pop()
            lines.append(cells)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def css(theme):
    page, window, bar, frame, text, faint, *colours = THEMES[theme].split()
    rules = [
        f"text{{font-family:{MONOSPACE};fill:{text};white-space:pre}}",
        f".cap{{font-family:{SANS};font-size:13px}}.no{{fill:{page};font-weight:600;text-anchor:middle}}",
        f".dot{{fill:{faint}}}.win{{fill:{window};stroke:{frame}}}.bar{{fill:{bar};stroke:{frame}}}",
        f".name{{font-family:{SANS};font-size:12px;font-weight:600;fill:{faint}}}",
        f".note{{font-size:12px;font-weight:700;fill:{colours[1]};text-anchor:end}}",
        f".bold{{font-weight:700}}.dim{{opacity:.65}}.tick{{stroke:{faint};stroke-dasharray:2 3}}",
    ]
    return "".join(rules + [f".c{index}{{fill:{colour}}}" for index, colour in enumerate(colours)])


def runs_of(cells):
    """The pieces of a line that are drawn as one: (column, text, classes), without wide gaps"""
    column = 0
    for (classes, _), group in groupby(cells, lambda cell: (cell[1], cell[0] if cell[0] in BLOCKS else None)):
        text = "".join(character for character, _ in group)
        for piece in re.finditer(r"\S+( \S+)*", text):
            yield column + piece.start(), piece[0], classes
        column += len(text)


def piece(x, y, text, classes, size):
    cell, leading = size * CELL, size * LEADING
    if text[0] == "┊":
        return f'<path class="tick" d="M{number(x + cell / 2)} {number(y)}v{number(leading)}"/>'
    if text[0] in BLOCKS:
        top, share, density = BLOCKS[text[0]]
        return (
            f'<rect class="{classes or "dot"}" x="{number(x)}" y="{number(y + top * leading)}"'
            f' width="{number(len(text) * cell + 0.2)}" height="{number(share * leading)}"'
            + (f' opacity="{density}"/>' if density < 1 else "/>")
        )
    return (
        f'<text x="{number(x)}" y="{number(y + leading / 2 + size * 0.35)}"' + (f' class="{classes}"' if classes else "")
        + f' textLength="{number(len(text) * cell)}" lengthAdjust="spacingAndGlyphs">{escape(text, False)}</text>'
    )


def width_of(columns, size):
    """A window's, with its frame"""
    return columns * size * CELL + 2 * PADDING + 1


def window(x, y, name, lines, columns, rows, size, note=""):
    """A terminal with a screen on it; the note is ours. Returns its parts, and where it ends."""
    width = width_of(columns, size) - 1
    height = BAR + rows * size * LEADING + 2 * PADDING
    x += 0.5
    y += 0.5
    parts = [
        f'<rect class="win" x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="6"/>'
        f'<path class="bar" d="M{number(x)} {number(y + BAR)}v-{BAR - 6}a6 6 0 0 1 6-6h{number(width - 12)}a6 6 0 0 1 6 6v{BAR - 6}z"/>'
        f'<text class="name" x="{number(x + PADDING)}" y="{number(y + 15.5)}">{escape(name)}</text>'
        + (f'<text class="note" x="{number(x + width - PADDING)}" y="{number(y + 15.5)}">{escape(note)}</text>' if note else "")
        + f'<g font-size="{size}">'
    ]
    for row, cells in enumerate(lines):
        for column, text, classes in runs_of(cells):
            parts.append(piece(x + PADDING + column * size * CELL, y + BAR + PADDING + row * size * LEADING, text, classes, size))
    return [*parts, "</g>"], y + height + 0.5


def takeover(screens):
    """Left waits, right holds and is killed, left starts: three times the screens of both, under a numbered sentence."""
    parts, y, end, size, width = [], 0, 0, 11.8, 830
    for index, (left, right) in enumerate(zip(screens[:3], screens[3:]), 1):
        base = number(y + 13.5)
        parts.append(
            f'<circle class="dot" cx="9" cy="{number(y + 9)}" r="9"/><text class="cap no" x="9" y="{base}">{index}</text>'
            f'<text class="cap" x="26" y="{base}">{escape(CAPTIONS[index - 1])}</text>'
        )
        rows = max(len(left), len(right), 2)
        more, end = window(0, y + 26, "web2", left, 74, rows, size)
        note = "kill -9" if index == 3 else ""
        parts += more + window(width - width_of(35, size), y + 26, "web1", right, 35, rows, size, note)[0]
        y = end + 14
    return parts, width, end


def one_screen(screens):
    """The prompt below is left out, and what no line needs at the right."""
    lines = screens[0][:-1]
    columns = max(map(len, lines)) + 1
    parts, end = window(0, 0, "web1", lines, columns, len(lines), 12)
    return parts, width_of(columns, 12), end


name = sys.argv[1]
parts, width, height = (takeover if name == "takeover" else one_screen)([screen(path) for path in sys.argv[2:]])
width, height = number(width), number(height)
for theme in THEMES:
    with open(os.path.join(os.environ["PICTURES"], f"{name}-{theme}.svg"), "w", encoding="utf-8") as file:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        title = f"<title>{escape(TITLES[name])}</title>"
        print(head, title, f"<style>{css(theme)}</style>", *parts, "</svg>", sep="\n", file=file)
