/* The private server of `local:`: a redis-server or valkey-server of this user on this host, in a
 * folder of its own, on a unix socket there. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Finds the folder in the home directory of the password database, makes it if needed, and checks
 * that it is ours with mode 0700. Returns a descriptor, which the caller closes, or -1
 * (STATUS_CONFIG). */
int local_server_open(struct error *err);

/* Connects to the server in the folder, without waiting, however long the folder's path is. Returns
 * a close-on-exec, non-blocking socket, or -1 with errno (no server: ENOENT, ECONNREFUSED). */
int local_server_connect(int folder);

/* Starts the server unless it runs or another process is starting it. Does not wait until it
 * listens: try local_server_connect again. Safe under races, and with any signals blocked or
 * ignored. Returns 0, or -1 with STATUS_UNAVAILABLE if no server is installed (the text names the
 * package), else STATUS_OS. */
int local_server_start(int folder, struct error *err);

/* A server was started and does not listen: fails with its log's last line, STATUS_UNAVAILABLE. */
int local_server_failure(int folder, struct error *err);

/* The process id of the running (or starting) private server, or 0. */
pid_t local_server_pid(int folder);

/* Whether a process is a private server: it serves others, too, and outlives its starter. */
bool local_server_is_ours(pid_t pid);
