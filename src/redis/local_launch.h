/* Starts the program of a private server. For local_server.c. */
#pragma once

#include "base/error.h"

/* The descriptor under which a private server keeps the lock of its folder open. */
#define LAUNCH_LOCK_FD 3

/* Opens a file in a folder, on a descriptor that the server will not need for itself, even if this
 * process was started with 0, 1 or 2 closed. Returns the descriptor, or -1 with errno. */
int local_launch_open(int folder, const char *name, int flags);

/* Starts a redis-server or valkey-server in a folder, detached from this process, and does not wait
 * until it listens. It inherits lock, a flocked file of local_launch_open. Returns 0, or -1 with
 * STATUS_UNAVAILABLE if neither is installed, STATUS_OS if it cannot be started. */
int local_launch(int folder, int lock, struct error *err);
