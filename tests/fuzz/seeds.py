"""Writes the inputs that the fuzz targets begin with: seeds.py FOLDER makes FOLDER/TARGET/NAME."""

import os
import re
import sys

sys.dont_write_bytecode = True  # nothing is left beside the tests
from server_seeds import SHOWN, TAKEN

URLS = [
    "local:", "unix:/run/r.sock", "unix:r?db=3&user=a%20b", "unix://u:S3CRET@/r", "redis://h", "redis://:S3CRET@h:7000/2",
    "valkey://u:@[fe80::1%eth0]:7/2", "rediss://u%40:S3CRET%2f@a:1,b,[::1]:3/4", "redis+sentinel://u:S3CRET@h1:1,h2/my%20master/3",
    "valkeys+sentinel://[::1]/m", "redis://u:p@w:S3CRET@h?x", "redis://u:S3CRET@h:65536", "redis://S3CRET@h", "http://u:S3CRET@h",
    "redis://h/2147483648", "redis://:%00S3CRET@h", "unix:/0123456789" + "/0123456789" * 9, "redis+sentinel://u:S3CRET@h//1",
]

FILE = """# all of it
url = rediss://u@h:7/2
password-file = pw
sentinel-user = u
sentinel-password-file = pw
tls-cert = cert.pem
tls-key = key.pem
connect-timeout = 1.5s
quiet = no
wait = 1h30m
signal = SIGINT
max-hold = 1d
"""
FILES = ["url = redis://h\npassword = S3CRET\r\n\tlease=1m \n#x\n\n", "lease = 30\nlease = 40\nurl=unix:/r", "lease\n", "lese = 40\n",
         "force = yes\n", "tls-key = k\n"]
VARIABLES = ["FAIRLOCK_URL=redis://:S3CRET@h", "FAIRLOCK_PASSWORD=S3CRET", "FAIRLOCK_HELD=00000000-0000-4000-8000-00000000abcd:1 x a:1"]

COMMANDS = ["wrap", "acquire", "renew", "release", "status", "queue", "log", "doctor"]
LINES = [
    "wrap -nqv -w 10 -l30 job -- echo --help -- x",
    "wrap -E 0 --kill-aft 1 -sINT -c ls -- -job",
    "wrap --once-ok 365d --skip --reason why --report 999ms job true",
    "wrap --slots=db1,db2,db1 job true",
    "wrap --supersede --shared --slots 03 --wait 0 job true",
    "wrap --also a --also b --lease 3 --kill-after 2 job true",
    "wrap --l 1h30 -s SIGT job true",
    "wrap --signal 70 -l 1000000w job true",
    "wrap --quiet=yes job",
    "wrap -u redis://u:S3CRET@h job true",
    "acquire --owner 00000000-0000-4000-8000-00000000abcd:1 --while-pid 77 --json --url=unix:/r job",
    "release --force --token 12 --slot db1 {job}",
    "release --stop --forget-run --wait 1m job",
    "status --watch=2s -o NAME,HELD --sort NAME,-HELD --color never a",
    "status --prometheus --raw --help",
    "doctor --verbose --tls-ca /x a{}b \u20ac\U0001f512\udcff",
]


def words(line, variable="", file="", password="S3CRET\nmore"):
    command, _, rest = line.partition(" ")
    return "\n===\n".join(["@ABCDEFG"[COMMANDS.index(command)] + rest.replace(" ", "\n"), variable, file, password])


def server_seeds():
    """The first byte of each chooses the command line, as replies.c has them."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "replies.c"), encoding="utf-8") as file:
        lines = [(url + " " + line).replace("SOCKET ", "") for url, line in re.findall(r'^\t\{(\w+), "(.*)", ', file.read(), re.MULTILINE)]
    return [chr(ord("A") + lines.index(line)) + said for line, scripts in {**TAKEN, **SHOWN}.items() for said in scripts]


SEEDS = {
    "url": URLS,
    "words": [*map(words, LINES), *(words("wrap job true", variable) for variable in VARIABLES),
              *(words("wrap job true", "", file) for file in [FILE, FILE.replace("rediss://u@h", "redis+sentinel://h/m"), *FILES])],
    "replies": server_seeds(),
}


def main():
    for target, inputs in SEEDS.items():
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        for number, said in enumerate(inputs):
            with open(os.path.join(folder, f"seed-{number:03}"), "wb") as file:
                file.write(said.encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    main()
