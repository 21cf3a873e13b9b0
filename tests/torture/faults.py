"""What the seed decides of the n-th fault of a round: when, its kind, how long it lasts, and which process it hits of
those that are there at that moment. harm.py does it."""

import time

from jobs import LOCKS, pick

S = 1_000_000_000
MS = 1_000_000

# How often each kind comes. A word like kill-guard is a signal for a process of that role.
FAULTS = {
    "kill-wrapper": 10,
    "kill-guard": 8,
    "kill-command": 6,
    "kill-acquire": 4,
    "kill-keeper": 3,
    "kill-script": 3,
    "kill-client": 1,
    "stop-wrapper": 12,
    "stop-guard": 8,
    "stop-command": 6,
    "stop-acquire": 4,
    "stop-keeper": 3,
    "stop-script": 2,
    "term-wrapper": 6,
    "term-acquire": 2,
    "term-command": 2,
    "kill-both": 2,
    "orphan": 3,
    "mixture": 6,
    "freeze": 4,
    "hang": 1,
    "pause": 6,
    "cut": 24,
    "cut-all": 1,
    "remove": 5,
    "force": 6,
    "ask-to-stop": 8,
    "forge": 8,
    "look": 8,
    "step": 2,
    "server-kill": 2,
    "server-freeze": 6,
    "proxy-cut": 6,
    "proxy-reset": 2,
    "proxy-forget": 1,
    "proxy-delay": 2,
    "proxy-break": 4,
}
OFTEN = {ground: {"server-kill": 8} for ground in ("volatile", "sentinel", "cluster")}
MEAN_S = 0.15
# For a calm round, in which the server is always there, so that the checker can judge how long a lock is idle.
CALM = {"hang": 6, "pause": 12, "forge": 12, "orphan": 4, "mixture": 4, "look": 4}
CALM_MEAN_S = 0.5

FORGED = [
    "granted {token} 1125899906842624 1",
    "granted {token} 5000 {ms}",
    "granted {token} 5000 {ms} {secret}",
    "granted {secret} {token} 5000 {ms}",
    "granted {token} 1000 99999999999999 {secret}",
    "0",
    "first 1",
    "first 99999999999999999999",
    "granted",
    "granted {token}",
    "\0\n{secret}",
]
NEVER = 4102444800000  # the server gives no tokens from here on before the year 2100


def forged(dice):
    """A message that may be taken for a grant, and the token in it."""
    token = NEVER + dice.randrange(1 << 30)
    if dice.random() < 0.3:
        token *= 10**9
    secret = f"{dice.getrandbits(128):032x}" if dice.random() < 0.5 else str(dice.getrandbits(53))
    return dice.choice(FORGED).format(token=token, ms=time.time_ns() // MS, secret=secret), token


class Fault:
    def __init__(self, dice, ground, calm):
        self.after = int(dice.expovariate(1 / (CALM_MEAN_S if calm else MEAN_S)) * S)
        self.kind = pick(dice, CALM if calm else {**FAULTS, **OFTEN.get(ground, {})})
        self.which = dice.randrange(1 << 30)
        self.lasts = int(min(dice.expovariate(1.0) * 0.8, 6) * S)
        self.long = dice.random()
        self.lock = dice.choice(LOCKS)
