"""Prints each message in the sources of FOLDER that has another form than 'cannot VERB OBJECT: CAUSE'; 1 if there is one.

usage: messages.py FOLDER

It reads the literals in the calls of the functions that print messages or fill an error. What is filled into them,
and how long it becomes, only a run knows: see messages.bats.
"""

import pathlib
import re
import sys

LITERAL = r'"((?:\\.|[^"\\])*)"'
CALL = re.compile(rf"\b(fail|fail_about|complain\w*|message|message_event)\(((?:{LITERAL}|[^\";{{}}])*)\)")
# What happened, for --syslog, --verbose and --report, what a default means, and what is not there: nothing has failed.
EVENTS = ("got lock", "took lock", "gave lock", "giving back lock", "waiting for lock", "lock ", "lost ")
EVENTS += ("%s under lock", "no url is set", "no lock %s is known")
# A step of --verbose, what becomes the cause in another message, and what another function has made.
PARTS = ("[%", "no reply for", "its certificate is", "it does not speak TLS", "the TLS handshake failed", "%s; stopping %s")
RIDDLES = r"(?:^|: |; )(who|whoever|what|whatever|those|nobody|whose)\b"


def faults(function, texts):
    for text in texts:
        if "\\n" in text or text.endswith(".") or re.match("[A-Z]", text):
            yield f"it has a newline, a period at the end or a capital letter at the start: {text}"
        if re.search(RIDDLES, text):
            yield f"it does not name the actor: {text}"
    if function == "fail_about" and texts:
        texts = [f"cannot {texts[0]} OBJECT: CAUSE"]
    for text in texts[:1]:
        if not re.match(r"cannot [a-z%]+ \S.*: \S", text) and not text.startswith(EVENTS + PARTS) and text != "%s":
            yield f"it is not 'cannot VERB OBJECT: CAUSE': {text}"


count, wrong = 0, 0
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.c")):
    source = re.sub(r"/\*.*?\*/", lambda m: re.sub(".", " ", m[0]), path.read_text(), flags=re.S)
    for call in CALL.finditer(source):
        given = re.sub(r'"\s*(?:PRI\w+\s*)?"', "", call[2])
        count += 1
        for fault in faults(call[1], re.findall(LITERAL, given)):
            wrong += 1
            print(f"{path}:{source.count(chr(10), 0, call.start()) + 1}: {fault}")
print(f"{count} messages, {wrong} faults")
sys.exit(wrong > 0)
