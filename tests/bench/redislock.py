"""Runs a command under redis-py's Lock, as its manual shows it.

usage: redislock.py SOCKET SECONDS NAME COMMAND [ARGUMENT...]
"""

import subprocess
import sys

import redis

client = redis.Redis(unix_socket_path=sys.argv[1])
with client.lock(sys.argv[3], timeout=int(sys.argv[2])):
    status = subprocess.call(sys.argv[4:])
sys.exit(status)
