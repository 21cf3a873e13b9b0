/* The value of `log --since`: a duration, or a time in the local zone as people write it. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct log_query;

/* Fills since and from_ms of the query; now_ms is our clock's, since the epoch. Returns 0, or -1
 * with STATUS_USAGE. */
int since_parse(struct log_query *query, const char *text, int64_t now_ms, struct error *err);
