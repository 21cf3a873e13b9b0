#ifndef FAIRLOCK_LOG_STATS_H
#define FAIRLOCK_LOG_STATS_H

#include <stdbool.h>

#include "base/error.h"

struct history;

/* Prints how often a lock was taken, how long that took and lasted, and how busy it was. */
int stats_print(const struct history *history, const char *name, bool json, struct error *err);

#endif
