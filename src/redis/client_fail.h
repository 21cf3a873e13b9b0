/* A client's connection ends, or the server refuses its request. For client.c. Functions that
 * return an event have filled client->error. */
#pragma once

#include "redis/client_state.h"

/* Frees client->reply, if there is one. */
void client_drop_reply(struct client *client);

/* The request, if it was sent, waits to be sent again. It does not count as a stray. */
void client_unsend(struct client *client);

/* A connection was lost: the request, if it was sent over it, becomes a stray, and is to be sent
 * again over the next one. */
void client_forget_connection(struct client *client);

/* Ends a connection that nothing is wrong with, but that is to the wrong place, or of the wrong
 * kind; another one follows. */
void client_start_over(struct client *client);

/* The connection, or the attempt to make one, is over; another one follows. */
enum client_event client_lost(struct client *client);

/* Ends the connection, "cannot VERB the server: CAUSE"; another one follows. */
enum client_event client_break(struct client *client, enum status status, const char *verb,
			       const char *cause);

/* The server answered with an error: CLIENT_FAILED if it is unavailable, and asked again later,
 * else CLIENT_REFUSED. of_subscription: it does not answer the request. */
enum client_event client_refused(struct client *client, const char *text, bool of_subscription);
