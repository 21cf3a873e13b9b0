/* Turns events of the log into intervals: who waited and who held, from when to when. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct log_reply;

enum interval_end {
	INTERVAL_GOES_ON,
	INTERVAL_RELEASED,
	INTERVAL_EXPIRED,
	INTERVAL_FORCED,
	INTERVAL_LOST,
	INTERVAL_LEFT, /* the queue, without a grant */
	INTERVAL_UNKNOWN,
};

/* One who waited and then held the lock, or left, or still does either. Always
 * waits_ms <= holds_ms <= ends_ms. */
struct interval {
	int64_t waits_ms; /* since then it waited */
	int64_t holds_ms; /* since then it held; where it never did, as ends_ms */
	int64_t ends_ms;
	bool holds; /* it held the lock at some time */
	enum interval_end end;
	const char *by;
	int64_t token;
};

struct intervals {
	struct interval *list;
	size_t count;
	bool goes_on;    /* somebody holds or waits now */
	int64_t from_ms; /* what they all lie in: from what was asked for, else from the first one,
			    ... */
	int64_t to_ms;   /* ... to now, or, if all was asked for and nothing goes on, to the last
			    event */
};

/* Puts together what belongs together. Texts live as long as the history's. Returns 0, or -1 with
 * STATUS_OS. Call intervals_free in both cases. */
int intervals_make(struct intervals *intervals, const struct log_reply *history, struct error *err);

void intervals_free(struct intervals *intervals);
