"""Writes the inputs that the fuzz targets begin with: seeds.py FOLDER makes FOLDER/TARGET/NAME."""

import os
import sys

sys.dont_write_bytecode = True  # nothing is left beside the tests
from server_seeds import HANDED, REPLIES, SHOWN

URLS = [
    "local:", "unix:/run/r.sock", "unix:r?db=3&user=a%20b", "unix://u:S3CRET@/r", "redis://h", "redis://:S3CRET@h:7000/2",
    "valkey://u:@[fe80::1%eth0]:7/2", "rediss://u%40:S3CRET%2f@a:1,b,[::1]:3/4", "redis+sentinel://u:S3CRET@h1:1,h2/my%20master/3",
    "valkeys+sentinel://[::1]/m", "redis://u:p@w:S3CRET@h?x", "redis://u:S3CRET@h:65536", "redis://S3CRET@h", "http://u:S3CRET@h",
    "redis://h/2147483648", "redis://:%00S3CRET@h", "unix:/0123456789" + "/0123456789" * 9, "redis+sentinel://u:S3CRET@h//1",
]

# For config.c: the first byte chooses the command; with 0x20 in it there is --config.
FULL = """# all of it
url = rediss://u@h:7/2
password-file = pw
sentinel-user = u
sentinel-password-file = pw
tls-ca = /ca
tls-cert = cert.pem
tls-key = key.pem
tls-insecure = yes
connect-timeout = 1.5s
quiet = no
verbose = 1
wait = 1h30m
lease = 30
conflict-exit-code = 0
max-queue = 3
replicas = 1
syslog = true
signal = SIGINT
kill-after = 5
min-hold = 0
max-hold = 1d
once-per = 1h
jitter = 10m
"""
VARIABLES = """FAIRLOCK_URL=redis://:S3CRET@h
FAIRLOCK_PASSWORD=S3CRET
REDISCLI_AUTH=S3CRET
FAIRLOCK_PASSWORD_FILE=pw
FAIRLOCK_CONFIG=config
FAIRLOCK_LEASE=20
FAIRLOCK_SIGNAL=usr1
FAIRLOCK_TLS_KEY=k
HOME=/home/somebody"""


def settings(choice, variables="", config="", user="", system="", password=""):
    return "\n===\n".join([choice + variables, config, user, system, password])


CONFIGS = [
    settings("@", user=FULL.replace("u@h", "u:@h"), password="S3CRET\nmore"),
    settings("G", user=FULL.replace("rediss://u@h", "redis+sentinel://h/m"), password="S3CRET"),
    settings("`", config="url = redis://h\npassword = S3CRET\r\n\tlease=1m \n#x\n\n", user="no such thing"),
    settings("A", user="lease = 30\nlease = 40\nurl=unix:/r", system="wait = 5\nreplicas = 2"),
    settings("A", user="lease = 30\n\nlese = 40\n"),
    settings("A", user="lease\n"),
    settings("A", user="force = yes\n"),
    settings("A", user="lease = 1ms\n"),
    settings("A", user="tls-key = k\n"),
    settings("@", user="kill-after = 20\nsentinel-user = u\n"),
    settings("A", user="wait = 1\x00\n"),
    settings("A", system="signal = never"),
    *(settings("@", line) for line in VARIABLES.split("\n")),
    *(settings("@", "FAIRLOCK_URL=" + url) for url in URLS),
    settings("h", VARIABLES, "url = local:", "", "", "S3CRET"),
    settings("@", "FAIRLOCK_PASSWORD_FILE=pw", password="\n"),
]

COMMANDS = dict(zip(["wrap", "acquire", "renew", "release", "status", "queue", "log", "doctor"], "@ABCDEFG"))
LINES = [
    "wrap job true -n",
    "wrap -nqv -w 10 -l30 job -- echo --help -- x",
    "wrap -E 0 --kill-aft 1 -sINT -c ls -- -job",
    "wrap --max-queue 3 --once-per 1h --min-hold 30 --max-hold=1d --jitter 5m job true",
    "wrap --once-ok 365d -w 10m job true",
    "wrap --once-ok 1h --once-per 1h job true",
    "wrap job",
    "wrap --skip --reason why --report 5s job true",
    "acquire --report 999ms --reason=x\ty job",
    "wrap --lease",
    "wrap --slots 3 job true",
    "acquire --slots=db1,db2,db1 job",
    "wrap --slots 03 job true",
    "wrap --shared --slots a,b job true",
    "wrap --supersede --wait 10m job true",
    "wrap --supersede --wait 0 job true",
    "release --force --slot db1 job",
    "release --stop --wait 1m --slot db1 job",
    "release --stop --token 1 job",
    "release -w 0 job",
    "release --forget-run job",
    "release --forget-run --force job",
    "wrap --l 3 job true",
    "wrap --quiet=yes job true",
    "wrap --help",
    "wrap -u redis://u:S3CRET@h job true",
    "acquire --owner 1-a:2 --while-pid 77 --json --url=unix:/r job",
    "renew --owner x job",
    "release --force --token 12 {job}",
    "release --token 12 job",
    "status --watch --json a b",
    "status --watch=2s -o NAME,HELD a",
    "status --prometheus --raw",
    "queue --remove abc:1 fairlock:{x}",
    "status fairlock:a fairlock_log:a fairlock_holders:a redisson_lock_timeout:a redisson_lock__channel:a",
    "log --since 1h --stats --json a{b}c",
    "log --plot --follow job",
    "log --since yesterday 12:00",
    "acquire --max-hold 1h job",
    "wrap --lease 1h30 job true",
    "wrap --lease 3 --kill-after 2 job true",
    "wrap --also a --also b --skip job true",
    "status --color never --sort NAME,-HELD -o all",
    "status --color=x",
    "doctor --verbose --tls-ca /x a{}b",
    "doctor redisson_lock_queue:{x}",
    "wrap -u ",
    "wrap --sig",
    "wrap -s SIGT",
    "status --url re",
    "wrap job -",
    "log --config f \u00fc\u20ac\U0001f512",
    "log \x07",
    "queue 00000000-0000-4000-8000-000000000000:1 \udcff\udcc3",
]

SEEDS = {
    "config": CONFIGS,
    "options": [COMMANDS[line.split(" ")[0]] + line[1:].replace(" ", "\n") for line in LINES],
    "url": URLS,
    "handed": HANDED,
    "replies": [key + said for key, list_ in REPLIES.items() for said in list_],
    "shown": [key + said for key, list_ in SHOWN.items() for said in list_],
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
