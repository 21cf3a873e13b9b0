/* For commands that do one thing: makes a request, and waits for its reply. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

/* Connects and greets, with the patience of client_call. */
int client_connect(struct client *client, int64_t until_ms, struct error *err);

/* Makes the request and waits until until_ms for its reply. Tries again while the server is getting
 * ready (a private server that starts, a master or a slot on its way to another place), and after a
 * connection that broke; patient: whatever the server is away for. Returns 0 with client->reply, or
 * -1. */
int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err);

/* Waits until until_ms for a message, or for the connection to be lost. There is no request.
 * Returns -1 if the server refuses the subscription. */
int client_listen(struct client *client, int64_t until_ms, struct error *err);

/* Waits until until_ms for the reply to the request that is under way, if there is one. Then there
 * is no request and no reply any more. */
void client_finish(struct client *client, int64_t until_ms);

/* Sends the request, and waits for no reply. (A server that does not know the script does nothing
 * then. Its text would be lost: a server drops what it has not read when it finds the peer gone.)
 * Gives up when the request has not left until then. */
void client_tell(struct client *client, const struct request *request, int64_t until_ms);
