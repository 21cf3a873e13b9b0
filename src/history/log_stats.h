/* `log --stats`: how often a lock was taken, how long that took and lasted, and how busy it was. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct log_reply;

/* Returns 0, or -1 with STATUS_OS. */
int log_stats_print(const struct log_reply *history, const char *name, bool json,
		    struct error *err);
