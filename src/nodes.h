#ifndef FAIRLOCK_NODES_H
#define FAIRLOCK_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "error.h"
#include "server.h"

/* All servers on which locks of this URL may be: the masters of a cluster, else the one there is.
 */
struct nodes {
	struct client *clients; /* one for each */
	struct server *servers; /* what these connect to: seeds are theirs, the rest is borrowed */
	size_t count;
};

/* Finds them until until_ms. `server` must outlive *nodes. Returns 0, or -1. Call nodes_close in
 * both cases. */
int nodes_open(struct nodes *nodes, const struct server *server, int64_t timeout_ms,
	       int64_t until_ms, struct error *err);

void nodes_close(struct nodes *nodes);

#endif
