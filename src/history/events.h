/* The events of locks as `log` has read them, and what it makes of them: intervals, figures, and a
 * drawing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct options;
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

/* Prints what --stats or --plot asks for of a lock: how often it was taken, how long that took and
 * lasted, and how busy it was; or its waiters and holders, drawn to scale, as wide as the screen.
 * Returns 0, or -1 with STATUS_OS. */
int history_print(const struct history *history, const char *name, const struct options *options,
		  struct error *err);
