"""What must be so after every script, after every script of an undamaged history, and of what is shown."""

import re

from forms import is_answer, is_entry, read_asked, read_hold, read_request, read_waiter, record_of, waits

MARGIN_MS = 300  # a slow machine takes so long between two looks
NEVER_AGAIN = -1
MARK_MS = 600000
SHORT_QUEUE = 20  # a longer one is looked through in parts


class Failure(Exception):
    """kind: shorter histories that fail so are looked for."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind, self.step = kind, None

    def sort(self):
        """Failures of one sort differ in their numbers and names only."""
        return self.kind, " ".join(re.findall("[a-z]{3,}", str(self))[:4])


def demand(condition, kind, text):
    if not condition:
        raise Failure(kind, text)


def check_keys(script, before, after, may_stay, error):
    """In whatever state the keys were before."""
    if error:
        demand(all(getattr(before, part) == getattr(after, part) for part in ("owners", "list", "scores", "hash", "log", "scored_holders")),
               "half", f"{script} fails on a key of another type, and has changed something")
        return
    demand(len(after.owners) <= 1 or len(before.owners) > 1, "owners", f"key 1 has two owners: {after.owners}")
    for key, name in ((0, "the lock"), (3, "our hash"), (4, "the log"), (5, "the sorted set of the holders")):
        stayed = key in may_stay and before.ttl[key] == NEVER_AGAIN
        demand(after.ttl[key] != NEVER_AGAIN or stayed, "stays", f"{name} has no time to live behind {script}")
    demand(after.agrees() or not before.agrees(), "queue",
           f"list and sorted set disagree behind {script}: {after.list}, {sorted(after.scores)}")
    is_counted = after.hash.get("ours") == str(len(after.list))  # else the next script brings that in order
    if after.list != before.list and is_counted and all(waits(after.hash.get("w:" + who)) for who in after.list):
        demand(all(ttl != NEVER_AGAIN for ttl in after.ttl[1:3]) or NEVER_AGAIN in before.ttl[1:3], "stays",
               f"a queue of {after.list} has no time to live behind {script}")


def check_answer(script, answer, after, is_clean):
    demand(is_answer(script, answer), "answer", f"{script} answers {answer}")
    for fields in after.log:
        demand(is_entry(fields, is_clean), "log", f"{script} logs {fields}")
    if script == "acquire" and answer[0] in ("queued", "granted") and len(after.list) <= SHORT_QUEUE:
        demand(after.agrees(), "queue",
               f"{script} answers {answer}, but list and sorted set disagree: {after.list}, {sorted(after.scores)}")


def check_clean(script, words, answer, before, after, listening):
    """The history is undamaged."""
    for field, text in after.hash.items():
        demand(record_of(field, text) is not None, "record", f"behind {script} there is {field}={text!r}")
    waiting = [field[2:] for field, text in after.hash.items() if field.startswith("w:") and waits(text)]
    demand("ours" not in after.hash or int(after.hash["ours"]) == len(waiting) or not after.agrees(), "ours",
           f"{waiting} wait behind {script}, and our hash counts {after.hash.get('ours')}")
    check_holders(script, after)
    check_asked(script, after)
    for who in [after.owner] if after.owner else list(after.holders):
        check_hand_over(who, before, after)
    check_late(script, words, answer, before)
    demand(script == "release" or after.hash.get("done") == before.hash.get("done"), "once",
           f"{script} writes {after.hash.get('done')} over {before.hash.get('done')}")
    check = {"acquire": after_acquire, "renew": after_renew, "release": after_release, "leave": after_leave}.get(script)
    if check:
        check(words, answer, listening if script == "leave" else before, after)
    if script == "acquire" and answer[0] == "queued" and words[0] in listening:
        # the scripts may take one that does not listen for dead
        check_waiter(words, answer, before, after)


def check_asked(script, after):
    """Beside a hold that was asked to stop stands who asks it; beside no other."""
    asked = {field[2:] for field, text in after.hash.items()
             if field[:2] == "h:" and (read_hold(text) or {}).get("ending") == "asked"}
    noted = {field[2:] for field in after.hash if field[:2] == "a:"}
    demand(asked == noted, "asked", f"behind {script} {asked} were asked to stop, and there are notes of {noted}")


def check_holders(script, after):
    """Several holders share, or have a slot each; our hash knows them."""
    slots = []
    for who, score in after.holders.items():
        hold = read_hold(after.hash.get("h:" + who))
        if hold is None and after.lost_hash:
            continue
        demand(hold and hold["state"] in ("held", "kept") and hold["mode"][0] == after.mode, "holders",
               f"behind {script} {who} holds with {hold}, and the lock is held as {after.owners}")
        demand(hold["since"] == "-" or abs(int(hold["ends"]) - score) <= MARGIN_MS, "holders",
               f"behind {script} the hold of {who} ends at {score}, and it is {hold}")
        demand(hold["mode"] == "s" or after.hash.get("s:" + hold["mode"][1:]) == who, "holders",
               f"behind {script} {who} has the slot {hold['mode']}, and our hash says {after.hash.get('s:' + hold['mode'][1:])}")
        slots += [hold["mode"]] if hold["mode"] != "s" else []
    demand(len(set(slots)) == len(slots), "holders", f"behind {script} two have one slot: {after.holders} {slots}")
    if after.holders:
        last = max(after.holders.values())
        demand(abs(after.now + after.ttl[0] - last) <= MARGIN_MS and abs(after.ttl[0] - after.ttl[5]) <= MARGIN_MS, "holders",
               f"behind {script} the last lease ends at {last}, the keys in {after.ttl[0]} and {after.ttl[5]} ms after {after.now}")


STRAYS = {"acquire": 10, "renew": 7, "release": 6, "leave": 2}  # which word it is


def check_late(script, words, answer, before):
    """Nothing is done for a late copy."""
    made = read_request(before.hash.get("r:" + str(words[1]))) if script in STRAYS else None
    if made and int(words[STRAYS[script]]) < int(made["strays"]):
        demand(answer in (["late"], ["removed"]), "late", f"{script} {words} is late, and answered {answer}")


def is_near(text, time, before, after):
    """A time that a script wrote."""
    return text.isdigit() and before.now - MARGIN_MS <= int(text) + time <= after.now + MARGIN_MS


def check_hand_over(who, before, after):
    """The record of the new holder says what that of the waiter said."""
    waiter = read_waiter(before.hash.get("w:" + who))
    hold = read_hold(after.hash.get("h:" + who))
    if before.has_hold(who) or not waiter or waiter["state"] not in ("waits", "new") or not hold:
        return
    if hold["lease"] == waiter["lease"] and int(hold["ends"]) - int(hold["since"]) < int(hold["lease"]):
        wanted = waiter["by"], "," + waiter["kind"] + who + ",", waiter["ticket"] if waiter["state"] == "new" else "-", "held"
        demand((hold["by"], hold["holds"], hold["unheard"], hold["state"]) == wanted and
               fits_want(hold["mode"], waiter["want"]), "record",
               f"{who} is handed the lock as {hold}, and waited as {waiter}")
        demand(hold["token"] == after.hash["token"] or who in after.holders and int(hold["token"]) < int(after.hash["token"]),
               "record", f"{who} is handed the lock as {hold}, and the last token is {after.hash['token']}")


def fits_want(mode, want):
    """Whether a hold of this mode is one that was asked for."""
    if want[0] == "#":
        return mode[1:].isdigit() and 1 <= int(mode[1:]) <= int(want[1:])
    return mode == want if want[0] != "=" else mode[0] == "=" and mode[1:] in want[1:].split(",")


def after_acquire(words, answer, before, after):
    who, request, kind, lease, _, _, _, _, by, _, strays, _, want = words[:13]
    entry = f",{kind}{request},"
    if answer[0] == "granted":
        owner = answer[1]
        hold = read_hold(after.hash.get("h:" + owner))
        demand(hold and entry in hold["holds"] and hold["state"] == "held" and after.has_hold(owner) and hold["mode"] == answer[6],
               "record", f"acquire answers {answer}, and the hold is {hold}")
        count = int(after.owners[owner]) if after.owner else hold["holds"].count(",") - 1
        demand(count == answer[5], "record", f"acquire answers {answer}, key 1 is {after.owners}, and the hold {hold}")
        demand(answer[6] == "x" or fits_want(answer[6], want), "record", f"acquire {words} answers {answer}")
        if not before.has_hold(owner):
            demand(fits_want(answer[6], want), "record", f"acquire {words} answers {answer}")
            wanted = answer[2], str(lease), by, entry, str(answer[4]), "-", "-", "-", "-"
            found = tuple(hold[name] for name in
                          ("token", "lease", "by", "holds", "waited", "keep", "taken", "unheard", "ending"))
            demand(found == wanted and is_near(hold["since"], 0, before, after) and
                   is_near(hold["ends"], -int(lease), before, after), "record", f"acquire {words} writes {hold}")
    check_once_ok(words, answer, before, after)
    was, made = read_request(before.hash.get("r:" + request)), read_request(after.hash.get("r:" + request))
    is_old = was and int(was["made"]) < after.now - MARK_MS  # no copy comes any more, so any script may delete it
    demand(int(strays) == 0 or is_old or made and int(made["strays"]) >= int(strays), "record",
           f"acquire {words} leaves {made}")


def check_once_ok(words, answer, before, after):
    """Whoever is answered so has left, and a COMMAND has ended with 0; who waited for that is answered nothing else."""
    who, ticket, period = words[0], words[5], words[9]
    started, ended = read_done(before)
    if answer[0] == "ran ok":
        demand(who not in after.list and period[:2] == "ok" and ended is not None, "once",
               f"acquire {words} answers {answer}, {after.list} wait, and done is {before.hash.get('done')}")
        waiter = read_waiter(before.hash.get("w:" + who)) or read_waiter(after.hash.get("w:" + who))
        hold = read_hold(before.hash.get("h:" + who))
        came = int(ticket or waiter and waiter["ticket"] or hold and hold["unheard"].replace("-", "") or 2 ** 53) // 1000
        newest, _, since = before.hash.get("newest", "").partition(" ")
        if words[13] != "":
            age = -int(words[13])
            came = min(came, int(since) if newest == who else before.now - age if age >= 0 else -age)
        is_recent = abs(before.now - started) * 10 < int(period[2:]) * 9 + 10 * MARGIN_MS
        demand(is_recent or came <= ended, "once",
               f"acquire {words} answers {answer} at {before.now}, and done is {before.hash.get('done')}")
    elif answer[0] in ("queued", "granted") and period[:2] == "ok" and ticket and ended is not None:
        demand(not int(ticket) // 1000 <= ended <= before.now or before.has_hold(answer[1]), "once",
               f"acquire {words} answers {answer}, and done is {before.hash.get('done')}")


def read_done(look):
    text = look.hash.get("done")
    return map(int, text.split(" ")) if text else (None, None)


def check_success(words, answer, before, after):
    """Of a release: the success of the wrap that took the lock is noted, and nothing else is."""
    who, request, mode = words[:3]
    was, hold = read_hold(before.hash.get("h:" + who)), read_hold(after.hash.get("h:" + who))
    left = hold["holds"].split(",").count("w" + who) if hold and after.has_hold(who) and hold["state"] == "held" else 0
    is_success = mode == "own" and request == who and tuple(words[7:9]) == ("0", "exit") and before.has_hold(who) and \
        answer[0] in ("released", "kept") and was and was["state"] == "held" and \
        was["holds"].split(",").count("w" + who) > left  # a process that asked with two kinds has two entries
    done, noted = before.hash.get("done"), after.hash.get("done")
    if mode == "forget" and answer[0] == "forgot" and "r:" + request not in before.hash:
        demand(noted is None and after.hash["started"].startswith("- - "), "once", f"release {words} leaves {noted}")
    elif not is_success:
        demand(noted == done or mode == "forget", "once", f"release {words} of {was} answers {answer} and writes {noted} over {done}")
    else:
        started, ended = read_done(after)
        least = min(number for number in (int(was["token"]), int(was["since"].replace("-", "") or 2 ** 53)))
        demand(noted and is_near(str(ended), 0, before, after) and min(least, before.now) <= started <= ended, "once",
               f"release {words} of {was} at {before.now} writes {noted} over {done}")
        for waiting in after.list[:SHORT_QUEUE]:
            waiter = read_waiter(after.hash.get("w:" + waiting))
            demand(not waiter or waiter["period"][:2] != "ok" or int(waiter["ticket"]) // 1000 > ended, "once",
                   f"release {words} writes {noted}, and {waiter} still waits")


def check_waiter(words, answer, before, after):
    who, _, kind, lease, _, ticket, _, _, by, period, _, secret, want = words[:13]
    if not after.has_hold(who):
        waiter = read_waiter(after.hash.get("w:" + who))
        state = "new" if ticket == "" else "waits"
        wanted = state, answer[1], str(lease), secret or "-", kind, str(period) if period else "-", want, by
        found = waiter and tuple(waiter[name] for name in
                                 ("state", "ticket", "lease", "secret", "kind", "period", "want", "by"))
        demand(found == wanted and is_near(waiter["seen"], 0, before, after), "record",
               f"acquire {words} is answered {answer} and writes {waiter}")


def check_newest(script, words, answer, before, after, newest):
    """One waits with --supersede at most, in the place of the one before. newest: who asked so, before this script."""
    asks = script == "acquire" and words[13] != ""
    still = [who for who in after.list if waits(after.hash.get("w:" + who)) and
             (who in newest or asks and who == words[0]) and not (script == "acquire" and not asks and who == words[0])]
    demand(len(still) <= 1, "newest", f"behind {script} {words} these wait with --supersede: {still}")
    if not asks:
        return
    who = words[0]
    demand(answer[0] not in ("queued", "granted") or after.has_hold(who) and before.has_hold(who) or
           after.hash.get("newest", "").split(" ")[0] == who or answer[1] != who and answer[0] == "granted", "newest",
           f"acquire {words} is answered {answer}, and newest is {after.hash.get('newest')}")
    demand(answer[0] != "superseded" or not after.has_hold(who) and not waits(after.hash.get("w:" + who)), "newest",
           f"acquire {words} is answered {answer}, and has a place or the lock")
    old, _, since = before.hash.get("newest", "").partition(" ")
    if old and old != who and not {"w:" + who, "h:" + who} & set(before.hash) and not before.has_hold(who) and int(words[13]) <= 0:
        # By all that the hash knows, the caller comes for the first time. The times tell which is the newer one.
        ago, age = before.now - int(since), -int(words[13])
        demand(-MARGIN_MS < ago < age + MARGIN_MS if answer[0] == "superseded" else
               not MARGIN_MS <= ago <= age - MARGIN_MS or answer[0] in ("removed", "version", "spelled"), "newest",
               f"acquire {words} is answered {answer} at {before.now}, where newest is {old} since {since}")
    was, now = read_waiter(before.hash.get("w:" + old)), read_waiter(after.hash.get("w:" + old))
    if was and now and (was["state"], now["state"]) in (("waits", "superseded"), ("new", "superseded")):
        demand((now["ticket"], now["by"]) == (was["ticket"], words[8]), "newest", f"acquire {words} makes {now} of {was}")
        wanted = [who if one == old else one for one in before.list if one != who and (one in after.list or one == old)]
        demand(who not in after.list or [one for one in after.list if one in wanted] == wanted, "newest",
               f"acquire {words} makes {after.list} of {before.list}, where it supersedes {old}")


def check_start(who, request, before, after):
    """A renewal says that COMMAND starts: the hold of kind v, if there was one, is one of kind w."""
    was, hold = read_hold(before.hash.get("h:" + who)), read_hold(after.hash.get("h:" + who))
    if was and hold and was["token"] == hold["token"] and f",v{request}," in was["holds"]:
        demand(f",v{request}," not in hold["holds"] and f",w{request}," in hold["holds"], "record",
               f"a renewal with start of {was} writes {hold}")
        started, old = after.hash.get("started", "- -"), before.hash.get("started", "- -")
        last, last_but_one = started.split(" ")[:2]
        is_new = is_near(last, 0, before, after) and last_but_one == old.split(" ")[0]
        is_of_same_ms = started == old and last == str(before.now)  # such a start is not noted twice
        demand(is_new or is_of_same_ms if request == who else started == old,
               "record", f"a renewal with start of {was} writes {started} over {old}")


def after_renew(words, answer, before, after):
    who, token = words[0], words[4]
    hold = read_hold(after.hash.get("h:" + who))
    if answer[0] == "renewed" and list(words[9:]) == ["1"]:
        check_start(who, words[1], before, after)
    if answer[0] == "renewed" and (after.hash.get("holder") == who or hold and who in after.holders):
        demand(hold["token"] == answer[2] and hold["state"] == "held" and is_near(hold["ends"], -answer[1], before, after),
               "record", f"renew answers {answer} and writes {hold}")
        note = read_asked(after.hash.get("a:" + who))
        is_taker = words[1:3] in ((who, "w"), (who, "v"))  # the wrap that took this hold, of several locks, too
        by = note["by"] if note and is_taker else ""
        demand(answer[4] == by, "asked", f"renew {words} answers {answer}, and beside the hold is {note}")
        if answer[3]:
            demand(hold["taken"] != "-" or hold["since"] == "-", "record", f"renew answers {answer} and writes {hold}")
    elif answer[0] == "lost" and token:
        was = read_hold(before.hash.get("h:" + who))
        demand(hold or after.has_hold(who) or was and was["since"] == "-", "record", f"renew answers {answer}, the hold is {hold}")


def after_release(words, answer, before, after):
    who, request, mode = words[:3]
    check_success(words, answer, before, after)
    status, cause = words[7:9] if request == who else ("", "")  # of the owner's own COMMAND
    was = read_hold(before.hash.get("h:" + who))
    for what, _, _, hold in answer[1:] if answer[0] == "stops" else []:
        owner = hold.split(" ", 3)[3]
        demand(what != "asked" or "a:" + owner in after.hash, "asked", f"release answers {answer}, and has asked nobody")
    if answer[0] == "kept" and was:
        hold = read_hold(after.hash["h:" + who])
        demand(hold["state"] == "kept" and hold["holds"] == f",{request},", "record", f"release answers {answer} and writes {hold}")
        if was["state"] == "held":
            demand(hold["ending"] == f"{status}:{cause}", "record", f"release answers {answer} and writes {hold}")
    elif answer[0] == "forced" and before.has_hold(answer[1]) and mode == "force":
        made = read_request(after.hash["r:" + request])
        wanted = "forced " + "\n".join(f"{owner} {by}" for owner, by in zip(answer[1::2], answer[2::2]))
        demand(made["answer"] == wanted, "record", f"release answers {answer} and writes {made}")
        demand("r:" + request in before.hash or not any(after.has_hold(owner) and before.has_hold(owner) for owner in answer[1::2]), "record",
               f"release answers {answer}, and {after.owners} {after.holders} hold")
    elif answer == ["released", 0] and before.has_hold(who) and not after.has_hold(who) and was and was["since"] != "-" and \
            was["state"] == "held":
        entries = [fields for fields in after.log if fields["event"] == "released" and fields["owner"] == who]
        wanted = was["token"], was["by"], was["waited"].replace("-", ""), status, cause
        demand(entries and tuple(entries[0][name] for name in ("token", "by", "waited", "status", "cause")) == wanted,
               "log", f"release of {was} logs {entries}")


def after_leave(words, answer, listening, after):
    who, request, _, mode = words[:4]
    if answer[0] != "left" or len(answer) == 1:
        return
    demand(who not in after.list, "queue", f"leave answers {answer}, and {after.list} wait")
    if mode == "remove":
        waiter, made = read_waiter(after.hash.get("w:" + who)), read_request(after.hash.get("r:" + request))
        demand(waiter and waiter["state"] == "removed" and made and made["answer"] == "left " + who, "record",
               f"leave answers {answer} and writes {waiter}, {made}")
    else:
        demand("w:" + who not in after.hash or who not in listening, "record", f"leave answers {answer}, and w:{who} is {after.hash.get('w:' + who)}")


def check_shown(answers, look, listening):
    """What the scripts show is what the records say. The history is undamaged."""
    holder = look.hash.get("holder")
    owner = next(iter(look.holders), None) if look.mode in ("s", "=") else look.owner
    if look.mode in ("s", "="):
        holder = owner
    hold = read_hold(look.hash.get("h:" + holder)) if holder else None
    is_known = hold is not None and holder == owner and hold["since"] != "-"
    shown = answers["status"]
    count = int(look.owners[look.owner]) if look.owner else hold["holds"].count(",") - 1 if hold and look.holders else \
        int(owner is not None)
    wanted = [owner or "", count, hold["token"] if is_known else "", hold["by"] if is_known else "",
              hold["since"] if is_known else "", int(is_known), sum(who in listening for who in look.list),
              int(look.hash.get("n:granted", "0")), int(is_known and hold["state"] == "kept"),
              look.hash.get("started", "-").split(" ")[0].replace("-", ""), look.hash.get("done", " ").split(" ")[1]]
    found = [shown[i] for i in (0, 1, 3, 4, 5, 6, 7, 11, 15, 16, 21)]
    demand(found == wanted, "shown", f"status answers {shown}, and the records say {wanted}")
    rows = sorted([row[0], row[3], row[8]] for row in shown[18])
    records = {who: read_hold(look.hash.get("h:" + who)) for who in (look.holders or [owner] if owner else [])}
    wanted = sorted([who, one["token"], one["mode"][1:]] if one and one["since"] != "-" and (look.holders or is_known) else
                    [who, "", ""] for who, one in records.items())
    demand((rows, shown[17], shown[19]) == (wanted, look.mode or "", len(wanted)), "shown", f"status answers {shown}, and the records say {wanted}")
    waiters = []
    for who in look.list:
        waiter = read_waiter(look.hash.get("w:" + who)) if waits(look.hash.get("w:" + who)) else None
        waiters.append([who, waiter["by"] if waiter else "", int(waiter is not None), int(who in listening),
                        waiter["want"] if waiter else "x"])
    demand([[part[0], *part[2:]] for part in answers["queue"]] == waiters, "shown",
           f"queue answers {answers['queue']}, and the records say {waiters}")
    last = answers["log"][4]
    wanted = [holder, hold["token"], hold["since"], hold["ends"], hold["waited"].replace("-", ""), hold["by"],
              hold["mode"][0], hold["mode"][1:]] \
        if hold and hold["since"] != "-" else []
    demand(last == wanted, "shown", f"log answers {last}, and the records say {wanted}")
    demand(int(shown[22]) == is_by_hand(hold if is_known else None), "shown", f"status answers {shown}, and the records say {hold}")
    check_view(answers["view"], look, owner, hold if is_known else None)


def is_by_hand(hold):
    return hold is not None and hold["state"] == "held" and hold["holds"] != "," and \
        all(entry[0] == "h" for entry in hold["holds"].split(",")[1:-1])


def check_view(answer, look, owner, hold):
    """It is about the first holder; of several, about the first that has not given its hold back."""
    if look.holders:
        records = {who: read_hold(look.hash.get("h:" + who)) for who in look.holders}
        owner = next((who for who, one in records.items() if not one or one["state"] != "kept"), owner)
        hold = records[owner] if records[owner] and records[owner]["since"] != "-" else None
    wanted = [owner or "", hold["by"] if hold else "", len(look.holders) or int(owner is not None), str(int(is_by_hand(hold)))]
    is_kept = hold is not None and hold["state"] == "kept"
    demand([answer[i] for i in (3, 4, 9, 11)] == wanted and
           (answer[5] == -int(hold["ends"]) if is_kept else answer[5] >= 0 if hold else answer[5] == -1), "shown",
           f"view answers {answer}, and the records say {owner}: {hold}")
