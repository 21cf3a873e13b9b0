"""The words of a picture, and whether two pictures say the same."""

import difflib
import re
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"

# What differs each time: durations, times of day, versions of the server, process ids.
MASKS = [
    (r"\b(\d+(\.\d+)? ?(ms|[smhdw])\b|(\d+[smhdw]){2,3}\b)", "0s"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "00:00"),
    (r"\b(Redis|Valkey) \d+\.\d+\.\d+", "Redis 0.0.0"),
    (r"\b\d{4,}\b", "0000"),
]


def masked(text):
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text)
    return text


def lines_of(svg):
    """Title, captions, and the lines of each screen."""
    lines, row = [], None
    for element in ElementTree.fromstring(svg).iter():
        if element.tag not in (f"{SVG}text", f"{SVG}title"):
            continue
        # Pieces of one line of a screen follow each other, and have one y.
        here = element.get("y") if element.get("textLength") else None
        if here is not None and here == row:
            lines[-1] += f" {element.text}"
        else:
            lines.append(element.text)
        row = here
    return [masked(line) for line in lines]


def same(one, other):
    """Where a line was cut depends on the digits before the cut."""
    if "…" in one[-1:] + other[-1:]:
        length = min(len(one), len(other)) - 1
        return one[:length] == other[:length]
    return one == other


def differences(was, now):
    """Lines of two pictures that differ, as diff(1) shows them."""
    was, now = lines_of(was), lines_of(now)
    if len(was) == len(now) and all(map(same, was, now)):
        return []
    return [line for line in difflib.unified_diff(was, now, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")]
