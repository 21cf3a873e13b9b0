/* The table of `log`, with a line for each event. */
#pragma once

#include "base/error.h"

struct log_event;
struct table;

extern const struct layout event_layout;

int log_table_add(struct table *table, const struct log_event *event, struct error *err);
