/* A server names its locks, and tells whether they can be taken now: for
 * `status`, `log`, `doctor` and completion. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

struct cluster_nodes;
struct lock_keys;
struct server;

/* The names, each once, sorted: job2 stands before job10. */
struct lock_list {
	struct found {
		char *name;
		struct client *client; /* of the node that has it */
	} * list;
	size_t count;
};

/* Which locks: those that are held, waited for or were used within a day; or those with a log,
 * which outlives the rest by days. */
enum lock_part {
	LOCK_STATE,
	LOCK_LOG,
};

/* The caller's function for each lock; client is connected to its node. Returns 0 or -1. */
typedef int lock_visit(void *data, const char *name, struct client *client, struct error *err);

/* Finds all locks of all nodes until until_ms (NEVER_MS: as long as it takes), and visits each.
 * Goes on without nodes of a cluster that do not answer, or go away meanwhile (cluster_nodes_lose).
 * Returns 0, or -1 when something else has failed. */
int for_each_lock(struct cluster_nodes *nodes, enum lock_part part, int64_t until_ms,
		  lock_visit *visit, void *data, struct error *err);

/* Finds the names that can be found at once, for somebody who waits at a prompt. Starts no private
 * server. Call lock_list_free. */
void lock_list_find_quickly(struct lock_list *names, const struct server *server);

/* Sets *is_known to whether the server has a key of this lock. If it has none, says so on standard
 * error, and which lock has a name that is spelled nearly so. */
int lock_list_check(struct client *client, const struct lock_keys *keys, bool *is_known,
		    struct error *err);

void lock_list_free(struct lock_list *names);

enum grants {
	GRANTS_NOT_KNOWN = -1,
	GRANTS_NONE,
	GRANTS_LOCKS,
};

/* Whether the server lets locks be taken. Changes nothing. With GRANTS_NONE *why says what a job
 * would be told. */
enum grants grants_ask(struct client *client, struct error *why);
