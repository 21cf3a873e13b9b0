#ifndef FAIRLOCK_LOCK_LIST_H
#define FAIRLOCK_LOCK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

struct nodes;
struct server;

/* The names of the locks that the nodes know of, sorted, each once. */
struct names {
	struct found {
		char *name;
		struct client *client; /* of the node that has it */
	} * list;
	size_t count;
};

/* Asks the nodes for the names until until_ms (NEVER_MS: as long as it takes). Goes on without
 * nodes of a cluster that do not answer (nodes_lose). Returns 0, or -1 with what it found before
 * something failed. Call names_free in both cases. */
int names_find(struct names *names, struct nodes *nodes, int64_t until_ms, struct error *err);

/* The same for somebody who waits at a prompt: what can be found at once. Starts no private
 * server. Call names_free. */
void names_find_quickly(struct names *names, const struct server *server);

void names_free(struct names *names);

#endif
