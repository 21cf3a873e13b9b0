/* A client: requests, one at a time, and messages, over a connection that comes back by itself. */
#pragma once

#include <poll.h>

#include "redis/client_state.h"

/* Nothing is connected until a request is made. timeout_ms bounds an attempt to connect and a reply
 * that is due. */
void client_init(struct client *client, const struct server *server, int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void client_close(struct client *client);

/* Listens on a channel from now on, over every connection; beyond CLIENT_CHANNELS in place of the
 * last one. Returns false if it did so before. */
bool client_subscribe(struct client *client, const char *channel);

/* Whether the server was asked for all channels over this connection, and has refused none. */
bool client_hears_all(const struct client *client);

/* Makes a request. The one before must have been answered, or not have left. */
void client_request(struct client *client, const struct request *request);

/* Drops the request under way: its reply, if it comes, is ignored with its connection. */
void client_cancel(struct client *client);

/* Whether a request was made that has not been answered yet. */
bool client_has_request(const struct client *client);

/* Fills *slot for poll. Returns the deadline of the client's own timers. */
int64_t client_wait(const struct client *client, struct pollfd *slot);

/* Goes on as far as it can without waiting, up to one event. Call it until CLIENT_NOTHING. */
enum client_event client_step(struct client *client);

/* Whether all is answered and confirmed. Then another process can go on with a copy of *client if
 * it was forked while this connection was open and silent (connection_is_silent). It needs a
 * connection of its own unless connection_can_be_shared. */
bool client_is_still(const struct client *client);

/* Connects also when there is nothing to ask. */
void client_open(struct client *client);

/* Tells in *err why the server has not answered in time: how the last attempt to reach it failed,
 * or else what the connection still waits for. */
void client_tell_late(const struct client *client, struct error *err);

/* Whether it is connected, and the server has answered the greeting. */
bool client_has_greeted(const struct client *client);
