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
			  "Slots of the lock, as far as holders and waiters show: the largest "
			  "number wanted or held."},
	[METRIC_HOLDS] =
		{"fairlock_holds", GAUGE,
		 "Hold count of the owner, more than 1 when it went in again; of several holders, "
		 "of the one whose lease ends first."},
	[METRIC_HOLD_MS] =
		{"fairlock_hold_seconds", GAUGE_MS,
		 "For how long the lock has been held; not known of Redisson's holders."},
	[METRIC_LEASE_MS] = {"fairlock_lease_remaining_seconds", GAUGE_MS,
			     "What is left of the lease."},
	[METRIC_WAITERS] = {"fairlock_waiters", GAUGE, "Waiters who are present."},
	[METRIC_OLDEST_WAIT_MS] =
		{"fairlock_oldest_wait_seconds", GAUGE_MS,
		 "For how long the first of them has waited; not known of Redisson's."},
	[METRIC_GRANTS] = {"fairlock_grants_total", COUNTER,
			   "Grants by fairlock, not going in again; Redisson's are not seen."},
	[METRIC_EXPIRIES] = {"fairlock_expiries_total", COUNTER,
			     "Holds whose lease ended before they were given back."},
	[METRIC_BREAKS] = {"fairlock_breaks_total", COUNTER, "Holds that were ended by force."},
	[METRIC_LOSSES] = {"fairlock_losses_total", COUNTER,
			   "Holds that were over when the holder asked, after a loss of data."},
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

/* A name is UTF-8 without control characters, so there are two to escape. */
static void print_label(const char *name)
{
	for (; *name; name++) {
		if (*name == '\\' || *name == '"')
			putchar('\\');
		putchar(*name);
	}
}

static void print_value(const struct family *family, int64_t value)
{
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

static void print_family(const struct prometheus *metrics, enum metric metric)
{
	const struct family *family = &families[metric];

	print_heading(family);
	for (size_t i = 0; i < metrics->count; i++) {
		if (metrics->list[i].values[metric] < 0)
			continue;
		printf("%s{lock=\"", family->name);
		print_label(metrics->list[i].name);
		fputs("\"} ", stdout);
		print_value(family, metrics->list[i].values[metric]);
	}
}

void prometheus_print(struct prometheus *metrics)
{
	static const struct family locks = {"fairlock_locks", GAUGE, "Locks listed here."};
	static const struct family grants = {
		"fairlock_can_grant", GAUGE,
		"Whether the server, or all of a cluster, lets locks be taken."};
	static const struct family unseen = {"fairlock_unseen_slots", GAUGE,
					     "Slots of the cluster whose locks cannot be seen."};

	sort(metrics);
	print_heading(&locks);
	printf("%s %zu\n", locks.name, metrics->count);
	print_heading(&grants);
	if (metrics->grants >= 0)
		printf("%s %" PRId64 "\n", grants.name, metrics->grants);
	print_heading(&unseen);
	if (metrics->unseen_slots >= 0)
		printf("%s %" PRId64 "\n", unseen.name, metrics->unseen_slots);
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
		print_family(metrics, metric);
}

void prometheus_free(struct prometheus *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		free(metrics->list[i].name);
	free(metrics->list);
	*metrics = (struct prometheus){0};
}
