/* Ends a connection, or an attempt at one, and says when the next follows. */
#pragma once

#include "redis/connection_state.h"

/* Closes this process's end without telling the server anything. */
void connection_close(struct connection *connection);

/* Closes this process's descriptors of a connection with which another process goes on. */
void connection_leave(const struct connection *connection);

/* Closes the connection; the next is tried at once. */
void connection_drop(struct connection *connection);

/* Ends the connection, or the round of attempts, as one that has failed, "cannot VERB the server:
 * CAUSE": fills connection->error; the next is tried after a while. Returns CONNECTION_FAILED. */
enum connection_event connection_fail(struct connection *connection, enum status status,
				      const char *verb, const char *cause);

/* Ends the connection to a server that is not ready yet; the next is tried in a moment. Returns
 * false, and leaves the connection as it is, when that has taken longer than timeout_ms. */
bool connection_await(struct connection *connection);

/* Counts a failed attempt. Returns for how many ms to leave the server alone: longer each time. */
int64_t connection_back_off(struct connection *connection);

/* Says what the connection still waits for, in words for an error: "no reply in time". */
const char *connection_lateness(const struct connection *connection);

/* ---- For the files connection*.c ---- */

/* The connection, or the round of attempts, is over, connection->error says why; the next one
 * follows after a while. Returns CONNECTION_FAILED. */
enum connection_event connection_lost(struct connection *connection);

/* This attempt failed, connection->error says why: the next address or seed follows at once, if
 * there is one in this round. */
enum connection_event connection_attempt_failed(struct connection *connection);

/* The same: "cannot reach the server: CAUSE". */
enum connection_event connection_attempt_failed_for(struct connection *connection,
						    const char *cause);

/* The same for an attempt that took too long. The last one before connection_await gives up may
 * have had no time: then the error stays that of the attempts before. */
enum connection_event connection_attempt_late(struct connection *connection);
