#!/usr/bin/env python3
"""Reports which lines of the scripts have run: marks in them tell, because the server's Lua has no debug hooks.

usage: marks.py put FILE.lua... FOLDER    writes the files to FOLDER with a mark before each line that begins a statement; a mark
                                          that is reached is in the server's log
       marks.py count LOG FILE.lua...     prints, for each file, how many of these lines were reached, and which were not; fails
                                          when there are any
"""
import pathlib
import re
import sys

# A script logs each mark once in a run, those up to a line with a return together: the server opens its log for each line.
DEFINITION = ("local seen__, new__ = {}, {} local function mark__(at, returns) if not seen__[at] then seen__[at] = true "
              "new__[#new__ + 1] = at end if returns and new__[1] then redis.log(redis.LOG_NOTICE, 'reached ' .. "
              "table.concat(new__, ' ')) new__ = {} end end ")

# A constant has no mark: lua/join puts its number in its place.
NO_STATEMENT = re.compile(r"\s*($|--|[)}]|(end|else|elseif|until)\b|local [A-Z_]+ = (\d+|(KEYS|ARGV)\[\d\])\s*(--|$))")
GOES_ON = re.compile(r"([-+*/=<>,({]|\.\.|\b(and|or|not))\s*(--.*)?$")


def statements(path):
    """The lines of a file, and the numbers of those that begin a statement."""
    lines, begin, goes_on, in_text = path.read_text(encoding="utf-8").split("\n"), [], False, False
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("--"):
            continue
        if not goes_on and not NO_STATEMENT.match(line):
            begin.append(number)
        in_text = (in_text or "[[" in line) and "]]" not in line
        goes_on = in_text or GOES_ON.search(line)
    return lines, begin


def put(files, folder):
    for path in files:
        lines, begin = statements(path)
        for number in begin:
            returns = "true" if re.search(r"\breturn\b", lines[number - 1]) else "false"
            lines[number - 1] = f"mark__('{path.name}:{number}', {returns}) {lines[number - 1]}"
        if path.parent.name == "scripts":
            lines[0] = DEFINITION + lines[0]
        (folder / path.name).write_text("\n".join(lines), encoding="utf-8")


def count(log, files):
    text = log.read_text(encoding="utf-8", errors="replace")
    reached = {name for names in re.findall(" reached (.*)", text) for name in names.split()}
    fault = False
    for path in files:
        lines, begin = statements(path)
        missed = [number for number in begin if f"{path.name}:{number}" not in reached]
        print(f"{100 - 100 * len(missed) / len(begin):6.2f} % of {len(begin):4d} lines  {path}")
        for number in missed:
            print(f"        {path}:{number}: {lines[number - 1].strip()}")
            fault = True
    return fault


verb, *paths = sys.argv[1:]
paths = [pathlib.Path(path) for path in paths]
sys.exit(put(paths[:-1], paths[-1]) if verb == "put" else count(paths[0], paths[1:]))
