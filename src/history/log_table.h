/* The table of `log`, with a line for each event. */
#pragma once

#include "base/error.h"

struct log_event;
struct table;

extern const struct layout event_layout;

/* With the name of the lock in each line, for all locks. */
extern const struct layout all_events_layout;

int log_table_add(struct table *table, const char *name, const struct log_event *event,
		  struct error *err);
