/* Every field of a reply is checked: others can write into a stream, too. */
#include "history/log_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock.h"
#include "output/timestamp.h"
#include "redis/reply.h"

/* The server keeps at least so many events. */
#define LOG_LENGTH 1000

static int64_t read_digits(const char *text, size_t length)
{
	int64_t number = 0;

	if (length == 0 || length > 15)
		return UNKNOWN_MS;
	for (size_t i = 0; i < length; i++)
		number = number * 10 + (text[i] - '0');
	return number <= TIMESTAMP_LAST_MS ? number : UNKNOWN_MS;
}

int64_t log_reply_number(const char *text)
{
	const size_t digits = strspn(text, "0123456789");

	return text[digits] == '\0' ? read_digits(text, digits) : UNKNOWN_MS;
}

void log_reply_request(const struct log_query *query, const struct lock_keys *keys,
		       struct request *request)
{
	wire_look(keys, request, "log");
	wire_add(request, query->after);
	wire_add(request, query->since);
	wire_add(request, query->wants_now ? "1" : "0");
}

static void read_field(struct log_event *event, const char *field, const char *value)
{
	if (strcmp(field, "event") == 0)
		event->name = value;
	else if (strcmp(field, "time") == 0)
		event->time_ms = log_reply_number(value);
	else if (strcmp(field, "owner") == 0)
		event->owner = value;
	else if (strcmp(field, "token") == 0)
		event->token = value;
	else if (strcmp(field, "by") == 0)
		event->by = value;
	else if (strcmp(field, "status") == 0)
		event->status = value;
	else if (strcmp(field, "cause") == 0)
		event->cause = value;
	else if (strcmp(field, "slot") == 0)
		event->slot = value;
	else if (strcmp(field, "actor") == 0)
		event->actor = value;
	else if (strcmp(field, "waited") == 0)
		event->waited_ms = log_reply_number(value);
	else if (strcmp(field, "held") == 0)
		event->held_ms = log_reply_number(value);
}

static int read_event(struct log_event *event, const struct redisReply *entry)
{
	const struct redisReply *fields = reply_at(entry, 1);

	*event = (struct log_event){
		.id = reply_text(entry, 0),
		.name = "",
		.owner = "",
		.token = "",
		.by = "",
		.status = "",
		.cause = "",
		.slot = "",
		.actor = "",
		.time_ms = UNKNOWN_MS,
		.waited_ms = UNKNOWN_MS,
		.held_ms = UNKNOWN_MS,
	};
	if (!reply_fits(entry, "sl") || strlen(event->id) >= ENTRY_ID_MAX_BYTES)
		return -1;
	for (size_t i = 0; i + 1 < reply_count(fields); i += 2)
		read_field(event, reply_text(fields, i), reply_text(fields, i + 1));
	/* an id begins with the time when the entry was written */
	if (event->time_ms == UNKNOWN_MS)
		event->time_ms = read_digits(event->id, strspn(event->id, "0123456789"));
	return 0;
}

static int read_events(struct log_reply *history, const struct redisReply *entries)
{
	for (size_t i = reply_count(entries); i > 0; i--) {
		struct log_event *event = &history->events[history->count];

		if (read_event(event, reply_at(entries, i - 1)) < 0)
			return -1;
		history->last_id = event->id;
		if (event->time_ms >= history->from_ms)
			history->count++;
	}
	history->may_lack = reply_count(entries) >= LOG_LENGTH;
	return 0;
}

static void read_holds(struct log_reply *history, const struct redisReply *holds)
{
	for (size_t i = 0; i < reply_count(holds); i++) {
		const struct redisReply *hold = reply_at(holds, i);

		history->holds[history->hold_count++] = (struct last_hold){
			.owner = reply_text(hold, 0),
			.token = reply_text(hold, 1),
			.since_ms = log_reply_number(reply_text(hold, 2)),
			.until_ms = log_reply_number(reply_text(hold, 3)),
			.waited_ms = log_reply_number(reply_text(hold, 4)),
			.by = reply_text(hold, 5),
			.is_alone = strcmp(reply_text(hold, 6), MODE_EXCLUSIVE) == 0,
		};
	}
}

static void read_waiters(struct log_reply *history, const struct redisReply *waiters)
{
	for (size_t i = 0; i < reply_count(waiters); i++) {
		const struct redisReply *waiter = reply_at(waiters, i);

		history->waiters[history->waiter_count++] = (struct present_waiter){
			.since_ms = log_reply_number(reply_text(waiter, 0)),
			.by = reply_text(waiter, 1),
		};
	}
}

static int make_room(struct log_reply *history, size_t events, size_t waiters, size_t holds,
		     struct error *err)
{
	/* calloc(0) may return NULL */
	history->events = calloc(events + 1, sizeof(*history->events));
	history->waiters = calloc(waiters + 1, sizeof(*history->waiters));
	history->holds = calloc(holds + 1, sizeof(*history->holds));
	if (history->events && history->waiters && history->holds)
		return 0;
	return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
}

/* An entry may be written long after its event, so the script cannot leave out all old events. The
 * next requests mean the same time, however much later they come. */
void log_query_begin(struct log_query *query, int64_t now_ms)
{
	if (query->since[0] && query->from_ms == UNKNOWN_MS) {
		const int64_t since_ms = strtoll(query->since, NULL, 10);

		query->from_ms = since_ms < now_ms ? now_ms - since_ms : 0;
		snprintf(query->since, sizeof(query->since), "@%" PRId64, query->from_ms);
	}
}

int log_reply_read(struct log_reply *history, struct log_query *query,
		   const struct redisReply *reply, struct error *err)
{
	const struct redisReply *entries = reply_at(reply, 2), *waiters = reply_at(reply, 4),
				*holds = reply_at(reply, 5);

	*history =
		(struct log_reply){.now_ms = log_reply_number(reply_text(reply, 1)), .last_id = ""};
	if (!reply_fits(reply, "sslsll") || strcmp(reply_text(reply, 0), "log") != 0 ||
	    history->now_ms == UNKNOWN_MS)
		return lock_refused(reply, err);
	log_query_begin(query, history->now_ms);
	history->from_ms = query->from_ms;
	history->holder = reply_text(reply, 3);
	if (make_room(history, reply_count(entries), reply_count(waiters), reply_count(holds),
		      err) < 0)
		return -1;
	if (read_events(history, entries) < 0)
		return reply_nonsense(err);
	read_holds(history, holds);
	read_waiters(history, waiters);
	return 0;
}

void log_reply_free(struct log_reply *history)
{
	free(history->events);
	free(history->waiters);
	free(history->holds);
	*history = (struct log_reply){0};
}
