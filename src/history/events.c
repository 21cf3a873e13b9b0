/* Every field of a reply is checked: others can write into a stream, too. The texts of a reply live
 * until the next request, so those of an event are copied. */
#include "history/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "output/timestamp.h"
#include "redis/client.h"
#include "redis/reply.h"

/* The server keeps at least so many events. */
#define LOG_LENGTH 1000

const char *const event_names[EVENT_OTHER] = {
	[EVENT_GRANTED] = "granted",
	[EVENT_RELEASED] = "released",
	[EVENT_EXPIRED] = "expired",
	[EVENT_FORCED] = "forced",
	[EVENT_LOST] = "lost",
	[EVENT_LEFT] = "left",
	[EVENT_SUPERSEDED] = "superseded",
};

/* The fields of an entry that have the texts of an event. */
static const char *const fields[EVENT_TEXTS] = {
	[EVENT_NAME] = "event", [EVENT_OWNER] = "owner",   [EVENT_TOKEN] = "token",
	[EVENT_BY] = "by",      [EVENT_STATUS] = "status", [EVENT_CAUSE] = "cause",
	[EVENT_SLOT] = "slot",  [EVENT_ACTOR] = "actor",
};

static int64_t read_digits(const char *text, size_t length)
{
	int64_t number = 0;

	if (length == 0 || length > 15)
		return UNKNOWN_MS;
	for (size_t i = 0; i < length; i++)
		number = number * 10 + (text[i] - '0');
	return number <= TIMESTAMP_LAST_MS ? number : UNKNOWN_MS;
}

int64_t event_number(const char *text)
{
	const size_t digits = strspn(text, DIGITS);

	return text[digits] == '\0' ? read_digits(text, digits) : UNKNOWN_MS;
}

static void read_field(struct log_event *event, const char *field, const char *value)
{
	for (int i = 0; i < EVENT_TEXTS; i++)
		if (fields[i] && strcmp(field, fields[i]) == 0)
			event->texts[i] = value;
	if (strcmp(field, "time") == 0)
		event->time_ms = event_number(value);
	else if (strcmp(field, "waited") == 0)
		event->waited_ms = event_number(value);
	else if (strcmp(field, "held") == 0)
		event->held_ms = event_number(value);
}

static int read_event(struct log_event *event, const char *lock, const struct redisReply *entry)
{
	const struct redisReply *list = reply_at(entry, 1);
	const char *id = reply_text(entry, 0);

	*event = (struct log_event){
		.time_ms = UNKNOWN_MS, .waited_ms = UNKNOWN_MS, .held_ms = UNKNOWN_MS};
	for (int i = 0; i < EVENT_TEXTS; i++)
		event->texts[i] = "";
	event->texts[EVENT_LOCK] = lock;
	event->texts[EVENT_ID] = id;
	if (!reply_fits(entry, "sl") || strlen(id) >= ENTRY_ID_MAX_BYTES)
		return -1;
	for (size_t i = 0; i + 1 < reply_count(list); i += 2)
		read_field(event, reply_text(list, i), reply_text(list, i + 1));
	while (event->kind < EVENT_OTHER &&
	       strcmp(event->texts[EVENT_NAME], event_names[event->kind]) != 0)
		event->kind++;
	/* an id begins with the time when the entry was written */
	if (event->time_ms == UNKNOWN_MS)
		event->time_ms = read_digits(id, strspn(id, DIGITS));
	return 0;
}

static bool copy_texts(struct log_event *event)
{
	size_t size = 0;
	char *at;

	for (int i = 0; i < EVENT_TEXTS; i++)
		size += strlen(event->texts[i]) + 1;
	event->block = at = malloc(size);
	for (int i = 0; at && i < EVENT_TEXTS; i++) {
		const char *from = event->texts[i];

		event->texts[i] = at;
		at = stpcpy(at, from) + 1;
	}
	return at;
}

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
}

/* The newest entry is the first one. */
static int add_events(struct history *history, const char *lock, const struct redisReply *entries,
		      char after[ENTRY_ID_MAX_BYTES], struct error *err)
{
	const size_t room = history->count + reply_count(entries) + 1;
	struct log_event *events = reallocarray(history->events, room, sizeof(*events));

	if (!events)
		return no_memory(err);
	history->events = events;
	history->may_lack = reply_count(entries) >= LOG_LENGTH;
	for (size_t i = reply_count(entries); i > 0; i--) {
		struct log_event *event = &events[history->count];

		if (read_event(event, lock, reply_at(entries, i - 1)) < 0)
			return reply_nonsense(err);
		strcpy(after, event->texts[EVENT_ID]);
		if (event->time_ms < history->from_ms)
			continue;
		if (!copy_texts(event))
			return no_memory(err);
		history->count++;
	}
	return 0;
}

/* An entry may be written long after its event, so the script cannot leave out all old events. The
 * next requests mean the same time, however much later they come. */
static void settle_since(struct log_query *query, int64_t now_ms)
{
	if (query->since[0] && query->from_ms == UNKNOWN_MS) {
		const int64_t since_ms = strtoll(query->since, NULL, 10);

		query->from_ms = since_ms < now_ms ? now_ms - since_ms : 0;
		snprintf(query->since, sizeof(query->since), "@%" PRId64, query->from_ms);
	}
}

int history_fetch(struct history *history, struct client *client, struct log_query *query,
		  const struct lock_keys *keys, char after[ENTRY_ID_MAX_BYTES], struct error *err)
{
	const struct redisReply *reply;
	struct request request;

	wire_look(keys, &request, "log");
	wire_add(&request, after, query->since, query->wants_now ? "1" : "0");
	connection_trace_ask(client, "for the log of lock", keys->shown);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0)
		return -1;
	connection_trace_answer(client);
	reply = client->reply;
	history->now_ms = event_number(reply_text(reply, 1));
	if (!reply_fits(reply, "sslsll") || strcmp(reply_text(reply, 0), "log") != 0 ||
	    history->now_ms == UNKNOWN_MS)
		return lock_refused(reply, err);
	settle_since(query, history->now_ms);
	history->from_ms = query->from_ms;
	history->holder = reply_text(reply, 3);
	history->waiters = reply_at(reply, 4);
	history->holds = reply_at(reply, 5);
	return add_events(history, keys->name, reply_at(reply, 2), after, err);
}

static int compare_times(const void *a, const void *b)
{
	const struct log_event *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void history_sort(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		history->events[i].place = i;
	if (history->count > 0)
		qsort(history->events, history->count, sizeof(*history->events), compare_times);
}

void history_free(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->events[i].block);
	free(history->events);
	*history = (struct history){0};
}

/* ---- The table ---- */

#define JSON                                                                                       \
	"NAME,TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,SLOT,REASON,TOKEN,WAITED_MS,HELD_MS,BY,"      \
	"STATUS,CAUSE"
#define LAYOUT(begin)                                                                              \
	{                                                                                          \
		.name = "log", .columns = JSON ",WAITED,HELD,WHO",                                 \
		.people = begin "EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND,BY",    \
		.screen = begin "EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,WHO,PID,COMMAND,BY",          \
		.raw = begin "EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND",         \
		.json = JSON, .nothing = "no events",                                              \
	}

const struct layout log_layout = LAYOUT("TIME,NAME,");
const struct layout log_layout_of_one = LAYOUT("TIME,");

static int add_line(struct table *table, const struct log_event *event, struct error *err)
{
	const char *const *texts = event->texts;
	struct table_row row = {.cells = {[COLUMN_NAME] = texts[EVENT_LOCK],
					  [COLUMN_EVENT] = texts[EVENT_NAME],
					  [COLUMN_OWNER] = texts[EVENT_OWNER],
					  [COLUMN_TOKEN] = texts[EVENT_TOKEN],
					  [COLUMN_STATUS] = texts[EVENT_STATUS],
					  [COLUMN_CAUSE] = texts[EVENT_CAUSE],
					  [COLUMN_SLOT] = texts[EVENT_SLOT]}};
	const bool is_short = table_is_short(table);
	struct owner_process process;
	char actor[OWNER_SHOWN_BYTES], who[BY_MAX_BYTES];

	if (*texts[EVENT_ACTOR])
		row.cells[COLUMN_BY] = owner_show(actor, MESSAGE_CHARACTERS, texts[EVENT_ACTOR]);
	owner_fill_row(&row, &process, texts[EVENT_BY]);
	snprintf(who, sizeof(who), "%s%s%s", process.user, *process.host ? "@" : "", process.host);
	row.cells[COLUMN_WHO] = who;
	if (is_short && *process.reason)
		row.cells[COLUMN_COMMAND] = process.reason;
	table_row_number(&row, COLUMN_TIME, event->time_ms);
	table_row_number(&row, COLUMN_WAITED_MS, event->waited_ms);
	table_row_number(&row, COLUMN_HELD_MS, event->held_ms);
	if (!is_short || event->waited_ms > 0)
		row.cells[COLUMN_WAITED] = row.cells[COLUMN_WAITED_MS];
	row.cells[COLUMN_HELD] = row.cells[COLUMN_HELD_MS];
	return table_add(table, &row, err);
}

int history_add_lines(const struct history *history, struct table *table,
		      const struct options *options, bool are_first, struct error *err)
{
	const bool are_all =
		!are_first || options->lines < 0 || (size_t)options->lines > history->count;
	size_t i = are_all ? 0 : history->count - (size_t)options->lines;

	for (; i < history->count; i++)
		if (add_line(table, &history->events[i], err) < 0)
			return -1;
	return 0;
}

/* ---- --since ---- */

/* A time while it is read. */
struct reading {
	const char *at;   /* what is left of the text */
	struct tm parts;  /* local time, or that of the zone */
	int64_t after_ms; /* so much later: behind a point */
	bool has_zone;
	int ahead_minutes; /* of UTC, in the zone */
};

/* Skips a text of this form, in which # is any digit. Returns its beginning, or NULL if the rest of
 * the text does not begin so. */
static const char *skip(struct reading *time, const char *form)
{
	const char *const begin = time->at, *at = begin;

	for (; *form; form++, at++)
		if (*form == '#' ? *at < '0' || *at > '9' : *at != *form)
			return NULL;
	time->at = at;
	return begin;
}

static int two_digits(const char *text)
{
	return (text[0] - '0') * 10 + text[1] - '0';
}

/* Digits behind a point, if there are any: as milliseconds, without what is less. */
static bool read_fraction(struct reading *time)
{
	const char *digit = skip(time, ".#");

	for (int64_t weight = 100; digit; weight /= 10, digit = skip(time, "#"))
		time->after_ms += weight * (time->at[-1] - '0');
	return *time->at != '.';
}

/* 03:00, 3:00, 03:00:12, 03:00:12.345 */
static bool read_clock(struct reading *time)
{
	const char *const two = skip(time, "##:##"), *const one = two ? NULL : skip(time, "#:##");
	const char *seconds;

	if (!two && !one)
		return false;
	time->parts.tm_hour = two ? two_digits(two) : *one - '0';
	time->parts.tm_min = two_digits(time->at - 2);
	seconds = skip(time, ":##");
	if (!seconds)
		return true;
	time->parts.tm_sec = two_digits(seconds + 1);
	return read_fraction(time);
}

/* Z, +01:00, -0500 */
static bool read_zone(struct reading *time)
{
	const int sign = *time->at == '-' ? -1 : 1;
	const char *zone;

	time->has_zone = true;
	if (skip(time, "Z"))
		return true;
	if (!skip(time, sign < 0 ? "-" : "+"))
		return false;
	zone = skip(time, "##:##");
	if (!zone)
		zone = skip(time, "####");
	if (zone)
		time->ahead_minutes = sign * (two_digits(zone) * 60 + two_digits(time->at - 2));
	return zone && two_digits(time->at - 2) < 60;
}

/* The day, and the time of that day; without a time it is midnight. Only behind a date there may be
 * a zone. */
static bool read_day_and_clock(struct reading *time)
{
	const bool is_yesterday = skip(time, "yesterday");
	const bool is_word = is_yesterday || skip(time, "today");
	const char *const date = skip(time, "####-##-##");

	time->parts.tm_isdst = -1;
	if (is_yesterday) {
		time->parts.tm_mday--;
		time->parts.tm_hour = 12; /* which each day has */
		mktime(&time->parts);
	}
	time->parts.tm_hour = time->parts.tm_min = time->parts.tm_sec = 0;
	if (date) {
		time->parts.tm_year = two_digits(date) * 100 + two_digits(date + 2) - 1900;
		time->parts.tm_mon = two_digits(date + 5) - 1;
		time->parts.tm_mday = two_digits(date + 8);
	}
	if ((is_word || date) && *time->at == '\0')
		return true;
	if ((is_word || date) && !skip(time, " ") && !(date && skip(time, "T")))
		return false;
	return read_clock(time) && (*time->at == '\0' || !date || read_zone(time));
}

/* Whether there is such a day and time: timegm turns February 30 into March 2. */
static bool is_real(const struct reading *time)
{
	const struct tm *const given = &time->parts;
	struct tm real = *given;

	timegm(&real);
	return real.tm_mon == given->tm_mon && real.tm_mday == given->tm_mday &&
	       real.tm_hour == given->tm_hour && real.tm_min == given->tm_min &&
	       real.tm_sec == given->tm_sec && abs(time->ahead_minutes) < 15 * 60;
}

/* Reads "now", seconds since the epoch behind an @, or a day and a time. Returns why that is no
 * time, or NULL. */
static const char *read_time(const char *text, int64_t now_ms, int64_t *ms)
{
	static const char examples[] =
		"write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS";
	const time_t now = (time_t)(now_ms / 1000);
	struct reading time = {.at = text};

	*ms = now_ms;
	if (strcmp(text, "now") == 0)
		return NULL;
	if (skip(&time, "@")) {
		const size_t digits = strspn(time.at, DIGITS);

		*ms = read_digits(time.at, digits);
		time.at += digits;
		if (*ms == UNKNOWN_MS || !read_fraction(&time) || *time.at)
			return examples;
		*ms = *ms * 1000 + time.after_ms;
		return NULL;
	}
	localtime_r(&now, &time.parts);
	if (!read_day_and_clock(&time) || *time.at)
		return examples;
	if (!is_real(&time))
		return "there is no such day or time";
	*ms = 1000 * (int64_t)(time.has_zone ? timegm(&time.parts) - 60L * time.ahead_minutes
					     : mktime(&time.parts));
	*ms = MAX(*ms + time.after_ms, 0);
	return NULL;
}

static int refuse(const char *text, const char *fault, struct error *err)
{
	char shown[SHORT_MAX_BYTES];

	return fail(err, STATUS_USAGE, "cannot use --since '%s': %s", shorten(shown, text), fault);
}

/* A duration counts from the server's time, so the script subtracts it; a time is the same on both
 * sides. */
int since_parse(struct log_query *query, const char *text, struct error *err)
{
	const int64_t now_ms = wall_ms();
	const char *fault;
	int64_t ms;

	query->from_ms = UNKNOWN_MS;
	if (duration_parse(text, &ms) == 0) {
		snprintf(query->since, sizeof(query->since), "%" PRId64, ms);
		return 0;
	}
	fault = read_time(text, now_ms, &ms);
	if (!fault && ms > now_ms)
		fault = "it is in the future";
	if (fault)
		return refuse(text, fault, err);
	snprintf(query->since, sizeof(query->since), "@%" PRId64, ms);
	query->from_ms = ms;
	return 0;
}
