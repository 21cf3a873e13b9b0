/* The events of several locks, in the order in which they happened, for `log` without NAME. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "history/log_reply.h"

struct merged_event {
	struct log_event event; /* its texts, and name, lie in text */
	const char *name;       /* of the lock */
	size_t place;           /* in the order of adding */
	char *text;
};

/* Starts as {0}. */
struct merged_log {
	struct merged_event *list;
	size_t count;
	size_t room;
};

/* Adds copies of the events of the lock `name`. Returns 0, or -1 with STATUS_OS. */
int merged_log_add(struct merged_log *log, const char *name, const struct log_reply *history,
		   struct error *err);

/* Sorts by time; events of the same time stay in the order of adding. */
void merged_log_sort(struct merged_log *log);

void merged_log_free(struct merged_log *log);
