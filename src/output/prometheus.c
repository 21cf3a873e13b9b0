/* A family of metrics is printed with all locks before the next one, as the format wants it. */
#include "output/prometheus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	GAUGE,
	GAUGE_MS, /* shown in seconds */
	COUNTER,
};

struct family {
	const char *name;
	enum kind kind;
	const char *help;
};

/* Names follow the conventions of Prometheus: base units, and _total for a counter. */
static const struct family families[METRIC_COUNT] = {
	[METRIC_HELD] = {"fairlock_held", GAUGE, "Whether somebody holds the lock."},
	[METRIC_HOLDERS] = {"fairlock_holders", GAUGE, "How many hold the lock."},
	[METRIC_SLOTS] = {"fairlock_slots", GAUGE,
			  "Slots of the lock: the largest number wanted or held."},
	[METRIC_HOLDS] = {"fairlock_holds", GAUGE,
			  "Hold count of the owner whose lease ends first."},
	[METRIC_HOLD_MS] = {"fairlock_hold_seconds", GAUGE_MS,
			    "For how long it has been held; not known of Redisson's holders."},
	[METRIC_LEASE_MS] = {"fairlock_lease_remaining_seconds", GAUGE_MS,
			     "What is left of the lease."},
	[METRIC_WAITERS] = {"fairlock_waiters", GAUGE, "Waiters who are present."},
	[METRIC_OLDEST_WAIT_MS] = {"fairlock_oldest_wait_seconds", GAUGE_MS,
				   "The longest of their waits; not known of Redisson's."},
	[METRIC_GRANTS] = {"fairlock_grants_total", COUNTER,
			   "Grants by fairlock, not going in again; Redisson's are not seen."},
	[METRIC_EXPIRIES] = {"fairlock_expiries_total", COUNTER,
			     "Holds whose lease ended before they were given back."},
	[METRIC_BREAKS] = {"fairlock_breaks_total", COUNTER, "Holds that were ended by force."},
	[METRIC_LOSSES] = {"fairlock_losses_total", COUNTER,
			   "Holds that were over when the holder asked, after a loss of data."},
};

/* Of the server, without a label. */
static const struct family globals[] = {
	{"fairlock_locks", GAUGE, "Locks listed here."},
	{"fairlock_can_grant", GAUGE,
	 "Whether the server, or all of a cluster, lets locks be taken."},
	{"fairlock_unseen_slots", GAUGE, "Slots of the cluster whose locks cannot be seen."},
};

int prometheus_add(struct prometheus *metrics, const char *name, const int64_t values[METRIC_COUNT],
		   struct error *err)
{
	struct sample *list =
		reallocarray(metrics->list, metrics->count + 1, sizeof(*metrics->list));

	if (list)
		metrics->list = list;
	if (!list || !(list[metrics->count].name = strdup(name)))
		return fail(err, STATUS_OS, "cannot list locks: %s", strerror(ENOMEM));
	memcpy(list[metrics->count++].values, values, sizeof(list->values));
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->name, ((const struct sample *)b)->name);
}

/* The format allows no two samples with the same label. */
static void sort(struct prometheus *metrics)
{
	size_t kept = 0;

	if (metrics->count > 0)
		qsort(metrics->list, metrics->count, sizeof(*metrics->list), compare);
	for (size_t i = 0; i < metrics->count; i++)
		if (kept > 0 && compare(&metrics->list[kept - 1], &metrics->list[i]) == 0)
			free(metrics->list[i].name);
		else
			metrics->list[kept++] = metrics->list[i];
	metrics->count = kept;
}

static void print_sample(const struct family *family, const char *name, int64_t value)
{
	if (value < 0)
		return;
	printf("%s{lock=\"", family->name);
	/* it is UTF-8 without control characters, so there are two to escape */
	for (; *name; name++)
		printf(*name == '\\' || *name == '"' ? "\\%c" : "%c", *name);
	fputs("\"} ", stdout);
	if (value == METRIC_ENDLESS)
		puts("+Inf");
	else if (family->kind == GAUGE_MS)
		printf("%" PRId64 ".%03d\n", value / 1000, (int)(value % 1000));
	else
		printf("%" PRId64 "\n", value);
}

static void print_heading(const struct family *family)
{
	printf("# HELP %s %s\n", family->name, family->help);
	printf("# TYPE %s %s\n", family->name, family->kind == COUNTER ? "counter" : "gauge");
}

void prometheus_print(struct prometheus *metrics)
{
	sort(metrics);
	const int64_t values[] = {(int64_t)metrics->count, metrics->grants, metrics->unseen_slots};

	for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++) {
		print_heading(&globals[i]);
		if (values[i] >= 0)
			printf("%s %" PRId64 "\n", globals[i].name, values[i]);
	}
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
		print_heading(&families[metric]);
		for (size_t i = 0; i < metrics->count; i++)
			print_sample(&families[metric], metrics->list[i].name,
				     metrics->list[i].values[metric]);
	}
}

void prometheus_free(struct prometheus *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		free(metrics->list[i].name);
	free(metrics->list);
	*metrics = (struct prometheus){0};
}
