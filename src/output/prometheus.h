/* Metrics of locks in the text exposition format of Prometheus (version 0.0.4). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum metric {
	METRIC_HELD, /* 1 or 0 */
	METRIC_HOLDERS,
	METRIC_SLOTS,
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

/* Instead of a value: it is left out, or it is infinite. */
#define METRIC_UNKNOWN (-1)
#define METRIC_ENDLESS INT64_MAX

/* Starts as {0}. */
struct prometheus {
	struct sample {
		char *name; /* of the lock */
		int64_t values[METRIC_COUNT];
	} * list;
	size_t count;
	int64_t unseen_slots; /* of a cluster, or METRIC_UNKNOWN */
	int64_t grants;       /* whether locks can be taken, 1 or 0, or METRIC_UNKNOWN */
};

/* Adds a lock, and copies its name. A lock that is added twice counts once. Returns 0, or -1 with
 * STATUS_OS. */
int prometheus_add(struct prometheus *metrics, const char *name, const int64_t values[METRIC_COUNT],
		   struct error *err);

/* Writes all locks to standard output, sorted by name. */
void prometheus_print(struct prometheus *metrics);

void prometheus_free(struct prometheus *metrics);
