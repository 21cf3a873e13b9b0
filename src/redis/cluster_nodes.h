/* The masters of a cluster, one after another, and the slots that none of them serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"
#include "redis/server.h"

#define CLUSTER_SLOTS 16384

struct cluster_node {
	struct client client;
	struct error gap; /* why it cannot be seen; STATUS_OK: it can */
	/* of a cluster; all else in the server belongs to that of the URL */
	struct server server;
	struct endpoint endpoint;
	char label[HOST_MAX_BYTES + 24];
};

/* The servers that may have locks of a URL: the masters of a cluster, else the one there is. */
struct cluster_nodes {
	struct cluster_node *list;
	size_t count;
	uint16_t *owners; /* of each slot: 1 + the place of its node; 0: it has none. NULL: there is
			   * no cluster */
	struct messenger *messenger; /* is told their steps; NULL: none is */
};

/* Finds the nodes within timeout_ms, which is that of their clients. `server` and `messenger`
 * (which may be NULL) must outlive *nodes. Returns 0, or -1 without any. */
int cluster_nodes_open(struct cluster_nodes *nodes, const struct server *server,
		       struct messenger *messenger, int64_t timeout_ms, bool starts_none,
		       struct error *err);

void cluster_nodes_close(struct cluster_nodes *nodes);

/* Notes that a node of a cluster did not answer: the other nodes can be seen all the same. Returns
 * false, and changes nothing, when that is no reason to go on without the node. */
bool cluster_nodes_lose(struct cluster_nodes *nodes, const struct client *client,
			const struct error *why);

/* Whether cluster_nodes_lose has noted it. */
bool cluster_nodes_has_lost(const struct cluster_nodes *nodes, const struct client *client);

/* How many slots of a cluster have no node, or one that was lost. */
size_t cluster_nodes_unseen(const struct cluster_nodes *nodes);

/* Writes "slots 0-99, 200: WHY" for the slots without a node (gap is 0), or for those of a node
 * that was lost (gap is 1 + its place). Returns false, with an empty text, when there are none. */
bool cluster_nodes_show_gap(const struct cluster_nodes *nodes, size_t gap, char *text, size_t size);

/* Returns 0 when all slots can be seen, else -1 with STATUS_UNAVAILABLE and all gaps in a line. */
int cluster_nodes_check(const struct cluster_nodes *nodes, struct error *err);
