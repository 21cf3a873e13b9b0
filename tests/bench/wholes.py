"""Whole processes that lock, run `true` and unlock."""

from peers import Redisson
from processes import timed

WARM_UP = 3


def run(bench):
    for number in range(bench.rounds + WARM_UP):
        for peer in bench.shuffled():
            if isinstance(peer, Redisson) or number % 3 and not peer.often:
                continue
            spent = timed(peer.command("job", ["true"]))
            if number >= WARM_UP:
                bench.results.add("Locks", "lock, `true`, unlock: ms", peer.name, spent)
