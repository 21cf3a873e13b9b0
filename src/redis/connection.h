#pragma once

#include <poll.h>

#include "redis/connection_end.h"
#include "redis/connection_state.h"

/* Nothing is connected before connection_step. timeout_ms bounds each attempt. */
void connection_init(struct connection *connection, const struct server *server,
		     int64_t timeout_ms);

/* Follows MOVED or ASK: the next connection goes there. False when `text` is none, or there have
 * been too many: then nothing changes. */
bool connection_redirect(struct connection *connection, const char *text);

/* The server has answered a request: it is well. */
void connection_is_well(struct connection *connection);

/* Appends a command to what goes out next; CONNECTION_OPEN only. */
void connection_send(struct connection *connection, int argc, const char **argv);

/* Whether some of that has not left yet. */
bool connection_is_sending(const struct connection *connection);

/* Whether it is open, nothing is left to be sent, and no reply has come in part. */
bool connection_is_silent(const struct connection *connection);

/* Whether a process that was forked with it can go on with the connection when this one has used it
 * since (connection_is_silent). With TLS it cannot. */
bool connection_can_be_shared(const struct connection *connection);

/* In a copy that another process has made: there is no connection yet. */
void connection_forget(struct connection *connection);

/* Goes on as far as it can without waiting, up to one event. The caller frees *reply. */
enum connection_event connection_step(struct connection *connection, struct redisReply **reply);

/* Fills *slot for poll. Returns the deadline of its own timers. */
int64_t connection_wait(const struct connection *connection, struct pollfd *slot);
