#include "history/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/log_reply.h"

static int64_t before(int64_t ms, int64_t length_ms)
{
	return length_ms == UNKNOWN_MS ? ms : length_ms < ms ? ms - length_ms : 0;
}

static struct interval *add(struct intervals *intervals, const char *by, const char *token)
{
	struct interval *span = &intervals->list[intervals->count++];

	*span = (struct interval){.by = by, .token = log_reply_number(token)};
	return span;
}

static void add_grant(struct intervals *intervals, const struct log_event *event)
{
	struct interval *span = add(intervals, event->by, event->token);

	span->holds = true;
	span->holds_ms = span->ends_ms = event->time_ms;
	span->waits_ms = before(event->time_ms, event->waited_ms);
	span->end = INTERVAL_UNKNOWN;
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

static void add_end(struct intervals *intervals, const struct log_event *event,
		    enum interval_end end)
{
	struct interval *span = find_hold(intervals, event->token);

	if (!span) {
		/* its grant is not among the events */
		span = add(intervals, event->by, event->token);
		span->holds = true;
		span->holds_ms = before(event->time_ms, event->held_ms);
		span->waits_ms = before(span->holds_ms, event->waited_ms);
	}
	span->ends_ms = event->time_ms > span->holds_ms ? event->time_ms : span->holds_ms;
	span->end = end;
}

static void add_leaving(struct intervals *intervals, const struct log_event *event)
{
	struct interval *span = add(intervals, event->by, "");

	span->holds_ms = span->ends_ms = event->time_ms;
	span->waits_ms = before(event->time_ms, event->waited_ms);
	span->end = INTERVAL_LEFT;
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
		add_grant(intervals, event);
	else if (strcmp(event->name, "left") == 0)
		add_leaving(intervals, event);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(event->name, ends[i].name) == 0)
			add_end(intervals, event, ends[i].end);
}

/* The hold that no event has ended: it goes on, or its lease ended and no script came by. */
static void add_last_hold(struct intervals *intervals, const struct log_reply *history)
{
	const struct last_hold *hold = &history->hold;
	const bool goes_on = *history->holder && strcmp(history->holder, hold->owner) == 0;
	const int64_t end_ms =
		goes_on || hold->until_ms == UNKNOWN_MS ? history->now_ms : hold->until_ms;
	struct interval *span = find_hold(intervals, hold->token);

	if (!*hold->owner || hold->since_ms == UNKNOWN_MS)
		return;
	if (!span) {
		span = add(intervals, hold->by, hold->token);
		span->holds = true;
		span->holds_ms = hold->since_ms;
		span->waits_ms = before(hold->since_ms, hold->waited_ms);
	}
	span->ends_ms = end_ms < history->now_ms ? end_ms : history->now_ms;
	if (span->ends_ms < span->holds_ms)
		span->ends_ms = span->holds_ms;
	span->end = goes_on ? INTERVAL_GOES_ON : INTERVAL_EXPIRED;
}

/* Redisson writes no log: of its holder only this moment is known. */
static void add_stranger(struct intervals *intervals, const struct log_reply *history)
{
	struct interval *span;

	if (!*history->holder || strcmp(history->holder, history->hold.owner) == 0)
		return;
	span = add(intervals, "\t\t\tredisson", "");
	span->holds = true;
	span->waits_ms = span->holds_ms = span->ends_ms = history->now_ms;
	span->end = INTERVAL_GOES_ON;
}

static void add_waiter(struct intervals *intervals, const struct present *waiter, int64_t now_ms)
{
	const bool known = waiter->since_ms != UNKNOWN_MS && waiter->since_ms < now_ms;
	struct interval *span = add(intervals, *waiter->by ? waiter->by : "\t\t\tredisson", "");

	span->waits_ms = known ? waiter->since_ms : now_ms;
	span->holds_ms = span->ends_ms = now_ms;
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
		if (span->ends_ms > intervals->to_ms)
			intervals->to_ms = span->ends_ms;
	}
	if ((intervals->goes_on || history->from_ms != UNKNOWN_MS) &&
	    history->now_ms > intervals->to_ms)
		intervals->to_ms = history->now_ms;
}

int intervals_make(struct intervals *intervals, const struct log_reply *history, struct error *err)
{
	*intervals = (struct intervals){
		.list = calloc(history->count + history->waiter_count + 2, sizeof(struct interval)),
	};
	if (!intervals->list)
		return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++)
		add_event(intervals, &history->events[i]);
	add_last_hold(intervals, history);
	add_stranger(intervals, history);
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
