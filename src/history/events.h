/* The events of locks as `log` has read them, and what it makes of them: intervals, figures, and a
 * drawing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct redisReply;

/* A time or duration that is not known. Times are the server's, in milliseconds since the epoch. */
#define UNKNOWN_MS (-1)

enum event_kind {
	EVENT_GRANTED,
	EVENT_RELEASED,
	EVENT_EXPIRED,
	EVENT_FORCED,
	EVENT_LOST,
	EVENT_LEFT,
	EVENT_SUPERSEDED,
	EVENT_OTHER, /* it changed no hold and no wait */
};

extern const char *const event_names[EVENT_OTHER];

enum event_text {
	EVENT_ID,
	EVENT_NAME,
	EVENT_OWNER,
	EVENT_TOKEN,
	EVENT_BY,
	EVENT_STATUS, /* of COMMAND, ... */
	EVENT_CAUSE,  /* ... and why it ended */
	EVENT_SLOT,
	EVENT_ACTOR, /* description of the process that did it, if it was another one */
	EVENT_TEXTS,
};

struct log_event {
	enum event_kind kind;
	const char *texts[EVENT_TEXTS]; /* "" if unknown; they live as long as the reply */
	int64_t time_ms;
	int64_t waited_ms;
	int64_t held_ms;
};

/* The events of a lock, as the reply for it tells them. Starts as {0}. */
struct history {
	struct log_event *events; /* in the order in which they were written */
	size_t count;
	bool may_lack; /* the server may have dropped earlier events: a log has an end */
	int64_t now_ms;
	int64_t from_ms; /* events from here on were asked for; UNKNOWN_MS: all */
	/* these live until the client's next request */
	const char *holder;               /* "": the lock is free */
	const struct redisReply *waiters; /* who is present, in the order of the queue */
	const struct redisReply *holds;   /* those whose end the log does not have */
};

/* Reads a number that others wrote: a time, a duration, a token. UNKNOWN_MS: it is none. */
int64_t event_number(const char *text);

/* ---- Intervals: each waiter and holder, from when to when ---- */

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

/* Joins the events of each hold. The history is of one lock. Returns 0, or -1 with STATUS_OS. Call
 * intervals_free in both cases. */
int intervals_make(struct intervals *intervals, const struct history *history, struct error *err);

void intervals_free(struct intervals *intervals);

/* ---- What log prints of them ---- */

/* Prints how often a lock was taken, how long that took and lasted, and how busy it was. Returns 0,
 * or -1 with STATUS_OS. */
int stats_print(const struct history *history, const char *name, bool json, struct error *err);

/* Draws waiters and holders of a lock to scale, as wide as the screen. Returns 0, or -1 with
 * STATUS_OS. */
int plot_print(const struct history *history, const char *name, bool is_coloured,
	       struct error *err);
