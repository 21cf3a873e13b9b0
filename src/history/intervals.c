/* A grant opens an interval, the event that ends the hold closes it; either may be missing. */
#include "history/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "history/log_reply.h"

/* The description that owner_describe would have written about a Redisson client. */
#define BY_REDISSON "\t\t\tredisson"

static int64_t before(int64_t ms, int64_t length_ms)
{
	return length_ms == UNKNOWN_MS ? ms : length_ms < ms ? ms - length_ms : 0;
}

/* A wait that ended at ms. */
static struct interval *add(struct intervals *intervals, const char *by, const char *token,
			    int64_t ms, int64_t waited_ms)
{
	struct interval *span = &intervals->list[intervals->count++];

	*span = (struct interval){
		.waits_ms = before(ms, waited_ms),
		.holds_ms = ms,
		.ends_ms = ms,
		.by = by,
		.token = log_reply_number(token),
	};
	return span;
}

static struct interval *add_hold(struct intervals *intervals, const char *by, const char *token,
				 int64_t since_ms, int64_t waited_ms)
{
	struct interval *span = add(intervals, by, token, since_ms, waited_ms);

	span->holds = true;
	span->end = INTERVAL_UNKNOWN;
	return span;
}

/* The hold with this token that nothing has ended yet, or NULL. */
static struct interval *find_hold(const struct intervals *intervals, const char *text)
{
	const int64_t token = log_reply_number(text);

	if (token == UNKNOWN_MS)
		return NULL;
	for (size_t i = intervals->count; i > 0; i--)
		if (intervals->list[i - 1].token == token &&
		    intervals->list[i - 1].end == INTERVAL_UNKNOWN)
			return &intervals->list[i - 1];
	return NULL;
}

static void end_hold(struct intervals *intervals, const struct log_event *event,
		     enum interval_end end)
{
	struct interval *span = find_hold(intervals, event->token);

	if (!span) /* its grant is not among the events */
		span = add_hold(intervals, event->by, event->token,
				before(event->time_ms, event->held_ms), event->waited_ms);
	span->ends_ms = MAX(event->time_ms, span->holds_ms);
	span->end = end;
}

static void add_event(struct intervals *intervals, const struct log_event *event)
{
	static const struct {
		const char *name;
		enum interval_end end;
	} ends[] = {
		{"released", INTERVAL_RELEASED},
		{"expired", INTERVAL_EXPIRED},
		{"forced", INTERVAL_FORCED},
		{"lost", INTERVAL_LOST},
	};

	if (event->time_ms == UNKNOWN_MS)
		return;
	if (strcmp(event->name, "granted") == 0)
		add_hold(intervals, event->by, event->token, event->time_ms, event->waited_ms);
	else if (strcmp(event->name, "left") == 0 || strcmp(event->name, "superseded") == 0)
		add(intervals, event->by, "", event->time_ms, event->waited_ms)->end =
			INTERVAL_LEFT;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(event->name, ends[i].name) == 0)
			end_hold(intervals, event, ends[i].end);
}

static bool goes_on_now(const struct last_hold *hold, const struct log_reply *history)
{
	if (hold->is_alone)
		return *history->holder && strcmp(history->holder, hold->owner) == 0;
	return *history->holder && hold->until_ms > history->now_ms;
}

/* No event has ended this hold: it goes on, or its lease ended and no script came by. */
static void add_last_hold(struct intervals *intervals, const struct log_reply *history,
			  const struct last_hold *hold)
{
	const bool goes_on = goes_on_now(hold, history);
	const int64_t end_ms =
		goes_on || hold->until_ms == UNKNOWN_MS ? history->now_ms : hold->until_ms;
	struct interval *span = find_hold(intervals, hold->token);

	if (!*hold->owner || hold->since_ms == UNKNOWN_MS)
		return;
	if (!span)
		span = add_hold(intervals, hold->by, hold->token, hold->since_ms, hold->waited_ms);
	span->ends_ms = MAX(MIN(end_ms, history->now_ms), span->holds_ms);
	span->end = goes_on ? INTERVAL_GOES_ON : INTERVAL_EXPIRED;
}

/* Redisson writes no log: of its holder only this moment is known. */
static void add_redisson_hold(struct intervals *intervals, const struct log_reply *history)
{
	bool is_ours = !*history->holder;

	for (size_t i = 0; i < history->hold_count; i++)
		is_ours |= strcmp(history->holder, history->holds[i].owner) == 0;
	if (!is_ours)
		add_hold(intervals, BY_REDISSON, "", history->now_ms, 0)->end = INTERVAL_GOES_ON;
}

static void add_waiter(struct intervals *intervals, const struct present_waiter *waiter,
		       int64_t now_ms)
{
	const char *by = *waiter->by ? waiter->by : BY_REDISSON;
	struct interval *span = add(intervals, by, "", now_ms, UNKNOWN_MS);

	if (waiter->since_ms != UNKNOWN_MS)
		span->waits_ms = MIN(waiter->since_ms, now_ms);
	span->end = INTERVAL_GOES_ON;
}

static void find_bounds(struct intervals *intervals, const struct log_reply *history)
{
	intervals->from_ms = history->from_ms;
	intervals->to_ms = history->from_ms;
	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *span = &intervals->list[i];

		intervals->goes_on |= span->end == INTERVAL_GOES_ON;
		if (history->from_ms == UNKNOWN_MS &&
		    (i == 0 || span->waits_ms < intervals->from_ms))
			intervals->from_ms = span->waits_ms;
		intervals->to_ms = MAX(intervals->to_ms, span->ends_ms);
	}
	if (intervals->goes_on || history->from_ms != UNKNOWN_MS)
		intervals->to_ms = MAX(intervals->to_ms, history->now_ms);
}

int intervals_make(struct intervals *intervals, const struct log_reply *history, struct error *err)
{
	*intervals = (struct intervals){
		.list = calloc(history->count + history->waiter_count + history->hold_count + 1,
			       sizeof(struct interval)),
	};
	if (!intervals->list)
		return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++)
		add_event(intervals, &history->events[i]);
	for (size_t i = 0; i < history->hold_count; i++)
		add_last_hold(intervals, history, &history->holds[i]);
	add_redisson_hold(intervals, history);
	for (size_t i = 0; i < history->waiter_count; i++)
		add_waiter(intervals, &history->waiters[i], history->now_ms);
	find_bounds(intervals, history);
	return 0;
}

void intervals_free(struct intervals *intervals)
{
	free(intervals->list);
	*intervals = (struct intervals){0};
}
