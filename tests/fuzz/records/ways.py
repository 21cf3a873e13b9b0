"""The usual case of a script and the long way must leave the same: hash, log, keys and messages are compared."""

import re

from checks import Failure
from forms import record_of
from server import KEYS

DURATIONS = {"waited", "held"}


def copy_of(server):
    """The keys, each with the time of its end."""
    ask = server.client
    return [(ask.ask("PEXPIRETIME", key), ask.ask_raw("DUMP", key)) for key in KEYS]


def put_back(server, copies):
    for key, (ends, content) in zip(KEYS, copies):
        server.client.ask("DEL", key)
        if content is not None:
            server.client.ask("RESTORE", key, max(0, ends), content, "ABSTTL")


def is_usual(script, words, before):
    """Whether this request may be a usual case."""
    if "r:" + words[1] in before.hash:
        return False
    if "started" in before.hash and not record_of("started", before.hash["started"]):
        return False  # a damaged start counts as none: only the long way writes that down
    if script == "acquire":
        return before.field is None and words[12] == "x" and not before.list and not words[5] and words[6] == "0" and not words[9] \
            and not words[13]
    return script == "renew" and not before.list or script == "release" and words[2] == "own" and words[5] == ""


def is_same_text(one, other, slack, every=False):
    """Times may differ by the ms that lie between both ways. every: all numbers may."""
    ones, others = (re.split(r"(\d+)", text) for text in (one, other))
    if len(ones) != len(others):
        return False
    return all(a == b or i % 2 == 1 and is_same_time(a, b, slack, every) for i, (a, b) in enumerate(zip(ones, others)))


def is_same_time(one, other, slack, every):
    apart = abs(int(one) - int(other))
    if len(one) == 16:
        return apart <= slack * 1000
    return (len(one) == 13 or every) and apart <= slack


def is_same_answer(one, other, slack):
    """Numbers may differ by as much as times may."""
    if isinstance(one, list) and isinstance(other, list) and [one[:1], other[:1]] == [["renewed"], ["renewed"]]:
        one, other = one[:2] + one[3:], other[:2] + other[3:]  # the token is that of the hold or, the same, the last one
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(is_same_answer(a, b, slack) for a, b in zip(one, other))
    if isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= slack
    return one == other or isinstance(one, str) and isinstance(other, str) and is_same_text(one, other, slack)


def differences(usual, long_way, slack, request):
    """usual, long_way: (Look, heard, answer)"""
    one, other = usual[0], long_way[0]
    if not is_same_answer(usual[2], long_way[2], slack):
        yield f"answers: {usual[2]}, {long_way[2]}"
    if (one.owners, one.list, set(one.holders)) != (other.owners, other.list, set(other.holders)):
        yield f"owner and queue: {one.owners} {one.holders} {one.list}, {other.owners} {other.holders} {other.list}"
    if set(one.scores) != set(other.scores) or any(
            not is_same_text(score, other.scores[who], slack) for who, score in one.scores.items()):
        yield f"scores: {one.scores}, {other.scores}"
    fields = (set(one.hash) | set(other.hash)) - {"r:" + request, "tended"}
    for field in sorted(fields):
        mine, theirs = one.hash.get(field), other.hash.get(field)
        if mine is None or theirs is None or not is_same_record(field, mine, theirs, slack):
            yield f"{field}: {mine!r}, {theirs!r}"
    if len(one.log) != len(other.log) or any(
            not is_same_text(value, entry[name], slack, name in DURATIONS)
            for fields, entry in zip(one.log, other.log) for name, value in fields.items()):
        yield f"log: {one.log[:2]}, {other.log[:2]}"
    if len(usual[1]) != len(long_way[1]) or any(
            a[0] != b[0] or not is_same_text(a[1], b[1], slack, True) for a, b in zip(usual[1], long_way[1])):
        yield f"messages: {usual[1]}, {long_way[1]}"


def is_same_record(field, one, other, slack):
    if field[:2] == "h:" and one.count(" ") >= 12 and other.count(" ") >= 12:
        ones, others = one.split(" ", 12), other.split(" ", 12)
        return all(is_same_text(a, b, slack, i == 5) for i, (a, b) in enumerate(zip(ones, others)))
    return is_same_text(one, other, slack, field == "theirs")


def ttl_difference(script, answer, one, other, slack):
    """The mark of the long way gives our hash another time to live where the usual case changes no more than it must."""
    for key, mine, theirs in zip(KEYS, one.ttl, other.ttl):
        if key == KEYS[3] and (script == "release" or answer[0] not in ("granted", "renewed")):
            continue
        if abs(mine - theirs) > slack or min(mine, theirs) < 0 and mine != theirs:
            return f"time to live of {key}: {mine}, {theirs}"
    return None


def both_ways(script, words, usual, long_way, slack):
    """slack: so many ms have passed from before both until after both."""
    before, after, heard, answer = usual
    if 0 <= before.ttl[0] < 500 or len(before.hash) > 36:
        return  # it may end between both; or a part of the hash is looked through
    if script == "acquire" and abs(before.ttl[0] - int(words[3])) < 50:
        return  # whether the lease is lengthened depends on the ms
    if not after.hash:
        return  # the mark of the long way is all that there is
    found = list(differences((after, heard, answer), long_way, slack, words[1]))
    ttl = ttl_difference(script, answer, after, long_way[0], slack)
    found += [ttl] if ttl else []
    if found:
        raise Failure("ways", f"{script} and the long way leave other things: " + "; ".join(found))
