"""Makes the tables: the machine, the measurements, and whether fairlock meets its bars."""

import os
import platform
import time

from peers import Etcdctl, Fairlock, Flock, Redisson, says

OURS, FLOCK, ETCD, REDISSON = Fairlock.name, Flock.name, Etcdctl.name, Redisson.name

TITLES = {
    "a uncontended": "(a) Uncontended: whole processes, ms",
    "b hand-over": "(b) Hand-over: end of one to start of the next, while N to N/2 wait, ms",
    "b out of order": "(b) Who went before somebody who had come earlier, % of all",
    "c drain": "(c) Draining: per grant, ms",
    "d server time": "(d) On the server, with N waiters, µs",
    "e idle": "(e) Waiters while nothing happens",
    "f recovery": "(f) From a death to the next start, s",
    "g locks per second": "(g) Locks per second",
    "h slots": "(h) Jobs of 50 ms through 8 slots: from the first start to the last end, of N/8 x 50 ms",
    "h out of order": "(h) Jobs that started 25 ms or more after one that had come later, % of all",
    "h writer": "(h) A writer among readers that keep coming",
    "h server time": "(h) On the server, beside N holders, or with N waiters, µs",
}


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())


def memory_mb():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def heading(bench):
    """Date, machine, load and versions, taken before the run."""
    server = says(os.environ["SERVER"], "--version")
    lines = [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
             f"{platform.system()} {platform.release()} {platform.machine()}",
             f"{os.cpu_count()} processors, {processor()}, {memory_mb()} MB",
             f"load before the run: {os.getloadavg()[0]:.2f}", server]
    lines += [f"{peer.name} {peer.version()}" for peer in bench.peers]
    lines += [f"MISSING: {name}: {why}" for name, why in bench.missing]
    return lines


def number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def cell(samples, key):
    if key not in samples.values:
        return ""
    count, low, middle, high = samples.row(key)
    text = number(middle)
    if count > 1 and number(low) != number(high):
        text += f" ({number(low)} to {number(high)})"
    return text


def table(samples, measure):
    keys = [key for key in samples.values if key[0] == measure]
    cases = list(dict.fromkeys(case for _, case, _ in keys))
    cases.sort(key=lambda case: [int(word) if word.isdigit() else 0 for word in case.split()])
    if measure in ("d server time", "h server time"):
        cases.sort(key=lambda case: case.rsplit(" ", 1)[0])
    cases.sort(key="one-shot".__eq__)
    who = sorted({who for _, _, who in keys}, key=lambda who: next(
        (at, samples.median(measure, case, who)) for at, case in enumerate(cases) if (measure, case, who) in samples.values))
    if measure in ("d server time", "f recovery", "h writer", "h server time"):  # many cases: they are the rows
        lines = [["", *who]] + [[case, *(cell(samples, (measure, case, one)) for one in who)] for case in cases]
    else:
        lines = [["", *(units(samples, measure, case) for case in cases)]]
        lines += [[one, *(cell(samples, (measure, case, one)) for case in cases)] for one in who]
    notes = [f"- {one}, {case}: {text}" for (of, case, one), text in samples.notes.items() if of == measure]
    return rows(lines) + ([""] + notes if notes else [])


def units(samples, measure, case):
    unit = next(unit for (of, other, _), unit in samples.units.items() if of == measure and other == case)
    return f"{case}, {unit}" if measure == "e idle" else case or unit


def rows(lines):
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = ["| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |" for line in lines]
    text.insert(1, "| " + " | ".join("---" for _ in widths) + " |")
    return text


# ---- The bars ----

def ratio(samples, ours, theirs):
    above, below = samples.median(*ours), samples.median(*theirs)
    return above / below if above is not None and below else None


def bars(bench):
    """Yields (what, at most, found) for each bar; found is None if it was not measured."""
    get, most, idle = bench.samples, bench.waiters[-1], "e idle"
    a, b, c, d, f = "a uncontended", "b hand-over", "c drain", "d server time", "f recovery"
    few, many = bench.lengths[0], bench.lengths[-1]
    yield "uncontended wrap, of flock", 1.0, ratio(get, (a, "whole", OURS), (a, "whole", FLOCK))
    yield "uncontended wrap, of etcdctl lock", 0.1, ratio(get, (a, "whole", OURS), (a, "whole", ETCD))
    for verb in ("acquire", "release"):
        yield f"{verb}, of a PING program", 1.3, ratio(get, (a, "one-shot", verb), (a, "one-shot", "PING program"))
    yield f"hand-over at {most} waiters, of flock", 1.4, ratio(get, (b, most, OURS), (b, most, FLOCK))
    yield f"hand-over at {most} waiters, of etcdctl lock", 0.5, ratio(get, (b, most, OURS), (b, most, ETCD))
    yield "out of order, in %", 0, get.worst("b out of order", most, OURS)
    yield f"drain of {bench.drain}, per grant, of flock", 1.3, ratio(get, (c, bench.drain, OURS), (c, bench.drain, FLOCK))
    yield f"a grant on the server, {many} waiters against {few}", 1.3, ratio(
        get, (d, f"grant {many}", OURS), (d, f"grant {few}", OURS))
    for what in ("question of the first", "sign of life of the last"):
        yield f"the {what} on the server, {many} waiters against {few}", 1.5, ratio(
            get, (d, f"{what} {many}", OURS), (d, f"{what} {few}", OURS))
    yield f"a grant on the server, {many} waiters, of Redisson", 1 / 300, ratio(
        get, (d, f"grant {many}", OURS), (d, f"grant {many}", REDISSON))
    yield f"release and grant in one, {many} waiters, of Redisson's grant", 1 / 300, ratio(
        get, (d, f"hand-over {many}", OURS), (d, f"grant {many}", REDISSON))
    yield f"{bench.idle[0]} idle waiters, {bench.idle[1]} s: ticks", 0, get.worst(idle, "processor", OURS)
    yield f"{bench.idle[0]} idle waiters, {bench.idle[1]} s: requests", 100, get.worst(idle, "requests", OURS)
    yield "an idle waiter, kB PSS", 150, get.worst(idle, "memory", OURS)
    yield f"{bench.slot_jobs} jobs of 50 ms through 8 slots, of the least time", 1.15, get.median(
        "h slots", f"{bench.slot_jobs} jobs", OURS)
    yield "jobs through 8 slots out of order, in %", 0, get.worst("h out of order", f"{bench.slot_jobs} jobs", OURS)
    yield "a writer waits among readers of 50 ms: as many readers' times, at most", 1.5, (
        lambda ms: ms and ms / 50)(get.worst("h writer", "waits", OURS))
    yield "readers that overtook a writer", 0, get.worst("h writer", "readers that overtook it", OURS)
    fewest, most_holders, h = bench.holders[0], bench.holders[-1], "h server time"
    for what in ("grant of a shared hold", "grant of a slot", "hand-over of a slot"):
        yield f"the {what} on the server, beside {most_holders} against {fewest}", 1.5, ratio(
            get, (h, f"{what} {most_holders}", OURS), (h, f"{what} {fewest}", OURS))
    to_first = "hand-over to the first of the waiters"
    yield f"the hand-over of a slot on the server, {many} waiters against {few}", 1.5, ratio(
        get, (h, f"{to_first} {many}", OURS), (h, f"{to_first} {few}", OURS))
    plain, dead = (get.median(f, case, OURS) for case in ("nobody was killed", f"{bench.dead} waiters killed"))
    yield f"start behind {bench.dead} dead, in (1.5 x plain + 20 ms)", 1, (
        dead / (1.5 * plain + 0.02) if plain and dead is not None else None)


def verdicts(bench):
    lines = [["bar", "at most", "found", ""]]
    for what, limit, found in bars(bench):
        verdict = "not measured" if found is None else "met" if found <= limit else "MISSED"
        lines.append([what, number(limit), "" if found is None else number(found), verdict])
    return rows(lines)


def summary(bench):
    """A line for each tool, for RESULTS.md."""
    most, dead = bench.waiters[-1], bench.dead
    columns = {"lock, `true`, unlock: ms": ("a uncontended", "whole"),
               f"hand-over, {most} waiters: ms": ("b hand-over", most),
               "out of order: %": ("b out of order", most),
               f"{bench.drain} waiters, each: ms": ("c drain", bench.drain),
               "memory of a waiter: kB": ("e idle", "memory"),
               f"requests of {bench.idle[0]} waiters in {bench.idle[1]} s": ("e idle", "requests"),
               f"start behind {dead} dead: s": ("f recovery", f"{dead} waiters killed")}
    lines = [["", *columns]]
    for peer in bench.peers:
        found = [bench.samples.median(measure, case, peer.name) for measure, case in columns.values()]
        notes = [bench.samples.notes.get((measure, str(case), peer.name), "") for measure, case in columns.values()]
        lines.append([peer.name, *("" if value is None else "over " * note.startswith("not within") + number(value)
                                   for value, note in zip(found, notes))])
    return rows(lines)


def whole(bench, head, seconds):
    text = ["# Benchmark", ""] + [f"- {line}" for line in head]
    text.append(f"- {seconds:.0f} s; {bench.rounds} rounds of processes, {bench.crowd_rounds} of crowds; "
                f"load after the run: {os.getloadavg()[0]:.2f}")
    text += ["", "Medians, and the quartiles in brackets."]
    found = {measure for measure, _, _ in bench.samples.values}
    for measure, title in TITLES.items():
        if measure in found:
            text += ["", f"## {title}", "", *table(bench.samples, measure)]
    text += ["", "## In short", "", *summary(bench)]
    text += ["", "## Bars", "", *verdicts(bench), ""]
    return "\n".join(text)
