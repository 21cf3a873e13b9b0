#!/usr/bin/env python3
"""Reports which statements of the scripts have run: marks in them tell, because the server's Lua has no debug hooks.

usage: marks.py put FILE.lua... FOLDER    writes the files to FOLDER with a mark before each statement and each
                                          condition of an elseif; a mark that is reached is in the server's log
       marks.py count LOG FILE.lua...     prints, for each file, how many lines with a mark were reached in full,
                                          and which were not; fails when there are any

A statement counts with the line on which it begins. A constant has no mark: lua/join puts its number in its place.
"""
import os
import re
import sys

# A script logs each mark once in a run, those between two returns together: the server opens its log for each line.
DEFINITION = ("local seen__, new__ = {}, {} local function mark__(at, returns) if not seen__[at] then seen__[at] = true "
              "new__[#new__ + 1] = at end if returns and new__[1] then redis.log(redis.LOG_NOTICE, 'reached ' .. "
              "table.concat(new__, ' ')) new__ = {} end return true end ")

TOKEN = re.compile(r"""
    (?P<blank> \s+ | --\[\[.*?\]\] | --[^\n]* )
  | (?P<text> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | \[\[.*?\]\] )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<number> 0x[0-9a-fA-F]+ | \d+(?:\.\d+)?(?:[eE][+-]?\d+)? )
  | (?P<other> \.\.\. | \.\. | [=~<>]= | . )
""", re.VERBOSE | re.DOTALL)

CONSTANT = re.compile(r"^\t*local [A-Z_]+ = (?:[0-9]+|KEYS\[[0-9]\]|ARGV\[[0-9]\]) *(--|$)", re.MULTILINE)  # as in lua/join

KEYWORDS = set("and break do else elseif end false for function if in local nil not or repeat return then true "
               "until while".split())
BEGIN = {"break", "do", "for", "function", "if", "local", "repeat", "return", "while"}
# An expression ends with one of ENDS. Behind it, and behind one of OPENS, a word can only begin a statement.
ENDS = {")", "]", "}", "...", "end", "false", "nil", "true"}
OPENS = {"do", "else", "repeat", "then", ";", "break", None}


def tokens_of(source):
    return [(match.lastgroup, match.group(), match.start()) for match in TOKEN.finditer(source)
            if match.lastgroup != "blank"]


def is_name(kind, token):
    return kind == "word" and token not in KEYWORDS


def begins_statement(before, kind, token):
    """Whether a token begins a statement. before: kind and text of the token before it."""
    if not (is_name(kind, token) or token in BEGIN):
        return False
    ended = before[0] in ("text", "number") or is_name(*before) or before[1] in ENDS
    # in "for i = 1, n do" the do belongs to the for
    return before[1] in OPENS or ended and token != "do"


def marks_of(source):
    """The texts to insert, as (position, text, name), and the names of the marks."""
    inserted, names, before, seen, heads = [], [], (None, None), {}, 0
    for kind, token, at in tokens_of(source):
        line = source.count("\n", 0, at) + 1
        if CONSTANT.match(source, at):
            pass
        elif token == "elseif" or begins_statement(before, kind, token):
            seen[line] = seen.get(line, 0) + 1
            name = "%d" % line if seen[line] == 1 else "%d.%d" % (line, seen[line])
            names.append(name)
            if token == "elseif":
                inserted.append((at + len(token), " mark__'%s' and (", name))
                heads += 1
            else:
                inserted.append((at, "mark__('%s', true) " if token == "return" else "mark__'%s' ", name))
        if token == "then" and heads:
            inserted.append((at, ") ", None))
            heads -= 1
        before = (kind, token)
    return inserted, names


def put(files, folder):
    for path in files:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        module = os.path.basename(path)
        marked, end = [], 0
        for at, text, name in marks_of(source)[0]:
            marked += [source[end:at], text % (module + ":" + name) if name else text]
            end = at
        marked.append(source[end:])
        if "/scripts/" in path:
            marked.insert(1, DEFINITION)
        with open(os.path.join(folder, module), "w", encoding="utf-8") as file:
            file.write("".join(marked))


def count(log, files):
    with open(log, encoding="utf-8", errors="replace") as file:
        reached = {name for line in file if " reached " in line for name in line.split(" reached ")[1].split()}
    all_lines = all_missed = 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        module = os.path.basename(path)
        names = marks_of(source)[1]
        lines = {int(float(name)) for name in names}
        missed = sorted({int(float(name)) for name in names if module + ":" + name not in reached})
        print("%6.2f %% of %4d lines  %s" % (100 - 100 * len(missed) / len(lines), len(lines), path))
        for line in missed:
            print("        %s:%d: %s" % (path, line, source.split("\n")[line - 1].strip()))
        all_lines += len(lines)
        all_missed += len(missed)
    print("%6.2f %% of %4d lines  in all" % (100 - 100 * all_missed / all_lines, all_lines))
    return 1 if all_missed else 0


def main():
    words = sys.argv[1:]
    if len(words) >= 3 and words[0] == "put":
        return put(words[1:-1], words[-1])
    if len(words) >= 3 and words[0] == "count":
        return count(words[1], words[2:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
