/* A connection that comes back by itself: it finds the server, greets it, sends commands and takes
 * replies, and follows redirections. */
#pragma once

#include <poll.h>

#include "redis/connection_end.h"
#include "redis/connection_state.h"

/* Nothing is connected before connection_step. timeout_ms bounds all attempts together, until one
 * server has answered a request or all have failed. */
void connection_init(struct connection *connection, const struct server *server,
		     int64_t timeout_ms);

/* Its first attempt goes to the node of a cluster that `last`, a connection for the same key, had
 * reached. The seeds follow: any of them may hang. Changes nothing without a cluster. */
void connection_begin_at(struct connection *connection, const struct connection *last);

/* A new purpose: attempts have the whole timeout. */
void connection_allow(struct connection *connection);

/* Sets the timeout, also of the attempt that is under way if it is to end sooner then. */
void connection_set_timeout(struct connection *connection, int64_t timeout_ms);

/* Follows MOVED or ASK: the next connection goes there. Returns false, and changes nothing, when
 * `text` is neither, or when there have been too many. */
bool connection_redirect(struct connection *connection, const char *text);

/* The server has answered a request. */
void connection_is_well(struct connection *connection);

/* Keeps the server's own words, for --verbose; `needed` (or NULL) is what it may have refused. */
void connection_hear(struct connection *connection, const char *text, const char *needed);

/* Appends a command to what goes out next; CONNECTION_OPEN only. */
void connection_send(struct connection *connection, int argc, const char **argv);

/* Whether some of what connection_send appended has not left yet. */
bool connection_is_sending(const struct connection *connection);

/* Whether it is open, nothing is left to be sent, and no reply has come in part. */
bool connection_is_silent(const struct connection *connection);

/* Whether a process that was forked with this connection can go on with it after this process has
 * used it. With TLS it cannot. */
bool connection_can_be_shared(const struct connection *connection);

/* In a copy of another process's connection: forgets it without closing it. */
void connection_forget(struct connection *connection);

/* Goes on as far as it can without waiting, up to one event. The caller frees *reply. */
enum connection_event connection_step(struct connection *connection, struct redisReply **reply);

/* Fills *slot for poll. Returns the deadline of the connection's own timers. */
int64_t connection_wait(const struct connection *connection, struct pollfd *slot);
