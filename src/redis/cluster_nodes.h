/* The masters of a cluster, one after another, and the slots that none of them serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"
#include "redis/server.h"

#define CLUSTER_SLOTS 16384

/* All servers on which locks of this URL may be: the masters of a cluster, else the one there is.
 */
struct cluster_nodes {
	struct client *clients; /* one for each */
	struct server *servers; /* what these connect to: seeds and label are theirs, the rest is
				   borrowed */
	size_t count;
	uint16_t *owners;   /* of a cluster's slots: 1 + the place of the node, or 0: no node has
			       it; NULL: no cluster */
	struct error *gaps; /* of a cluster: why a node cannot be seen; STATUS_OK: it can */
};

/* Finds them until until_ms. `server` must outlive *nodes. Returns 0, or -1. Call
 * cluster_nodes_close in both cases. */
int cluster_nodes_open(struct cluster_nodes *nodes, const struct server *server, int64_t timeout_ms,
		       int64_t until_ms, struct error *err);

void cluster_nodes_close(struct cluster_nodes *nodes);

/* A node of a cluster did not answer: the others may be seen all the same. False, and nothing
 * changes, when that is no reason to go on without it. */
bool cluster_nodes_lose(struct cluster_nodes *nodes, const struct client *client,
			const struct error *why);

bool cluster_nodes_has_lost(const struct cluster_nodes *nodes, const struct client *client);

/* How many slots of a cluster are with no node, or with one that was lost. */
size_t cluster_nodes_unseen(const struct cluster_nodes *nodes);

/* Says "slots 0-99, 200: WHY" of the slots that are with no node (gap is 0), or with a node that
 * was lost (gap is 1 + its place). False: there are none, and no text. */
bool cluster_nodes_show_gap(const struct cluster_nodes *nodes, size_t gap, char *text, size_t size);

/* Returns 0 when all can be seen; else -1 with STATUS_UNAVAILABLE and all gaps in one line. */
int cluster_nodes_check(const struct cluster_nodes *nodes, struct error *err);
