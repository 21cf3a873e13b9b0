#ifndef FAIRLOCK_LOG_TABLE_H
#define FAIRLOCK_LOG_TABLE_H

#include "base/error.h"

struct event;
struct options;
struct table;

/* Events of the log as lines of a table. */
extern const struct layout event_layout;

int event_add(struct table *table, const struct event *event, const struct options *options,
	      struct error *err);

#endif
