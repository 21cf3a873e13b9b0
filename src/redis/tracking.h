/* Hears from a server at once which keys have changed whose names begin with a prefix: the server
 * sends their names by itself (CLIENT TRACKING), so nobody polls. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

enum tracking_event {
	TRACKING_NOTHING, /* wait as tracking_wait says */
	TRACKING_CHANGED, /* tracking_key has the keys */
	TRACKING_LOST,    /* the connection is broken, and changes may have been missed */
};

struct tracking {
	struct client client; /* all zero: there is no connection */
	int64_t ask_ms;       /* when to ask whether the server is still there */
};

/* Connects until until_ms, and has the server tell changes. `server` must outlive *tracking.
 * Returns 0, or -1. Call tracking_close in both cases. */
int tracking_start(struct tracking *tracking, const struct server *server, const char *prefix,
		   int64_t timeout_ms, int64_t until_ms, struct error *err);

void tracking_close(struct tracking *tracking);

/* Goes on as far as it can without waiting, up to one event. Call it until TRACKING_NOTHING. */
enum tracking_event tracking_step(struct tracking *tracking);

/* The key that has changed, until the next step; NULL: there are no more. With index 0: any key may
 * have changed, since the whole database has (FLUSHALL). */
const char *tracking_key(const struct tracking *tracking, size_t index);

/* Fills *slot for poll. Returns when tracking_step has something to do. */
int64_t tracking_wait(const struct tracking *tracking, struct pollfd *slot);
