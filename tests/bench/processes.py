"""How long whole processes take, side by side in one run, in random order.

usage: tests/bench/processes.py ROUNDS FAIRLOCK SOCKET FOLDER
"""

import os
import random
import subprocess
import sys
import time


def timed(command):
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"{command}: status {status}")
    return time.perf_counter() - start


def main():
    rounds, fairlock, socket, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    os.environ["FAIRLOCK_URL"] = "unix:" + socket
    owner = subprocess.run([fairlock, "acquire", "-l", "1h", "held"], stdout=subprocess.PIPE, check=True,
                           text=True).stdout.strip()
    commands = {
        "true": ["true"],
        "flock FILE true": ["flock", os.path.join(folder, "flock"), "true"],
        "fairlock wrap NAME true": [fairlock, "wrap", "job", "true"],
        "redis-cli ping": ["redis-cli", "-s", socket, "ping"],
        "fairlock renew": [fairlock, "renew", "--owner", owner, "held"],
        "fairlock acquire": [fairlock, "acquire", "--owner", owner, "held"],
        "fairlock release": [fairlock, "release", "--owner", owner, "held"],
    }
    times = {name: [] for name in commands}
    for number in range(rounds + 5):
        # a release gives back what the acquire of its round took
        names = [name for name in commands if name != "fairlock release"]
        random.shuffle(names)
        for name in [*names, "fairlock release"]:
            seconds = timed(commands[name])
            if number >= 5:
                times[name].append(seconds * 1000)
    median = {name: sorted(values)[rounds // 2] for name, values in times.items()}
    base = {"fairlock wrap NAME true": "flock FILE true", "fairlock renew": "redis-cli ping",
            "fairlock acquire": "redis-cli ping", "fairlock release": "redis-cli ping"}
    print(f"{'median of ' + str(rounds):28} {'ms':>7}   {'10 % to 90 %':>14}")
    for name, values in times.items():
        values.sort()
        spread = f"{values[rounds // 10]:.2f} to {values[rounds * 9 // 10]:.2f}"
        ratio = f"   {median[name] / median[base[name]]:.2f} of {base[name]}" if name in base else ""
        print(f"{name:28} {median[name]:7.3f}   {spread:>14}{ratio}")


main()
