/* A client whose connection ends, or whose request the server refuses. For client.c.
 * Functions that return an event have filled client->error. */
#pragma once

#include "redis/client_state.h"

void client_drop_reply(struct client *client);

/* The request, if it was sent, is to be sent again. Nothing of it is left at the server. */
void client_unsend(struct client *client);

/* A request that was under way on a lost connection goes out again over the next one. */
void client_forget_connection(struct client *client);

/* Nothing has gone wrong, the connection is at the wrong place, or of the wrong kind. */
void client_start_over(struct client *client);

/* The connection, or the attempt to make one, is over; another one follows. */
enum client_event client_lost(struct client *client);

/* Ends the connection, "cannot VERB the server: CAUSE"; another one follows. */
enum client_event client_break(struct client *client, enum status status, const char *verb,
			       const char *cause);

/* The server answered with an error: CLIENT_FAILED if it is unavailable, and asked again later,
 * else CLIENT_REFUSED. of_subscription: it does not answer the request. */
enum client_event client_refused(struct client *client, const char *text, bool of_subscription);
