"""The scenes: who types and starts what on which host. Each returns what is on the screens then."""

import os
import signal

MINUTE = 60
HOUR = 60 * MINUTE
BEGIN = 1795230000  # Nov 21 03:00:00 2026


def shell_first(screen):
    """The shell and the guard tell at the same time that wrap was killed: the shell's word comes first here."""
    told = [i for i, line in enumerate(screen) if "".join(c for c, _ in line).startswith("fairlock: lost")]
    killed = [i for i, line in enumerate(screen) if "".join(c for c, _ in line) == "Killed"]
    if told and killed and told[0] < killed[0]:
        screen.insert(told[0], screen.pop(killed[0]))
    return screen


def takeover(world):
    """Left waits, right holds and is killed, left starts. Three times the screens of both."""
    left = world.terminal("ci", "web2", 74)
    right = world.terminal("ci", "web1", 36)
    moments = []

    def keep():
        moments.append((left.screen(), shell_first(right.screen())))

    right.type("fairlock wrap site ./deploy.sh v1")
    right.wait_for(r"^v1: ")
    keep()
    left.type("fairlock wrap site ./deploy.sh v2")
    left.wait_for(r"waited [3-9]s")
    keep()
    os.kill(int(world.holder("site")[1]), signal.SIGKILL)
    left.wait_for(r"^v2: ")
    right.wait_for(r"^Killed\n[^$]*^\$$")
    keep()
    return moments


def status(world):
    """A lock that is free, which is only counted, one that is held for long, one for which two wait."""
    world.set_clock(BEGIN)
    world.start("backup", "db1", "wrap", "--lease", "2h", "nightly", "./backup.sh")
    world.wait_for_holder("nightly", "backup.sh", HOUR)
    world.set_clock(BEGIN + 23 * MINUTE)
    world.start("ci", "build1", "wrap", "site", "./deploy.sh", "v1")
    world.wait_for_holder("site", "deploy.sh", 6)
    for waiters, host in enumerate(("build2", "build3"), 1):
        world.start("ci", host, "wrap", "site", "./deploy.sh", "v2")
        world.wait_for_waiters("site", waiters)
    world.start("shop", "db2", "wrap", "import", "true").wait()
    world.set_clock(BEGIN + 23 * MINUTE + 5)
    terminal = world.terminal("ops", "web1", 84)
    terminal.run("fairlock status")
    return terminal.screen()


def log(world):
    """An hour of a lock. The server's clock is set; all else happens."""
    hold = ["wrap", "--lease", "1h", "shop-db"]
    backup = ["backup", "db1", *hold, "./backup.sh", "--all"]
    deploy = ["ci", "build1", *hold, "./deploy.sh", "v41"]

    def at(minutes):
        world.set_clock(BEGIN + minutes * MINUTE)

    at(0)
    world.start(*backup)
    world.wait_for_holder("shop-db", "backup.sh", 50 * MINUTE)
    at(5)
    world.end_command("backup.sh")
    world.wait_until_free("shop-db")
    at(6)
    world.start("stats", "web2", "wrap", "--lease", "17m", "shop-db", "./report", "--monthly")
    world.wait_for_holder("shop-db", "report", 15 * MINUTE)
    at(8)
    impatient = world.start(*deploy)
    world.wait_for_waiters("shop-db", 1)
    at(14)
    world.start(*backup)
    world.wait_for_waiters("shop-db", 2)
    at(17)
    impatient.terminate()
    world.wait_for_waiters("shop-db", 1)
    at(24)  # the lease of the report has ended; the next one who asks sees that
    world.start(*deploy)
    world.wait_for_holder("shop-db", "backup.sh", 50 * MINUTE)
    at(27)
    world.end_command("backup.sh")
    world.wait_for_holder("shop-db", "deploy.sh", 50 * MINUTE)
    at(32)
    world.start("ops", "web1", "release", "--force", "shop-db").wait()
    at(35)
    world.start(*backup)
    world.wait_for_holder("shop-db", "backup.sh", 50 * MINUTE)
    world.set_clock(BEGIN + HOUR + 1)
    world.end_command("backup.sh")
    world.wait_until_free("shop-db")
    terminal = world.terminal("ops", "web1", 84)
    terminal.run("fairlock log --plot shop-db")
    return terminal.screen()


def doctor(world):
    """A server as it comes, without a file."""
    terminal = world.terminal("ops", "web1", 84)
    terminal.run("fairlock doctor")
    return terminal.screen()
