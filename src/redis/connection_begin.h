/* The way of a connection to its first bytes: the choice of an endpoint, names, sockets, the
 * private server's start, TLS. For connection.c. */
#pragma once

#include "redis/connection_state.h"

/* In any stage but CONNECTION_OPEN: goes on as far as it can without waiting. */
enum connection_event connection_advance(struct connection *connection);
