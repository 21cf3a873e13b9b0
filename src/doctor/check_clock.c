/* Checks round trips and clocks: how far away the servers are, and what their clocks say. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "doctor/checks.h"

#define CLOCK_MOST_US 1000000
#define TRIP_MOST_US 100000

/* "0.08 ms", "12 ms" */
static const char *show(char text[32], int64_t us)
{
	if (us < 10000)
		snprintf(text, 32, "%.2f ms", (double)us / 1000);
	else
		snprintf(text, 32, "%" PRId64 " ms", us / 1000);
	return text;
}

static void check_trips(struct findings *findings, const struct timing *timing, int64_t lease_ms)
{
	const int64_t third_us = lease_ms * 1000 / 3;
	const enum severity severity = timing->longest_us > third_us       ? SEVERITY_ERROR
				       : timing->longest_us > third_us / 4 ? SEVERITY_WARNING
				       : timing->median_us > TRIP_MOST_US  ? SEVERITY_NOTE
									   : SEVERITY_OK;
	char median[32], longest[32];

	findings_add(findings, severity, "round trip", "median %s, longest %s (of %d)",
		     show(median, timing->median_us), show(longest, timing->longest_us),
		     timing->samples);
	if (severity >= SEVERITY_WARNING)
		findings_explain(
			findings,
			"A holder renews its lease after a third of it: if the answer comes so late, the lock is lost.",
			"use a longer --lease (it is %g s), or a nearer server",
			(double)lease_ms / 1000);
	else if (severity == SEVERITY_NOTE)
		findings_explain(findings,
				 "A lock that passes to the next waiter is idle for so long.",
				 "use a nearer server");
}

static void check_clock(struct findings *findings, const struct timing *timing)
{
	const int64_t off_us = llabs(timing->ahead_us);
	const int64_t most_us = off_us + timing->quickest_us / 2; /* it is not known better */
	char off[32];

	if (off_us < CLOCK_MOST_US) {
		findings_add(findings, SEVERITY_OK, "clock", "differs from ours by less than %s",
			     most_us < 1000 ? "1 ms" : show(off, most_us));
		return;
	}
	findings_add(findings, SEVERITY_NOTE, "clock", "%.1f s %s ours", (double)off_us / 1e6,
		     timing->ahead_us > 0 ? "ahead of" : "behind");
	findings_explain(
		findings,
		"No lock depends on it, but fencing tokens, and times in lists, are by the server's clock.",
		"keep both clocks right (NTP)");
}

/* Slots move from one node to another, and the locks in them with their leases. */
static void compare_clocks(struct findings *findings, const struct server_info *info, size_t count)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		if (!info[i].timing.is_known)
			continue;
		if (info[i].timing.ahead_us < least)
			least = info[i].timing.ahead_us;
		if (info[i].timing.ahead_us > most)
			most = info[i].timing.ahead_us;
	}
	if (most < least || most - least < CLOCK_MOST_US)
		return;
	findings_add(findings, SEVERITY_WARNING, "clocks", "the nodes' differ by %.1f s",
		     (double)(most - least) / 1e6);
	findings_explain(findings,
			 "When a lock's slot moves, its lease ends early or late by that, and "
			 "fencing tokens may fall back.",
			 "keep the clocks of the nodes right (NTP)");
}

/* Makes *all the worst of both. */
static void merge_timing(struct timing *all, const struct timing *one)
{
	if (!one->is_known)
		return;
	all->is_known = true;
	all->samples += one->samples;
	if (one->median_us > all->median_us)
		all->median_us = one->median_us;
	if (one->longest_us > all->longest_us)
		all->longest_us = one->longest_us;
	if (llabs(one->ahead_us) >= llabs(all->ahead_us)) {
		all->ahead_us = one->ahead_us;
		all->quickest_us = one->quickest_us;
	}
}

void check_times(struct findings *findings, const struct server_info *info, size_t count,
		 const struct options *options)
{
	struct timing all = {0};

	for (size_t i = 0; i < count; i++)
		merge_timing(&all, &info[i].timing);
	if (!all.is_known) {
		findings_add(findings, SEVERITY_NOTE, "round trip", "not known");
		findings_explain(findings, "This user may not ask the server for its time.",
				 "give the user +time");
		return;
	}
	check_trips(findings, &all, options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS);
	check_clock(findings, &all);
	compare_clocks(findings, info, count);
}
