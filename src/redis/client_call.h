/* One request whose reply is waited for. Nothing else is served meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

/* Connects and greets, as client_call would. */
int client_connect(struct client *client, int64_t until_ms, struct error *err);

/* For commands that do one thing: makes the request and waits until until_ms for
 * its reply, retrying what is getting ready (a private server that starts, a master or a slot on
 * its way to another place) and what broke: a connection that was made. With patient: anything.
 * Returns 0 with client->reply, or -1. */
int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err);

/* Waits until until_ms for the reply to the request that is under way, and drops it. Then, or if it
 * has not come, there is none. */
void client_finish(struct client *client, int64_t until_ms);
