/* What a user of the server must be allowed to do: the one list of the scripts, and what the client
 * sends itself. */
#pragma once

#include "doctor/report.h"

struct options;

/* Sends one request with the client's timeout; the reply is the client's. */
int facts_call(struct client *client, const struct request *request, struct error *err);

/* Whether the server is gone, or hangs. Any other answer is a refusal, and no failure. */
bool facts_is_gone(const struct error *err);

/* Asks what this user may not do beside locks, without trying: facts->denied. Returns -1 if the
 * server is gone. */
int permissions_ask(struct facts *facts, const struct options *options, struct error *err);

/* Checks the user for the locks that are named, or for any. */
void permissions_check(struct diagnosis *all, const struct facts *facts);

/* Prints commands for redis-cli that let a user take the lock, and look at it; NULL: all locks.
 * Returns 0, or -1. */
int permissions_print(const struct invocation *invocation, const char *name, struct error *err);
