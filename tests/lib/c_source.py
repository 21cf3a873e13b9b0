"""Cuts a C source into functions, and text into arguments; comments are gone, lines keep their numbers."""

import os
import re


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(text):
    """Keeps strings and the numbers of lines."""
    token = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*'
    return re.sub(token, lambda m: blank(m) if m[0][0] == "/" else m[0], text, flags=re.S)


def skip_string(text, at):
    """Returns the place behind the literal that begins at `at`."""
    end = at + 1
    while text[end] != text[at]:
        end += 2 if text[end] == "\\" else 1
    return end + 1


def closing(text, at):
    """Returns the place of the bracket that closes the one at `at`."""
    depth = 0
    while True:
        if text[at] in "\"'":
            at = skip_string(text, at)
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
        at += 1


def split(text, separators):
    """Splits at the separators that are in no bracket and no literal. Yields (part, separator behind it)."""
    start = at = 0
    while at < len(text):
        if text[at] in "\"'":
            at = skip_string(text, at)
        elif text[at] in "([{":
            at = closing(text, at) + 1
        elif text[at] in separators:
            yield text[start:at].strip(), text[at]
            at += 1
            start = at
        else:
            at += 1
    yield text[start:].strip(), ""


def arguments(text):
    return [part for part, _ in split(text, ",")]


def unescape(literal):
    return literal.encode().decode("unicode_escape").encode("latin-1").decode()


class Function:
    def __init__(self, file, name, head, body, start):
        self.file, self.name, self.body, self.start = file, name, body, start
        self.heads = arguments(head)
        self.parameters = [re.sub(r"\[[^]]*\]$", "", p).split()[-1].lstrip("*") if p else "" for p in self.heads]


class Source:
    def __init__(self, path, root):
        self.path = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as file:
            self.text = without_comments(file.read())
        self.functions = list(self.find_functions())

    def find_functions(self):
        for match in re.finditer(r"(?m)^[A-Za-z_][^;{}#=\n]*(?:\n[^;{}#=\n]+)*?\b(\w+)\(", self.text):
            end = closing(self.text, match.end() - 1)
            brace = re.compile(r"\s*\{").match(self.text, end + 1)
            if brace:
                start = brace.end() - 1
                head = self.text[match.end() : end]
                yield Function(self, match[1], head, self.text[start : closing(self.text, start) + 1], start)

    def line(self, at):
        return self.text.count("\n", 0, at) + 1
