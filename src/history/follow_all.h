/* The events of all locks of a server as they come, for `log --follow` without a NAME. */
#pragma once

#include "base/error.h"
#include "history/log_reply.h"

struct messenger;
struct options;
struct server;
struct table;

/* Prints the events so far, then each new one, also of locks that appear later, and on all nodes of
 * a cluster. Goes on when the server is away for a while. Returns 0 when nobody reads the output
 * any more, or -1. */
int follow_all(const struct server *server, const struct options *options,
	       const struct messenger *messenger, struct log_query *query, struct table *table,
	       struct error *err);

/* Whether the reader of our output has gone: without a new event no write would tell us. */
bool follow_has_no_reader(void);
