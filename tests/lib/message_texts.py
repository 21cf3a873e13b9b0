"""Finds the texts that an expression of the C sources may be; for messages.py.

It reads the C of this project, and not all C: clang-format has laid it out, and what it does not know raises Unknown.
"""

import itertools
import os
import re

from c_source import Source, arguments, closing, split, unescape
from message_bounds import BOUNDS, CHOOSE, CUT, FILL, LISTS, MADE_BY, NO_WRITERS, OTHERS, POINTERS, WHOLE


SHORTENERS = ("shorten", "shorten_word", "shorten_to", "shorten_middle")


class Unknown(Exception):
    """An expression that nothing here understands."""


class Sources:
    def __init__(self, folder):
        root = os.path.dirname(os.path.abspath(folder))
        paths = sorted(
            os.path.join(where, name)
            for where, _, names in os.walk(folder)
            for name in names
            if name.endswith((".c", ".h"))
        )
        self.sources = [Source(path, root) for path in paths]
        self.macros = {}
        for source in self.sources:
            for name, value in re.findall(r"(?m)^[ \t]*#define (\w+) (.+(?:\\\n.*)*)", source.text):
                self.macros[name] = value.replace("\\\n", " ").strip()
        self.by_name = {}
        for source in self.sources:
            for function in source.functions:
                self.by_name.setdefault(function.name, []).append(function)
        self.busy = set()

    # ---- Numbers ----

    def number(self, text):
        """The value of a constant, or None."""
        for _ in range(8):
            text = re.sub(r"\b[A-Z]\w+\b", lambda m: f"({self.macros[m[0]]})" if m[0] in self.macros else m[0], text)
        if not re.fullmatch(r"[\d\s()+*/-]+", text):
            return None
        return int(eval(text, {}))  # digits and signs only

    # ---- Texts ----

    def find(self, name, file):
        """The function of this name that a file means: its own, or the one that is not static."""
        found = self.by_name.get(name, [])
        own = [function for function in found if function.file is file]
        return (own or found or [None])[0]

    def calls(self, name, within=None):
        for source in self.sources:
            for function in source.functions:
                if within and source is not within:
                    continue
                for match in re.finditer(rf"\b{name}\(", function.body):
                    end = closing(function.body, match.end() - 1)
                    yield function, function.start + match.start(), arguments(function.body[match.end() : end])

    def texts(self, expression, function):
        """All that an expression may be, as texts."""
        expression = re.sub(r"\s+", " ", expression).strip()
        key = (expression, function.name, function.file.path)
        if key in self.busy:
            return set()
        self.busy.add(key)
        try:
            return self.resolve(expression, function)
        finally:
            self.busy.discard(key)

    def resolve(self, expression, function):
        if expression[0] == "(" and closing(expression, 0) == len(expression) - 1:
            return self.texts(expression[1:-1], function)
        parts = list(split(expression, "?"))
        if len(parts) > 1:
            return self.choose(expression[len(parts[0][0]) :].lstrip(" ?"), function)
        known = self.known(expression, function)
        if known is not None:
            return known
        if expression == "NULL":
            return set()
        literal = self.literal(expression)
        if literal is not None:
            return {literal}
        call = re.fullmatch(r"(\w+)\((.*)\)", expression)
        if call:
            return self.returned(call[1], arguments(call[2]), function)
        if re.fullmatch(r"\w+", expression):
            return self.variable(expression, function)
        if re.fullmatch(r"\w+ \+ \d+", expression):
            return self.texts(expression.split()[0], function)
        element = re.fullmatch(r"(\w+)\[\w+\](?:\.\w+)?", expression)
        if not element:
            raise Unknown(expression)
        return self.elements(element[1], function)

    def elements(self, name, function):
        """All texts of a constant array of the file."""
        found = re.search(rf"\b(?:static )?const [^;{{}}()]*\b{name}\[[^={{;]*= (?=\{{)", function.file.text)
        if not found:
            raise Unknown(name + "[]")
        text = function.file.text[found.end() : closing(function.file.text, found.end())]
        return {unescape(t) for t in re.findall(r'"((?:\\.|[^"\\])*)"', text)}

    def known(self, expression, function):
        """What the tables above say, or None."""
        here = f"{function.name}:{expression}"
        if here in MADE_BY:
            return self.made_by(MADE_BY[here])
        if expression in WHOLE:
            return {"cannot do " + FILL + ": " + FILL}
        if expression in LISTS:
            return self.listed(*LISTS[expression])
        for table, sign in ((BOUNDS, FILL), (OTHERS, CUT)):
            for known, bound in table.items():
                if expression.endswith(("->" + known, "." + known)) or known in (expression, here):
                    return {sign * (self.number(bound) if isinstance(bound, str) else bound)}
        return None

    def listed(self, path, names, column):
        source = next(s for s in self.sources if s.path == path)
        found = set()
        for name in names:
            start = re.search(rf"\b{name}\[\] = (?=\{{)", source.text).end()
            for row in arguments(source.text[start + 1 : closing(source.text, start)]):
                cell = arguments(row[1:-1])[column] if row else "NULL"
                found |= {self.literal(cell)} if cell != "NULL" else set()
        return found

    def made_by(self, maker):
        """The texts of all failures of a function or a file; of a URL, what stands behind it."""
        found = set()
        for function, _, given in self.calls("fail"):
            if maker in (function.name, function.file.path):
                found |= self.formatted(given[2:], function)
        return {text.split("': ", 1)[-1] for text in found}

    def choose(self, rest, function):
        """What stands behind the first ? of a conditional expression."""
        yes, no = self.halves(rest)
        return self.texts(yes, function) | self.texts(no, function)

    @staticmethod
    def halves(rest):
        depth, yes = 0, []
        parts = list(split(rest, "?:"))
        for i, (part, sign) in enumerate(parts):
            yes.append(part)
            if sign == ":" and depth == 0:
                return " ".join(yes), "".join(p + (" " + s + " " if s else "") for p, s in parts[i + 1 :])
            depth += (sign == "?") - (sign == ":")
            yes.append(sign)
        raise Unknown(rest)

    def literal(self, expression):
        """Joined literals and macros of such; formats of integers stay as %d."""
        text, at = "", 0
        for match in re.finditer(r'\s*(?:"((?:\\.|[^"\\])*)"|(PRI\w+)|([A-Z]\w+))', expression):
            if match.start() != at:
                return None
            at = match.end()
            if match[1] is not None:
                text += unescape(match[1])
            elif match[2]:
                text += "lld"
            else:
                inner = self.literal(self.macros[match[3]]) if match[3] in self.macros else None
                if inner is None:
                    return None
                text += inner
        return text if at == len(expression) and at else None

    def returned(self, name, given, function):
        """What a call returns."""
        known = self.known(name + "()", function)
        if known is not None:
            return known
        if name in SHORTENERS:
            bound = 40 if name in ("shorten", "shorten_word") else self.number(given[1])
            if bound is None:
                bound = self.remainder(given[1])
            return {FILL * bound}
        if name in CHOOSE:
            first, choose = CHOOSE[name]
            choices = [self.texts(g, function) for g in given[first:]]
            return {choose(*words) for words in itertools.product(*choices)}
        callee = self.find(name, function.file)
        if not callee:
            raise Unknown(f"{name}()")
        found = set()
        for match in re.finditer(r"\breturn ([^;]+);", callee.body):
            found |= self.texts(match[1], callee)
        return found

    @staticmethod
    def remainder(expression):
        """MESSAGE_CHARACTERS - taken: the rest of the line, which the function has counted itself."""
        if expression == "MESSAGE_CHARACTERS - taken":
            return 1
        raise Unknown(expression)

    def variable(self, name, function):
        if name in function.parameters:
            return self.parameter(name, function)
        found = set(self.written(name, function))
        for match in re.finditer(rf"(?<![\w.>]){name}(?:\[\w*\])? =\s", function.body):
            value = next(split(function.body[match.end() :], ",;"))[0]
            if value != '""' and not value.startswith("{"):
                found |= self.texts(value, function)
        array = re.search(rf"\bchar (?:[^;()]*[ ,])?{name}\[([^\]]+)\]", function.body)
        size = self.number(array[1]) if array else None
        if not found and size:
            found = {FILL * (size - 1)}
        if not found:
            raise Unknown(name)
        return found

    def written(self, name, function):
        """What calls write into a buffer."""
        appended = set()
        whole = set()
        for callee, _, given in self.calls(r"(?:snprintf|strcpy)", function.file):
            if callee is function and given[0] == name:
                whole |= self.formatted(given[2:] if len(given) > 2 else ['"%s"', given[1]], function)
            elif callee is function and given[0].startswith(name + " +"):
                appended |= self.formatted(given[2:], function)
        for match in re.finditer(r"\b(\w+)\(", function.body):
            given = arguments(function.body[match.end() : closing(function.body, match.end() - 1)])
            if match[1] in NO_WRITERS or not {name, "&" + name} & set(given):
                continue
            if match[1] in SHORTENERS:
                whole |= self.returned(match[1], given, function) if given[0] == name else set()
            elif match[1] + "()" in BOUNDS:
                whole |= self.known(match[1] + "()", function) if given[0] == name else set()
            else:
                whole |= self.passed(name, match[1], given, function)
        return whole | {a + b for a in whole for b in appended}

    def passed(self, name, called, given, function):
        """What a function writes where one of its parameters points."""
        if called in CHOOSE:
            return self.returned(called, given, function) if given[0] == name else set()
        callee = self.find(called, function.file)
        if called in POINTERS:
            tellers = [f for f in function.file.functions if f.name.startswith(POINTERS[called])]
            return set().union(*(self.written(f.parameters[given.index(name)], f) for f in tellers))
        if not callee:
            raise Unknown(f"what {called}() writes into {name}")
        if called in self.busy:
            return set()
        index = given.index(name if name in given else "&" + name)
        if index >= len(callee.heads) or re.match(r"const char \*[^*]", callee.heads[index]):
            return set()
        parameter = callee.parameters[index]
        found = set()
        self.busy.add(called)
        if "&" + name in given:
            for match in re.finditer(rf"\*{parameter} = ([^;]+);", callee.body):
                found |= self.texts(match[1], callee)
        else:
            found |= self.written(parameter, callee)
        self.busy.discard(called)
        return found

    def parameter(self, name, function):
        """What the callers of a function give, or what it writes there itself."""
        index = function.parameters.index(name)
        found = set(self.written(name, function))
        if found:
            return found
        for caller, _, given in self.calls(function.name, self.only_file(function)):
            if len(given) > index:
                found |= self.texts(given[index], caller)
        if not found:
            raise Unknown(f"{name} of {function.name}()")
        return found

    # ---- Formats ----

    def formatted(self, given, function):
        """A format and its arguments, as texts."""
        found = set()
        for text in self.texts(given[0], function):
            found |= self.fill(text, given[1:], function)
        return found

    def fill(self, text, given, function):
        results, given = [""], list(given)
        at = 0
        for match in re.finditer(r"%(?:%|([-+ 0#]*)(\*|\d*)(?:\.(\*|\d+))?(?:hh|h|ll|l|z|t|j)?([a-zA-Z]))", text):
            results = [r + text[at : match.start()] for r in results]
            at = match.end()
            if match[0] == "%%":
                results = [r + "%" for r in results]
                continue
            if match[3] == "*":
                given.pop(0)
            values = self.converted(match, given.pop(0), function)
            results = [r + value for r in results for value in values]
        return {r + text[at:] for r in results}

    def converted(self, match, expression, function):
        kind, precision = match[4], match[3]
        if kind == "c":
            return {FILL}
        if kind == "s" and precision and precision != "*":
            known = self.known(expression, function) or {FILL * int(precision)}
            return {text[: int(precision)] for text in known}
        if kind == "s":
            return self.texts(expression, function)
        known = self.known(expression, function)
        if known is not None:
            return known
        constant = self.number(expression)
        if constant is not None:
            return {str(constant)}
        if kind == "g":
            return {FILL * 12}
        return {FILL * (20 if "l" in match[0] or "t" in match[0] or "z" in match[0] else 11)}

    # ---- Messages ----

    def only_file(self, function):
        """The file whose calls mean this function, or None for all files."""
        shared = any(re.search(rf"\b{function.name}\(", s.text) for s in self.sources if s.path.endswith(".h"))
        return None if shared else function.file
