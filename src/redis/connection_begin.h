/* The stages of a connection from the choice of an endpoint to the first bytes: names, sockets, the
 * private server's start, TLS. For connection.c. Each goes on as far as it can without waiting. */
#pragma once

#include "redis/connection_state.h"

/* CONNECTION_DOWN */
enum connection_event connection_begin(struct connection *connection);

/* CONNECTION_LOOKING_UP */
enum connection_event connection_mind_lookup(struct connection *connection);

/* CONNECTION_CONNECTING */
enum connection_event connection_mind_connect(struct connection *connection);

/* CONNECTION_SECURING */
enum connection_event connection_mind_tls(struct connection *connection);
