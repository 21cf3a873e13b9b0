#pragma once

#include <poll.h>

#include "redis/client_state.h"

/* Nothing is connected until a request is made. timeout_ms bounds an attempt to connect and a
 * reply that is due. */
void client_init(struct client *client, const struct server *server, int64_t timeout_ms);

/* Closes this process's end without telling the server anything. */
void client_close(struct client *client);

/* Listens on a channel from now on, over every connection. */
void client_subscribe(struct client *client, const char *channel);

/* Makes a request; the one before must have been answered. */
void client_request(struct client *client, const struct request *request);

/* Drops the request under way: its reply, if it comes, is ignored with its connection. */
void client_cancel(struct client *client);

/* Whether a request has been made that is not answered yet. */
bool client_has_request(const struct client *client);

/* Fills *slot for poll. Returns the deadline of the client's own timers. */
int64_t client_wait(const struct client *client, struct pollfd *slot);

/* Goes on as far as it can without waiting, up to one event. Call until CLIENT_NOTHING. */
enum client_event client_step(struct client *client);

/* Whether all is answered and confirmed: then another process can go on with a copy of *client, if
 * it was forked when this connection was there and connection_is_silent. (With a connection of its
 * own if that cannot be shared, see connection_can_be_shared.) */
bool client_is_still(const struct client *client);

/* Connects also when there is nothing to ask. */
void client_open(struct client *client);

/* Whether it is connected, and the server has said who it is. */
bool client_has_greeted(const struct client *client);
