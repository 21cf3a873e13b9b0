/* What a user of the server must be allowed to do: the one list of the scripts, and what the client
 * sends itself. */
#pragma once

#include "doctor/report.h"

/* Asks what this user may not do beside locks, without trying: facts->denied. Returns -1 if the
 * server is gone. */
int permissions_ask(struct facts *facts, const struct options *options, struct error *err);

/* Checks the user for the locks that are named, or for any. */
void permissions_check(struct diagnosis *all, const struct facts *facts);

/* Prints commands for redis-cli that let a user take the lock, and look at it; NULL: all locks.
 * Returns 0, or -1. */
int permissions_print(const struct invocation *invocation, const char *name, struct error *err);
