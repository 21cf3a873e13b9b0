"""Screens as SVG: windows with text on a grid of cells. Whatever font a reader has, the columns stay in line."""

import re
from html import escape
from itertools import groupby

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
    rules += [f".c{index}{{fill:{colour}}}" for index, colour in enumerate(colours)]
    return "".join(rules)


def kind_of(cell):
    """Neighbours of one kind are drawn as one."""
    character, style = cell
    return style, character if character in BLOCKS else None


def runs_of(cells):
    """The pieces of a line: (column, text, style), without wide gaps"""
    column = 0
    for (style, _), group in groupby(cells, kind_of):
        text = "".join(character for character, _ in group)
        for piece in re.finditer(r"\S+( \S+)*", text):
            yield column + piece.start(), piece[0], style
        column += len(text)


def classes_of(style):
    names = []
    if style.colour >= 0:
        names.append(f"c{style.colour % 8}")
    if style.bold:
        names.append("bold")
    if style.dim:
        names.append("dim")
    return f' class="{" ".join(names)}"' if names else ""


class Picture:
    def __init__(self, width, title):
        self.width, self.height, self.title = width, 0, title
        self.parts = []

    def caption(self, x, y, index, text):
        """A numbered sentence of ours."""
        base = number(y + 13.5)
        self.parts.append(
            f'<circle class="dot" cx="{x + 9}" cy="{number(y + 9)}" r="9"/>'
            f'<text class="cap no" x="{x + 9}" y="{base}">{index}</text>'
            f'<text class="cap" x="{x + 26}" y="{base}">{escape(text)}</text>'
        )
        self.height = max(self.height, y + 20)

    @staticmethod
    def width_of(columns, size):
        """A window's, with its frame"""
        return columns * size * CELL + 2 * PADDING + 1

    def window(self, x, y, name, lines, columns, rows, size, note=""):
        """A terminal with a screen on it; the note is ours. Returns where it ends."""
        cell, leading = size * CELL, size * LEADING
        width = self.width_of(columns, size) - 1
        height = BAR + rows * leading + 2 * PADDING
        x += 0.5
        y += 0.5
        self.parts.append(
            f'<rect class="win" x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="6"/>'
            f'<path class="bar" d="M{number(x)} {number(y + BAR)}v-{BAR - 6}a6 6 0 0 1 6-6h{number(width - 12)}a6 6 0 0 1 6 6v{BAR - 6}z"/>'
            f'<text class="name" x="{number(x + PADDING)}" y="{number(y + 15.5)}">{escape(name)}</text>'
            + (f'<text class="note" x="{number(x + width - PADDING)}" y="{number(y + 15.5)}">{escape(note)}</text>' if note else "")
            + f'<g font-size="{size}">'
        )
        for row, cells in enumerate(lines):
            self.line(x + PADDING, y + BAR + PADDING + row * leading, cells, cell, leading, size)
        self.parts.append("</g>")
        self.width = max(self.width, x + width + 0.5)
        self.height = max(self.height, y + height + 0.5)
        return y + height + 0.5

    def line(self, x, y, cells, cell, leading, size):
        for column, text, style in runs_of(cells):
            left = x + column * cell
            if text[0] in BLOCKS:
                self.block(left, y, text, style, cell, leading)
                continue
            self.parts.append(
                f'<text x="{number(left)}" y="{number(y + leading / 2 + size * 0.35)}"{classes_of(style)}'
                f' textLength="{number(len(text) * cell)}" lengthAdjust="spacingAndGlyphs">{escape(text, False)}</text>'
            )

    def block(self, x, y, text, style, cell, leading):
        top, share, density = BLOCKS[text[0]]
        if text[0] == "┊":
            middle = number(x + cell / 2)
            self.parts.append(f'<path class="tick" d="M{middle} {number(y)}v{number(leading)}"/>')
            return
        name = f"c{style.colour % 8}" if style.colour >= 0 else "dot"
        self.parts.append(
            f'<rect class="{name}" x="{number(x)}" y="{number(y + top * leading)}" width="{number(len(text) * cell + 0.2)}"'
            f' height="{number(share * leading)}"' + (f' opacity="{density}"/>' if density < 1 else "/>")
        )

    def svg(self, theme):
        width, height = number(self.width), number(self.height)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        return "\n".join([head, f"<title>{escape(self.title)}</title>", f"<style>{css(theme)}</style>", *self.parts, "</svg>", ""])
