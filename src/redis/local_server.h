#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* The private server of `local:`: a redis-server or valkey-server of this user
 * on this host, in a folder of its own, on a unix socket there. */

/* Finds the folder in the home directory of the password database, makes it if
 * needed, and checks that it is a folder of ours with mode 0700. Returns a
 * descriptor of it (the caller closes it), or -1 with STATUS_CONFIG. */
int local_server_open(struct error *err);

/* Connects to the server in the folder, without waiting. Returns a
 * close-on-exec, non-blocking socket, or -1 with errno (ENOENT or ECONNREFUSED
 * when no server listens). Works however long the folder's path is. */
int local_server_connect(int folder);

/* Starts the server unless one runs or is being started by somebody else, and
 * returns without waiting until it listens: try local_server_connect again. Safe under
 * races, and with any signals blocked or ignored. Returns 0, or -1
 * (STATUS_UNAVAILABLE when no server is installed: the text names the package;
 * STATUS_OS otherwise). */
int local_server_start(int folder, struct error *err);

/* For a server that was started and does not listen: fills err with the last
 * that it said (STATUS_UNAVAILABLE). Always returns -1. */
int local_server_failure(int folder, struct error *err);

/* The process id of the running (or starting) private server, or 0. */
pid_t local_server_pid(int folder);

/* Tells whether a process is some private server, which serves others too and
 * outlives whoever started it. */
bool local_server_is_ours(pid_t pid);
