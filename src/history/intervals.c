#include "history/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/log_reply.h"

static int64_t before(int64_t ms, int64_t length_ms)
{
	return length_ms == UNKNOWN_MS ? ms : length_ms < ms ? ms - length_ms : 0;
}

static struct span *add(struct spans *spans, const char *by, const char *token)
{
	struct span *span = &spans->list[spans->count++];

	*span = (struct span){.by = by, .token = history_number(token)};
	return span;
}

static void add_grant(struct spans *spans, const struct event *event)
{
	struct span *span = add(spans, event->by, event->token);

	span->holds = true;
	span->holds_ms = span->ends_ms = event->time_ms;
	span->waits_ms = before(event->time_ms, event->waited_ms);
	span->end = SPAN_UNKNOWN;
}

/* The hold with this token that nothing has ended yet, or NULL. */
static struct span *find_hold(const struct spans *spans, const char *text)
{
	const int64_t token = history_number(text);

	if (token == UNKNOWN_MS)
		return NULL;
	for (size_t i = spans->count; i > 0; i--)
		if (spans->list[i - 1].token == token && spans->list[i - 1].end == SPAN_UNKNOWN)
			return &spans->list[i - 1];
	return NULL;
}

static void add_end(struct spans *spans, const struct event *event, enum span_end end)
{
	struct span *span = find_hold(spans, event->token);

	if (!span) {
		/* its grant is not among the events */
		span = add(spans, event->by, event->token);
		span->holds = true;
		span->holds_ms = before(event->time_ms, event->held_ms);
		span->waits_ms = before(span->holds_ms, event->waited_ms);
	}
	span->ends_ms = event->time_ms > span->holds_ms ? event->time_ms : span->holds_ms;
	span->end = end;
}

static void add_leaving(struct spans *spans, const struct event *event)
{
	struct span *span = add(spans, event->by, "");

	span->holds_ms = span->ends_ms = event->time_ms;
	span->waits_ms = before(event->time_ms, event->waited_ms);
	span->end = SPAN_LEFT;
}

static void add_event(struct spans *spans, const struct event *event)
{
	static const struct {
		const char *name;
		enum span_end end;
	} ends[] = {
		{"released", SPAN_RELEASED},
		{"expired", SPAN_EXPIRED},
		{"forced", SPAN_FORCED},
		{"lost", SPAN_LOST},
	};

	if (event->time_ms == UNKNOWN_MS)
		return;
	if (strcmp(event->name, "granted") == 0)
		add_grant(spans, event);
	else if (strcmp(event->name, "left") == 0)
		add_leaving(spans, event);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(event->name, ends[i].name) == 0)
			add_end(spans, event, ends[i].end);
}

/* The hold that no event has ended: it goes on, or its lease ended and no script came by. */
static void add_last_hold(struct spans *spans, const struct history *history)
{
	const struct last_hold *hold = &history->hold;
	const bool goes_on = *history->holder && strcmp(history->holder, hold->owner) == 0;
	const int64_t end_ms =
		goes_on || hold->until_ms == UNKNOWN_MS ? history->now_ms : hold->until_ms;
	struct span *span = find_hold(spans, hold->token);

	if (!*hold->owner || hold->since_ms == UNKNOWN_MS)
		return;
	if (!span) {
		span = add(spans, hold->by, hold->token);
		span->holds = true;
		span->holds_ms = hold->since_ms;
		span->waits_ms = before(hold->since_ms, hold->waited_ms);
	}
	span->ends_ms = end_ms < history->now_ms ? end_ms : history->now_ms;
	if (span->ends_ms < span->holds_ms)
		span->ends_ms = span->holds_ms;
	span->end = goes_on ? SPAN_GOES_ON : SPAN_EXPIRED;
}

/* Redisson writes no log: of its holder only this moment is known. */
static void add_stranger(struct spans *spans, const struct history *history)
{
	struct span *span;

	if (!*history->holder || strcmp(history->holder, history->hold.owner) == 0)
		return;
	span = add(spans, "\t\t\tredisson", "");
	span->holds = true;
	span->waits_ms = span->holds_ms = span->ends_ms = history->now_ms;
	span->end = SPAN_GOES_ON;
}

static void add_waiter(struct spans *spans, const struct present *waiter, int64_t now_ms)
{
	const bool known = waiter->since_ms != UNKNOWN_MS && waiter->since_ms < now_ms;
	struct span *span = add(spans, *waiter->by ? waiter->by : "\t\t\tredisson", "");

	span->waits_ms = known ? waiter->since_ms : now_ms;
	span->holds_ms = span->ends_ms = now_ms;
	span->end = SPAN_GOES_ON;
}

static void find_bounds(struct spans *spans, const struct history *history)
{
	spans->from_ms = history->from_ms;
	spans->to_ms = history->from_ms;
	for (size_t i = 0; i < spans->count; i++) {
		const struct span *span = &spans->list[i];

		spans->goes_on |= span->end == SPAN_GOES_ON;
		if (history->from_ms == UNKNOWN_MS && (i == 0 || span->waits_ms < spans->from_ms))
			spans->from_ms = span->waits_ms;
		if (span->ends_ms > spans->to_ms)
			spans->to_ms = span->ends_ms;
	}
	if ((spans->goes_on || history->from_ms != UNKNOWN_MS) && history->now_ms > spans->to_ms)
		spans->to_ms = history->now_ms;
}

int spans_make(struct spans *spans, const struct history *history, struct error *err)
{
	*spans = (struct spans){
		.list = calloc(history->count + history->waiter_count + 2, sizeof(struct span)),
	};
	if (!spans->list)
		return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++)
		add_event(spans, &history->events[i]);
	add_last_hold(spans, history);
	add_stranger(spans, history);
	for (size_t i = 0; i < history->waiter_count; i++)
		add_waiter(spans, &history->waiters[i], history->now_ms);
	find_bounds(spans, history);
	return 0;
}

void spans_free(struct spans *spans)
{
	free(spans->list);
	*spans = (struct spans){0};
}
