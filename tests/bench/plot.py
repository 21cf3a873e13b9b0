"""The medians as one SVG: a panel for each measure, all scales logarithmic."""

import math
from xml.sax.saxutils import escape

from report import OURS, REDISSON, number

WIDTH, LABELS, ROW, PANEL_GAP, HEAD = 960, 150, 20, 54, 60
PANEL_WIDTH = (WIDTH - PANEL_GAP) // 2
BLUE, GREY, INK, LINE = "#0b62c4", "#8a8f98", "#22262b", "#d9dce1"

PANELS = [
    ("a uncontended", "whole", "(a) lock, run true, give back: ms"),
    ("b hand-over", None, "(b) hand-over, {case} waiters: ms"),
    ("c drain", None, "(c) drain of {case}, per grant: ms"),
    ("e idle", "memory", "(e) memory of an idle waiter: kB PSS"),
    ("g locks per second", "processes", "(g) locks per second, whole processes"),
]


def text(x, y, words, anchor="start", colour=INK, size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def line(x1, y1, x2, y2, colour, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


class Scale:
    """A logarithmic scale from one power of ten to another."""

    def __init__(self, values, start, end):
        positive = [value for value in values if value > 0] or [1]
        self.low = math.floor(math.log10(min(positive)))
        self.high = max(math.ceil(math.log10(max(positive))), self.low + 1)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log10(max(value, 10 ** self.low)) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        return [10 ** power for power in range(self.low, self.high + 1)]


def spread(samples, measure, case, title):
    """A row for each tool: a dot for the median, a line from quartile to quartile."""
    keys = [key for key in samples.values if key[:2] == (measure, case)]
    keys.sort(key=lambda key: samples.row(key)[2])
    bottom = 30 + ROW * len(keys)
    values = [value for key in keys for value in samples.row(key)[1:]]
    scale = Scale(values, LABELS, PANEL_WIDTH - 50)
    out = [text(0, 14, title, weight="bold", size=13)]
    for tick in scale.ticks():
        out += [line(scale.at(tick), 24, scale.at(tick), bottom, LINE),
                text(scale.at(tick), bottom + 14, f"{tick:g}", "middle", GREY, 11)]
    for row, key in enumerate(keys):
        _, low, middle, high = samples.row(key)
        y, colour = 30 + ROW * row + ROW / 2, BLUE if key[2] == OURS else GREY
        out += [text(LABELS - 10, y + 4, key[2], "end", weight="bold" if key[2] == OURS else "normal"),
                line(scale.at(low), y, scale.at(high), y, colour, 4),
                f'<circle cx="{scale.at(middle):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>',
                text(PANEL_WIDTH, y + 4, number(middle), "end")]
    return out, bottom + 24


def growth(samples):
    """Curves of the server's time for a grant, by the number of waiters."""
    curves = {who: sorted((int(case.split()[1]), samples.median(measure, case, who))
                          for measure, case, name in samples.values
                          if measure == "d server time" and case.startswith("grant ") and name == who)
              for who in (OURS, REDISSON)}
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return None
    x, y = Scale([count for count, _ in points], LABELS, PANEL_WIDTH - 50), Scale([spent for _, spent in points], 190, 30)
    out = [text(0, 14, "(d) a grant on the server, by waiters: µs", weight="bold", size=13)]
    for tick in x.ticks():
        out += [line(x.at(tick), 24, x.at(tick), 190, LINE), text(x.at(tick), 204, f"{tick:g}", "middle", GREY, 11)]
    for tick in y.ticks():
        out += [line(LABELS, y.at(tick), PANEL_WIDTH - 50, y.at(tick), LINE),
                text(LABELS - 10, y.at(tick) + 4, f"{tick:g}", "end", GREY, 11)]
    for who, curve in curves.items():
        colour = BLUE if who == OURS else GREY
        out += [line(x.at(a), y.at(b), x.at(c), y.at(d), colour, 2) for (a, b), (c, d) in zip(curve, curve[1:])]
        out += [f'<circle cx="{x.at(count):.1f}" cy="{y.at(spent):.1f}" r="5" fill="{colour}"/>' for count, spent in curve]
        if curve:
            out.append(text(x.at(curve[-1][0]) - 8, y.at(curve[-1][1]) - 8, who, "end", weight="bold"))
    return out, 214


def panels(samples):
    for measure, wanted, title in PANELS:
        cases = dict.fromkeys(case for of, case, _ in samples.values if of == measure)
        for case in cases:
            if wanted in (None, case):
                yield spread(samples, measure, case, title.format(case=case))
    found = growth(samples)
    if found:
        yield found


def svg(bench):
    out, at, heights = [], 0, [HEAD, HEAD]
    for shapes, height in panels(bench.samples):
        at = heights.index(min(heights))
        out.append(f'<g transform="translate({at * (PANEL_WIDTH + PANEL_GAP)} {heights[at]})">' + "".join(shapes) + "</g>")
        heights[at] += height + 18
    head = [text(0, 20, "fairlock beside other locks", weight="bold", size=18),
            text(0, 40, "Medians and quartiles of one run; logarithmic scales; to the left is faster or less, but for (g).",
                 colour=GREY)]
    height = max(heights)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 -10 {WIDTH + 40} {height + 20}" width="{WIDTH + 40}" '
            f'height="{height + 20}" font-family="sans-serif"><rect x="-20" y="-10" width="100%" height="100%" fill="white"/>'
            + "".join(head + out) + "</svg>\n")
