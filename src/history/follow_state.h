/* The state of `log --follow` for all locks. For the files follow_*.c. */
#pragma once

#include <poll.h>

#include "base/clock.h"
#include "cli/options.h"
#include "history/followed.h"
#include "redis/cluster_nodes.h"

/* The longest pause between two attempts to reach a server that is away. */
#define RETRY_MAX_MS 1000

struct table;
struct tracking;

struct follower {
	const struct server *server;
	const struct options *options;
	const struct messenger *messenger;
	struct log_query *query;
	struct table *table;
	struct followed_list locks;
	struct cluster_nodes nodes;
	struct tracking *trackings; /* one for each node */
	struct pollfd *slots;       /* the same, and standard output */
	int64_t read_ms;            /* changed logs are not read before */
	int64_t look_ms;            /* when to ask where the slots are */
	int64_t again_ms;           /* when to open all again */
	int64_t away_ms;            /* since when the server is away; 0: it is there */
	bool is_told;               /* the user knows what cannot be seen */
};

static inline int64_t follow_until_ms(const struct follower *f)
{
	return clock_ms() + f->options->connect_timeout_ms;
}

/* Reads the logs that have changed, and prints what is new. Returns 0, or -1. */
int follow_print_changed(struct follower *f, struct error *err);
