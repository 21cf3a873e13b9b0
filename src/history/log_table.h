/* The table of `log`, with a line for each event. */
#pragma once

#include "base/error.h"
#include "output/table.h"

struct log_event;
struct options;

/* With the name of the lock in each line, for all locks. */
extern const struct layout log_layout;

/* The table of one lock does not repeat its name. */
struct layout log_layout_of_one(void);

/* The first of so many events that --lines lets be shown. */
size_t log_table_first(const struct options *options, size_t count);

int log_table_add(struct table *table, const char *name, const struct log_event *event,
		  struct error *err);
