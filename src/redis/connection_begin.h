/* The stages of a connection from the choice of an endpoint to the first bytes: names, sockets, the
 * private server's start, TLS. For connection.c. */
#pragma once

#include "redis/connection_state.h"

/* In any stage but CONNECTION_OPEN: goes on as far as it can without waiting. */
enum connection_event connection_advance(struct connection *connection);
