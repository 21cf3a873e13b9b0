/* Turns events of the log into intervals: each waiter and holder, from when to when. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct history;

enum interval_end {
	INTERVAL_UNKNOWN, /* nothing tells it */
	INTERVAL_GOES_ON,
	INTERVAL_RELEASED,
	INTERVAL_BROKEN, /* expired, forced or lost */
	INTERVAL_LEFT,   /* the queue, without a grant */
};

/* A process that waited, and then held the lock or left the queue, or still does either. Always
 * waits_ms <= holds_ms <= ends_ms. */
struct interval {
	int64_t waits_ms; /* when it began to wait */
	int64_t holds_ms; /* when it got the lock; if it never did, as ends_ms */
	int64_t ends_ms;
	bool holds; /* it held the lock at some time */
	enum interval_end end;
	const char *by; /* as owner_describe wrote it; belongs to the history */
	int64_t token;
	size_t row; /* of a drawing (plot.c) */
};

struct intervals {
	struct interval *list;
	size_t count;
	bool goes_on;    /* a process holds or waits now */
	int64_t from_ms; /* the time of --since; without it, when the first one began */
	int64_t to_ms;   /* now; without --since, if nothing goes on, when the last one ended */
};

/* Joins the events of each hold. The history is of one lock, and of a query that wants_now. Returns
 * 0, or -1 with STATUS_OS. Call intervals_free in both cases. */
int intervals_make(struct intervals *intervals, const struct history *history, struct error *err);

void intervals_free(struct intervals *intervals);
