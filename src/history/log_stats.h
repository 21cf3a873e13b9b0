/* `log --stats`: how often, how long, how busy. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct log_reply;

/* Prints how often a lock was taken, how long that took and lasted, and how busy it was. */
int log_stats_print(const struct log_reply *history, const char *name, bool json,
		    struct error *err);
