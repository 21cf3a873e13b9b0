/* A message that has come, but is still in the socket: for a process that may take it there, and
 * leaves anything else to the process that owns the connection. */
#pragma once

#include <stddef.h>

#include "redis/client_state.h"

/* Looks at what has come over an open connection without TLS. If that is one whole message on this
 * channel, and nothing else, copies its text, and returns how many bytes it takes in the socket.
 * Returns 0 for anything else. Reads nothing. */
size_t message_peek(const struct client *client, const char *channel, char text[MESSAGE_MAX_BYTES]);

/* Reads these bytes, which message_peek has seen, out of the socket. */
void message_skip(const struct client *client, size_t length);
