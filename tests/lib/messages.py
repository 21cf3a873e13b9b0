"""Collects every message that the sources of fairlock can print on standard error, and checks each.

    messages.py FOLDER...       prints "file:line: fault: message" for each fault; 1 if there is one
    messages.py --list FOLDER   prints each message, too, as it looks at its longest

It follows the words back to where they are written: through joined literals, macros, conditional expressions,
variables, the functions that make or pass on a cause, and their callers. In a message, ~ stands for a character that
only a run knows. What cannot be followed needs a row in message_bounds.py, or the check fails.
"""

import re
import sys

from message_bounds import BOUNDS, CUT, FILL, LISTS
from message_texts import Sources, Unknown

MOST = 159  # characters of a line, "fairlock: " included

NAMED_MOST = 3  # options that an ambiguous one may mean, NAMED_MAX of src/cli/suggest.c

# Functions that print, or fill an error to be printed: which argument is the format.
FORMATS = {"fail": 2, "complain": 0, "complain_in_passing": 0, "message": 2, "message_event": 2}
STEPS = {"message_step": 1}  # for --verbose, which has the words of others whole: no form, no bound
# Functions with a format whose text goes elsewhere: to standard output, or onto a line that is cut to a terminal.
ELSEWHERE = {"findings_add", "findings_explain", "json_printf", "say"}
# fail_about cuts an object to 60 characters before it cuts a cause; no cause of ours may need to be cut.
ABOUT, OBJECT = "fail_about", 60
PASSES_ON = {"src/base/error.c", "src/base/message.c"}  # the functions above themselves
# Where a line that is no message reaches descriptor 2: the hint behind a mistake, and the log of a private server.
# acquire prints commands there, which are not cut.
DIRECT = {"src/base/error.c": 2, "src/commands/acquire.c": 4, "src/redis/local_launch.c": 1}

# Failures that become the cause in another message, or stand on a screen: FUNCTION, and why.
CAUSES = {
    "handshake_failed": "await_tls puts them behind 'cannot reach SERVER: '",
    "show_silence": "it stands on the screen of --watch, which is cut to the terminal",
}
# Beginnings that are right though they do not say what cannot be done: events, and states of a wait.
EVENTS = {
    "got lock": "an event of --syslog and --verbose: the lock is there",
    "took lock": "an event: the lock is there again",
    "gave lock": "an event: the lock is back",
    "giving back lock": "what went wrong meanwhile: the lock is left to its lease",
    "went into lock": "an event: an enclosing wrap holds the lock",
    "waiting for lock": "a report, or an outage in between: nothing has failed yet",
    "lock ": "an event: it was given back, has no time to live, was held for --max-hold",
    FILL * 40 + " under lock": "an event of COMMAND: it ended with a status, a signal killed it",
    "lost lock": "an event of its own: the lock was held, and is not any more",
    "lost the guard": "the same for the process that watches the lease",
    "lost the wrapper": "the same for the process that the user started",
}
# What writes to standard error past the functions above.
PRINTS = r"\b(?:write|dprintf)\(STDERR_FILENO|\bstderr\b|\bperror\(|\bv?(?:warnx?|errx?)\("
RIDDLES = r"(who|whoever|what|whatever|those|nobody|whose)"


class Messages(Sources):
    """All of them."""

    def messages(self):
        """Yields (file:line, kind, texts or an Unknown)."""
        for name, index in {**FORMATS, **STEPS, ABOUT: 2}.items():
            for function, at, given in self.calls(name):
                if function.file.path in PASSES_ON or function.name in CAUSES:
                    continue
                if name == ABOUT:
                    yield from self.about(given[index:], function, at)
                    continue
                where = f"{function.file.path}:{function.file.line(at)}"
                make = self.formatted if name in FORMATS else lambda g, f: self.texts(g[0], f)
                yield where, "step" if name in STEPS else "message", self.attempt(make, given[index:], function)

    @staticmethod
    def attempt(make, *given):
        try:
            return make(*given)
        except Unknown as unknown:
            return unknown

    def about(self, given, function, at):
        """fail_about, or a function that passes on a verb, an object and a cause to it: as each caller calls it."""
        passed = [g for g in (given[0], given[2]) if g in function.parameters]
        if passed and not self.written(passed[-1], function):
            for caller, place, theirs in self.calls(function.name, self.only_file(function)):
                known = dict(zip(function.parameters, theirs))
                yield from self.about([known.get(g, g) for g in given], caller, place)
            return
        where = f"{function.file.path}:{function.file.line(at)}"
        yield where, "message", self.attempt(self.joined, given, function)

    def joined(self, given, function):
        found = set()
        for verb in self.texts(given[0], function):
            for cause in self.texts(given[2], function):
                text = f"cannot {verb} {FILL * OBJECT}: {cause}"
                room = MOST - len("fairlock: ")
                # where words of others are long, fail_about may cut the end
                found.add(text[:room] if FILL * 15 in cause or CUT in cause else text)
        return found


def faults(text, kind):
    """What is wrong with a message."""
    if "\n" in text:
        yield "it has a newline"
    if text.endswith("."):
        yield "it ends with a period"
    if re.match(r"[A-Z]", text):
        yield "it does not begin with a small letter"
    riddle = re.search(rf"(?:^|: |; ){RIDDLES}\b", text)
    if riddle:
        yield f"'{riddle[1]}' does not name the actor"
    if kind == "step":
        return
    if not re.match(r"cannot [a-z]+ \S.*?: [^\s:]", text) and not text.startswith(tuple(EVENTS)):
        yield "it is not 'cannot VERB OBJECT: CAUSE'"
    if len("fairlock: " + text) > MOST:
        yield f"it may have {len('fairlock: ' + text)} characters"


def too_many(sources):
    """Whether the options that an ambiguous beginning may mean take more room than message_bounds.py gives them."""
    names = sources.listed(*LISTS["row->name"])
    for beginning in {name[:i] for name in names for i in range(1, len(name))}:
        fitting = ["--" + name for name in names if name.startswith(beginning)]
        if 1 < len(fitting) <= NAMED_MOST and len(", ".join(fitting)) + len(" and ") > BOUNDS["name_options:fitting"]:
            yield f"src/cli/suggest.c:1: the options that begin with --{beginning} are too long for a message"


def unseen(sources):
    """What prints and is not among the functions above."""
    known = {*FORMATS, *STEPS, *ELSEWHERE, "print_line"}
    for source in sources.sources:
        for match in re.finditer(r"format\(printf[^;{]*?\b(\w+)\((?=(?:const |struct |enum |bool ))", source.text):
            if match[1] not in known:
                yield f"{source.path}:{source.line(match.start(1))}: the messages of {match[1]} are not collected"
        bodies = " ".join(function.body for function in source.functions)
        for name in (*FORMATS, *STEPS, ABOUT):
            calls = rf"[;{{}}):?,=]\s*(?:return )?{name}\("
            if source.path not in PASSES_ON and len(re.findall(calls, source.text)) > len(re.findall(calls, bodies)):
                yield f"{source.path}:1: a call of {name} is in no function that is known"
        direct = len(re.findall(PRINTS, source.text))
        if direct != DIRECT.get(source.path, 0):
            yield f"{source.path}:1: it writes to standard error {direct} times, not {DIRECT.get(source.path, 0)}"


def main():
    sources = Messages(sys.argv[-1])
    count, found_faults = 0, [*unseen(sources), *too_many(sources)]
    for where, kind, found in sorted(sources.messages(), key=lambda m: m[0]):
        if isinstance(found, Unknown):
            found_faults.append(f"{where}: there is no bound for {found}")
            continue
        if not found:
            found_faults.append(f"{where}: there is no text")
        for text in sorted(found):
            count += 1
            found_faults += [f"{where}: {fault}: {text!r}" for fault in faults(text, kind)]
            if "--list" in sys.argv:
                print(f"{where}: {kind} {len(text) + 10}: {text}")
    print(*found_faults, f"{count} messages, {len(found_faults)} faults", sep="\n")
    sys.exit(1 if found_faults else 0)


main()
