"""The forms of what the scripts answer, say and write: the reader in Python."""

import re

NUMBER = r"\d{1,16}"
MAYBE = r"(?:\d{1,16}|-)"
DECIMAL = re.compile(NUMBER)

HOLD = re.compile(
    rf"(held|kept|released|expired|forced|gone|lost) ({NUMBER}) ({MAYBE}) ({MAYBE}) ({MAYBE}(?:/{NUMBER})?) ({MAYBE}) ({MAYBE}) "
    rf"(taken|counted|-) ({MAYBE}) (\d*:[\w-]*|asked|-) (x|s|=[^ ,]+) (,(?:[^ ,]+,)*) (.*)", re.S)
HOLD_COLUMNS = ["state", "token", "since", "ends", "lease", "waited", "keep", "taken", "unheard", "ending", "mode", "holds",
                "by"]
WAITER = re.compile(rf"(waits|new|dropped|removed|superseded) ({NUMBER}) ({NUMBER}) ({MAYBE}) ([0-9a-f]+|-) ([wvah]) ((?:ok)?{NUMBER}|-) "
                    r"(x|s|#\d+|=[^ ]+) (.*)", re.S)
WAITER_COLUMNS = ["state", "ticket", "seen", "lease", "secret", "kind", "period", "want", "by"]
REQUEST = re.compile(rf"({NUMBER}) ({NUMBER}) (-|released|given|free|left .*|forced \S* .*|asked .*|forgot -?{NUMBER})", re.S)
ASKED = re.compile(r"([^ ,]+(?:,[^ ,]+)*) (.+)", re.S)
MODES = {"fairlock:shared": "s", "fairlock:slots": "="}  # by the field of key 1
REQUEST_COLUMNS = ["made", "strays", "answer"]

OTHER_FIELDS = {
    "name": r"job", "v": "1", "holder": r"\S+", "token": NUMBER, "ticket": NUMBER, "ours": NUMBER, "back": NUMBER,
    "newest": rf"\S+ {NUMBER}", "run": rf"(?:\w+|-) {MAYBE} {MAYBE} {NUMBER}", "turn": rf"\S+ {NUMBER}", "started": rf"{MAYBE} {MAYBE} {MAYBE}",
    "head": rf"{NUMBER} (?:{NUMBER})? \S+(?: \S+)*", "theirs": rf"\S+(?: {NUMBER}){{3}}(?: \S+(?: {NUMBER}){{3}})*",
    "tended": rf"{NUMBER} {NUMBER} {NUMBER} {NUMBER}", "n:granted": NUMBER, "n:expired": NUMBER, "n:forced": NUMBER,
    "n:lost": NUMBER, "done": rf"{NUMBER} {NUMBER}", "once": "ok",
}
OTHER_FIELDS = {field: re.compile(form) for field, form in OTHER_FIELDS.items()}


def columns(form, names, text):
    found = form.fullmatch(text) if text is not None else None
    return dict(zip(names, found.groups())) if found else None


def read_hold(text):
    return columns(HOLD, HOLD_COLUMNS, text)


def read_waiter(text):
    return columns(WAITER, WAITER_COLUMNS, text)


def read_request(text):
    return columns(REQUEST, REQUEST_COLUMNS, text)


def read_asked(text):
    return columns(ASKED, ["requests", "by"], text)


def waits(text):
    waiter = read_waiter(text)
    return waiter is not None and waiter["state"] in ("waits", "new")


def record_of(field, text):
    """The columns of a record with the names of its columns; None: no such form."""
    read = {"h:": read_hold, "w:": read_waiter, "r:": read_request, "a:": read_asked}.get(field[:2])
    if read:
        return read(text)
    if field.startswith("s:"):
        return {"": text}
    return {"": text} if field in OTHER_FIELDS and OTHER_FIELDS[field].fullmatch(text) else None


# Answers: each part has one of these forms, or is a word, or is a list of parts.
def is_number(least, most=2 ** 53):
    return lambda part: isinstance(part, int) and least <= part <= most


def is_like(form):
    return lambda part: isinstance(part, str) and re.fullmatch(form, part, re.S) is not None


TEXT, DIGITS, DIGITS_OR_NONE = is_like(".*"), is_like(NUMBER), is_like(NUMBER + "|")
FLAG, MS, TTL, COUNT = is_number(0, 1), is_number(0), is_number(-2), is_number(1)
WAITED, HELD = is_number(-1), is_number(-2 ** 53)  # below -1: until when the lock is kept
REFUSALS = [["spelled", TEXT], ["version", MS, MS]]
MODE, NEXT = is_like("[xs=]?"), is_number(-1)
MODE_AND_COUNT = is_like("[xs=]?|=[1-9][0-9]*")
ABOUT = [TEXT, TEXT, HELD, MODE_AND_COUNT, MS, NEXT, is_like("[01]")]
LEFT = ["left", *ABOUT]

ANSWERS = {
    "acquire": [
        ["granted", TEXT, DIGITS, COUNT, MS, COUNT, is_like("x|s|=.*")], ["queued", DIGITS, is_number(1, 10501), FLAG, TTL, MS],
        ["busy", *ABOUT], ["full", MS, *ABOUT], ["ran", MS, *ABOUT], ["ran ok", MS], ["removed", *ABOUT], ["removed"],
        ["superseded", TEXT, *ABOUT],
        ["other", is_like("x|s|=.*")]] + REFUSALS,
    "renew": [["renewed", COUNT, DIGITS, FLAG, TEXT], ["released"], ["late"], ["not by hand"],
              ["lost", is_like("forced|taken|gone"), TEXT, TEXT]] + REFUSALS,
    "release": [["released", MS], ["kept", MS], ["free"], ["late"], ["not held", TEXT, TEXT],
                ["not acquired"], ["forgot", is_number(-1)]] + REFUSALS,
    "leave": [LEFT, ["left"], ["late"], ["unknown"]] + REFUSALS,
    "status": [[TEXT, MS, TTL, DIGITS_OR_NONE, TEXT, DIGITS_OR_NONE, FLAG, MS, DIGITS, TEXT, WAITED, MS, MS, MS, MS, FLAG,
                DIGITS_OR_NONE, MODE, is_like(""), MS, MS, DIGITS_OR_NONE, FLAG, FLAG, FLAG]],
    "view": [["view", MS, MS, TEXT, TEXT, HELD, DIGITS_OR_NONE, is_like(""), MODE_AND_COUNT, MS, NEXT, is_like("[01]")]] + REFUSALS[:1],
}
WAITING = [TEXT, DIGITS_OR_NONE, TEXT, FLAG, FLAG, TEXT]
HOLD_NOW = [TEXT, DIGITS, DIGITS, DIGITS, DIGITS_OR_NONE, TEXT, MODE, TEXT]
HOLDER = [TEXT, MS, TTL, DIGITS_OR_NONE, TEXT, DIGITS_OR_NONE, FLAG, FLAG, TEXT, FLAG]

STOPPED = [is_like("asked|alone|by hand|kept|away"), is_number(-1), TEXT, is_like(r"\S+ \S+ \S+ .*")]

LOGGED = {
    "event": is_like("granted|released|expired|forced|lost|left|superseded|asked"), "time": DIGITS, "owner": TEXT,
    "token": DIGITS_OR_NONE, "by": TEXT, "waited": DIGITS_OR_NONE, "held": DIGITS_OR_NONE, "status": is_like(r"\d*"),
    "cause": TEXT, "slot": TEXT, "actor": TEXT,
}

MESSAGES = re.compile(rf"0|granted {NUMBER} [1-9]\d{{0,15}} {NUMBER} [0-9a-f]+(?: [^ ,]+)?|(?:first|second) {NUMBER}")


# The secret of a damaged record is nobody's: the waiter asks.
DAMAGED_MESSAGES = re.compile(MESSAGES.pattern.replace("[0-9a-f]+", r"\S+"))


def has_form(answer, form):
    return isinstance(answer, list) and len(answer) == len(form) and all(
        part == wanted if isinstance(wanted, str) else wanted(part) for part, wanted in zip(answer, form))


def is_entry(fields, is_clean):
    """A number that was damaged is logged as it is: the program reads no such number."""
    return list(fields) in (list(LOGGED), list(LOGGED)[:-1], list(LOGGED)[:-2]) and all(
        LOGGED[name](value) or not is_clean and re.fullmatch(r"-|-?\d+", value) for name, value in fields.items())


def is_answer(script, answer):
    if script == "queue":
        return all(has_form(waiting, WAITING) for waiting in answer)
    if script == "log":
        return answer[0] == "spelled" or (
            len(answer) == 7 and DIGITS(answer[1]) and TEXT(answer[3]) and
            (answer[4] == [] or has_form(answer[4], HOLD_NOW)) and
            all(has_form(waiter, WAITING[1:3]) for waiter in answer[5]) and
            all(has_form(hold, HOLD_NOW) for hold in answer[6]))
    if script == "release" and answer[0] == "forced":
        return len(answer) >= 3 and len(answer) % 2 == 1 and all(map(TEXT, answer))
    if script == "release" and answer[0] == "stops":
        return all(has_form(hold, STOPPED) for hold in answer[1:])
    if script == "view" and len(answer) > 7 and isinstance(answer[7], list):
        if not (answer[7] == [] or has_form(answer[7], [MS] * 4)):
            return False
        answer = answer[:7] + [""] + answer[8:]
    if script == "status" and len(answer) > 18 and isinstance(answer[18], list):
        if not all(has_form(holder, HOLDER) for holder in answer[18]):
            return False
        answer = answer[:18] + [""] + answer[19:]
    return any(has_form(answer, form) for form in ANSWERS[script])
