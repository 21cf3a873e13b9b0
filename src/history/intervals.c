/* A grant opens an interval, the event that ends the hold closes it; either may be missing. */
#include "history/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"
#include "lock/lock.h"
#include "output/timestamp.h"
#include "redis/reply.h"

const char *const event_names[EVENT_OTHER] = {
	[EVENT_GRANTED] = "granted",
	[EVENT_RELEASED] = "released",
	[EVENT_EXPIRED] = "expired",
	[EVENT_FORCED] = "forced",
	[EVENT_LOST] = "lost",
	[EVENT_LEFT] = "left",
	[EVENT_SUPERSEDED] = "superseded",
};

int64_t event_number(const char *text)
{
	const size_t length = strlen(text);
	int64_t number;

	return length == 0 || length > 15 || number_parse(text, length, &number) < 0 ||
			       number > TIMESTAMP_LAST_MS
		       ? UNKNOWN_MS
		       : number;
}

/* The description that owner_describe would have written about a Redisson client. */
#define BY_REDISSON "\t\t\tredisson"

static int64_t before(int64_t ms, int64_t length_ms)
{
	return length_ms == UNKNOWN_MS ? ms : length_ms < ms ? ms - length_ms : 0;
}

/* A wait that ended at ms. */
static struct interval *add(struct intervals *intervals, const char *by, int64_t ms,
			    int64_t waited_ms)
{
	struct interval *span = &intervals->list[intervals->count++];

	*span = (struct interval){
		.waits_ms = before(ms, waited_ms),
		.holds_ms = ms,
		.ends_ms = ms,
		.by = by,
		.token = UNKNOWN_MS,
	};
	return span;
}

static struct interval *add_hold(struct intervals *intervals, const char *by, int64_t token,
				 int64_t since_ms, int64_t waited_ms)
{
	struct interval *span = add(intervals, by, since_ms, waited_ms);

	span->holds = true;
	span->token = token;
	return span;
}

/* The hold with this token that nothing has ended yet, or NULL. */
static struct interval *find_hold(const struct intervals *intervals, int64_t token)
{
	for (size_t i = intervals->count; i > 0 && token != UNKNOWN_MS; i--)
		if (intervals->list[i - 1].token == token &&
		    intervals->list[i - 1].end == INTERVAL_UNKNOWN)
			return &intervals->list[i - 1];
	return NULL;
}

static void end_hold(struct intervals *intervals, const struct log_event *event,
		     enum interval_end end)
{
	const int64_t token = event_number(event->texts[EVENT_TOKEN]);
	struct interval *span = find_hold(intervals, token);

	if (!span) /* its grant is not among the events */
		span = add_hold(intervals, event->texts[EVENT_BY], token,
				before(event->time_ms, event->held_ms), event->waited_ms);
	span->ends_ms = MAX(event->time_ms, span->holds_ms);
	span->end = end;
}

static void add_event(struct intervals *intervals, const struct log_event *event)
{
	const char *by = event->texts[EVENT_BY];

	if (event->time_ms == UNKNOWN_MS)
		return;
	switch (event->kind) {
	case EVENT_GRANTED:
		add_hold(intervals, by, event_number(event->texts[EVENT_TOKEN]), event->time_ms,
			 event->waited_ms);
		break;
	case EVENT_RELEASED:
		end_hold(intervals, event, INTERVAL_RELEASED);
		break;
	case EVENT_EXPIRED:
	case EVENT_FORCED:
	case EVENT_LOST:
		end_hold(intervals, event, INTERVAL_BROKEN);
		break;
	case EVENT_LEFT:
	case EVENT_SUPERSEDED:
		add(intervals, by, event->time_ms, event->waited_ms)->end = INTERVAL_LEFT;
		break;
	case EVENT_OTHER:
		break;
	}
}

/* No event has ended this hold: it goes on, or its lease ended and no script came by. What stands
 * where: see lua/scripts/look.lua. */
static void add_last_hold(struct intervals *intervals, const struct history *history,
			  const struct redisReply *hold)
{
	const char *owner = reply_text(hold, 0);
	const int64_t token = event_number(reply_text(hold, 1)),
		      since_ms = event_number(reply_text(hold, 2)),
		      until_ms = event_number(reply_text(hold, 3));
	const bool is_alone = strcmp(reply_text(hold, 6), MODE_EXCLUSIVE) == 0;
	const bool goes_on = *history->holder && (is_alone ? strcmp(history->holder, owner) == 0
							   : until_ms > history->now_ms);
	struct interval *span = find_hold(intervals, token);

	if (!*owner || since_ms == UNKNOWN_MS)
		return;
	if (!span)
		span = add_hold(intervals, reply_text(hold, 5), token, since_ms,
				event_number(reply_text(hold, 4)));
	span->ends_ms = goes_on || until_ms == UNKNOWN_MS ? history->now_ms
							  : MIN(until_ms, history->now_ms);
	span->ends_ms = MAX(span->ends_ms, span->holds_ms);
	span->end = goes_on ? INTERVAL_GOES_ON : INTERVAL_BROKEN;
}

/* Redisson writes no log: of its holder only this moment is known. */
static void add_redisson_hold(struct intervals *intervals, const struct history *history)
{
	bool is_ours = !*history->holder;

	for (size_t i = 0; i < reply_count(history->holds); i++)
		is_ours |= strcmp(history->holder, reply_text(reply_at(history->holds, i), 0)) == 0;
	if (!is_ours)
		add_hold(intervals, BY_REDISSON, UNKNOWN_MS, history->now_ms, 0)->end =
			INTERVAL_GOES_ON;
}

static void add_waiter(struct intervals *intervals, const struct redisReply *waiter, int64_t now_ms)
{
	const int64_t since_ms = event_number(reply_text(waiter, 0));
	const char *by = reply_text(waiter, 1);
	struct interval *span = add(intervals, *by ? by : BY_REDISSON, now_ms, UNKNOWN_MS);

	if (since_ms != UNKNOWN_MS)
		span->waits_ms = MIN(since_ms, now_ms);
	span->end = INTERVAL_GOES_ON;
}

static void find_bounds(struct intervals *intervals, const struct history *history)
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

int intervals_make(struct intervals *intervals, const struct history *history, struct error *err)
{
	const size_t most = history->count + reply_count(history->holds) +
			    reply_count(history->waiters) + 1; /* one of Redisson's */

	*intervals = (struct intervals){.list = calloc(most, sizeof(struct interval))};
	if (!intervals->list)
		return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++)
		add_event(intervals, &history->events[i]);
	for (size_t i = 0; i < reply_count(history->holds); i++)
		add_last_hold(intervals, history, reply_at(history->holds, i));
	add_redisson_hold(intervals, history);
	for (size_t i = 0; i < reply_count(history->waiters); i++)
		add_waiter(intervals, reply_at(history->waiters, i), history->now_ms);
	find_bounds(intervals, history);
	return 0;
}

void intervals_free(struct intervals *intervals)
{
	free(intervals->list);
	*intervals = (struct intervals){0};
}
