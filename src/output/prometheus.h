#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Metrics of locks in the text exposition format of Prometheus (version 0.0.4). */

enum metric {
	METRIC_HELD, /* 1 or 0 */
	METRIC_HOLDS,
	METRIC_HOLD_MS,
	METRIC_LEASE_MS,
	METRIC_WAITERS,
	METRIC_OLDEST_WAIT_MS,
	METRIC_GRANTS,
	METRIC_EXPIRIES,
	METRIC_BREAKS,
	METRIC_LOSSES,
	METRIC_COUNT,
};

/* Instead of a value. */
#define METRIC_UNKNOWN (-1) /* is left out */
#define METRIC_ENDLESS INT64_MAX

struct prometheus {
	struct sample {
		char *name; /* of the lock */
		int64_t values[METRIC_COUNT];
	} * list;
	size_t count;
	int64_t unseen_slots; /* of a cluster; METRIC_UNKNOWN: is left out */
	int64_t grants;       /* whether locks can be taken, 1 or 0; METRIC_UNKNOWN: is left out */
};

/* Adds a lock; its name is copied. One that is added again counts once. Returns 0, or -1 with
 * STATUS_OS. */
int prometheus_add(struct prometheus *metrics, const char *name, const int64_t values[METRIC_COUNT],
		   struct error *err);

/* Writes them to standard output, by their names. */
void prometheus_print(struct prometheus *metrics);

void prometheus_free(struct prometheus *metrics);
