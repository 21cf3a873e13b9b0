/* fairlock log: prints the latest events of a lock, or of all locks, as a list, in figures, or
 * drawn. With --follow it looks for new ones again and again. Every field of a reply is checked:
 * others can write into a stream, too. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "history/events.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/table.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* From one look for new events to the next. */
#define PERIOD_MS 1000

/* From one search for locks, and for the nodes that have them, to the next; and four times as long
 * as it takes, because a server goes through all its keys, and a hung node delays the others. */
#define SEARCH_MS 5000

/* The server keeps at least so many events. */
#define LOG_LENGTH 1000

/* The id of an entry of a stream: two numbers of 64 bits. */
#define ENTRY_ID_MAX_BYTES 48

struct log_query {
	char since[24];  /* only events of the last so many ms, or since "@TIME" in ms; "": all */
	int64_t from_ms; /* what since means; UNKNOWN_MS until the server's time is known */
};

/* ---- Events ---- */

/* The fields of an entry that have the texts of an event. */
static const char *const fields[EVENT_TEXTS] = {
	[EVENT_NAME] = "event", [EVENT_OWNER] = "owner",   [EVENT_TOKEN] = "token",
	[EVENT_BY] = "by",      [EVENT_STATUS] = "status", [EVENT_CAUSE] = "cause",
	[EVENT_SLOT] = "slot",  [EVENT_ACTOR] = "actor",
};

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

/* The texts of the event are those of the reply. */
static int read_event(struct log_event *event, const struct redisReply *entry)
{
	const struct redisReply *list = reply_at(entry, 1);
	const char *id = reply_text(entry, 0);
	char begin[ENTRY_ID_MAX_BYTES];

	*event = (struct log_event){
		.time_ms = UNKNOWN_MS, .waited_ms = UNKNOWN_MS, .held_ms = UNKNOWN_MS};
	for (int i = 0; i < EVENT_TEXTS; i++)
		event->texts[i] = "";
	event->texts[EVENT_ID] = id;
	if (!reply_fits(entry, "sl") || strlen(id) >= ENTRY_ID_MAX_BYTES)
		return -1;
	for (size_t i = 0; i + 1 < reply_count(list); i += 2)
		read_field(event, reply_text(list, i), reply_text(list, i + 1));
	while (event->kind < EVENT_OTHER &&
	       strcmp(event->texts[EVENT_NAME], event_names[event->kind]) != 0)
		event->kind++;
	/* an id begins with the time when the entry was written */
	snprintf(begin, sizeof(begin), "%.*s", (int)strspn(id, DIGITS), id);
	if (event->time_ms == UNKNOWN_MS)
		event->time_ms = event_number(begin);
	return 0;
}

/* ---- The table ---- */

#define JSON                                                                                       \
	"NAME,TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,SLOT,REASON,TOKEN,WAITED_MS,HELD_MS,BY,"      \
	"STATUS,CAUSE"

static const struct layout log_layout = {
	.name = "log",
	.columns = JSON ",WAITED,HELD,WHO",
	.people = "TIME,NAME,EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND,BY",
	.screen = "TIME,NAME,EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,WHO,PID,COMMAND,BY",
	.raw = "TIME,NAME,EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND",
	.json = JSON,
	.nothing = "no events",
};

/* lock: its name. Events of one lock stay in their order; those of several are sorted. */
static int add_line(struct table *table, const struct log_event *event, const char *lock,
		    bool is_sorted, struct error *err)
{
	const char *const *texts = event->texts;
	struct table_row row = {.cells = {[COLUMN_NAME] = lock,
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
	row.rank = is_sorted ? row.cells[COLUMN_TIME] : NULL;
	return table_add(table, &row, err);
}

/* ---- --since ---- */

/* Reads ".345" as milliseconds, without what is less, and moves *at behind it. */
static int64_t take_fraction(const char **at)
{
	const char *text = *at;

	if (*text != '.')
		return 0;
	*at += 1 + strspn(text + 1, DIGITS);
	return (int64_t)(1e3 * strtod(text, NULL) + 1e-6);
}

/* Reads 3:00, 03:00:10 or 03:00:10.5. strptime(3) also takes fewer digits, so they are counted. */
static bool take_clock(const char **at, struct tm *parts, int64_t *fraction_ms)
{
	const char *start = *at;
	const size_t length = strspn(start, DIGITS ":");
	const bool has_seconds = length == 7 || length == 8;

	*at += length;
	if (!has_seconds && length != 4 && length != 5)
		return false;
	if (strptime(start, has_seconds ? "%H:%M:%S" : "%H:%M", parts) != *at)
		return false;
	*fraction_ms = has_seconds ? take_fraction(at) : 0;
	return true;
}

/* Reads Z, +01:00 or -0500, by how much the zone is ahead. musl's strptime(3) does not. */
static bool take_zone(const char **at, int *ahead_s)
{
	int hours = 0, minutes = 0, length = **at == 'Z';

	if ((**at == '+' || **at == '-') && sscanf(*at, "%3d:%2d%n", &hours, &minutes, &length) < 2)
		sscanf(*at, "%3d%2d%n", &hours, &minutes, &length);
	*ahead_s = 60 * (60 * hours + (**at == '-' ? -minutes : minutes));
	*at += length;
	return length > 0;
}

/* Reads a day, none: today; and a clock, none: midnight. T and a zone stand behind a date only.
 * Returns false if there is no such time: timegm turns February 30 into March 2. */
static bool read_time(const char *text, int64_t now_ms, int64_t *ms)
{
	const bool is_date = strspn(text, DIGITS "-") == strlen("2026-11-23");
	const time_t now = (time_t)(now_ms / 1000);
	const char *at = text;
	int64_t fraction_ms = 0;
	bool has_zone = false;
	int ahead_s = 0;
	struct tm parts, real;

	localtime_r(&now, &parts);
	if (strncmp(text, "today", 5) == 0) {
		at += 5;
	} else if (strncmp(text, "yesterday", 9) == 0) {
		at += 9;
		parts.tm_mday--;
		parts.tm_hour = 12; /* which each day has */
		mktime(&parts);
	} else if (is_date) {
		at = strptime(text, "%Y-%m-%d", &parts);
	}
	parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
	parts.tm_isdst = -1;
	if (!at || (at != text && *at && *at != ' ' && (*at != 'T' || !is_date)))
		return false;
	if (at == text || *at) {
		at += at != text;
		if (!take_clock(&at, &parts, &fraction_ms))
			return false;
		has_zone = is_date && take_zone(&at, &ahead_s);
	}
	real = parts;
	timegm(&real); /* not mktime, which knows hours that there are not in a zone */
	if (*at || real.tm_mday != parts.tm_mday)
		return false;
	*ms = 1000 * (int64_t)(has_zone ? timegm(&parts) - ahead_s : mktime(&parts));
	*ms = MAX(*ms + fraction_ms, 0);
	return true;
}

/* Fills since and from_ms with a duration, or with "now", seconds since the epoch behind an @, or a
 * day and a time. A duration counts from the server's time, so the script subtracts it; a time is
 * the same on both sides. */
static int parse_since(struct log_query *query, const char *text, struct error *err)
{
	const int64_t now_ms = wall_ms();
	const size_t digits = *text == '@' ? strspn(text + 1, DIGITS) : 0;
	const char *fault = NULL, *end = text + 1 + digits;
	char shown[SHORT_MAX_BYTES];
	int64_t ms = now_ms;

	query->from_ms = UNKNOWN_MS;
	if (duration_parse(text, &ms) == 0) {
		snprintf(query->since, sizeof(query->since), "%" PRId64, ms);
		return 0;
	}
	if (digits > 0 && digits <= 12)
		ms = strtoll(text + 1, NULL, 10) * 1000 + take_fraction(&end);
	if (digits > 0 ? digits > 12 || *end
		       : strcmp(text, "now") != 0 && !read_time(text, now_ms, &ms))
		fault = "write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS";
	else if (ms > now_ms)
		fault = "it is in the future";
	if (fault)
		return fail(err, STATUS_USAGE, "cannot use --since '%s': %s", shorten(shown, text),
			    fault);
	snprintf(query->since, sizeof(query->since), "@%" PRId64, ms);
	query->from_ms = ms;
	return 0;
}

/* ---- Locks ---- */

/* A lock whose log is read. */
struct logged {
	char name[NAME_MAX_BYTES + 1];
	struct client *client;          /* of the node that has it; NULL: none is known */
	char after[ENTRY_ID_MAX_BYTES]; /* its latest entry that was read; "": none */
	bool is_told;                   /* the user knows why its log cannot be read */
};

struct reader {
	const struct invocation *invocation;
	const struct lock_keys *keys; /* of NAME; NULL: the logs of all locks are read */
	struct log_query query;
	struct layout layout;
	char nothing[100];          /* what it says of no events with --since */
	struct table *table;        /* NULL: figures or a drawing are wanted */
	bool is_empty;              /* no event was found */
	struct client client;       /* for NAME */
	struct cluster_nodes nodes; /* for all locks */
	struct logged *locks;
	size_t count;
	int64_t search_ms; /* when to search for locks */
	bool has_begun;    /* the first events were printed */
	int status;        /* not STATUS_OK: one of the logs cannot be read */
};

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
}

/* Notes where a lock is: a new one, or one that is known. */
static int note_lock(void *reader, const char *name, struct client *client, struct error *err)
{
	struct reader *r = reader;
	struct logged *locks;
	size_t i = 0;

	while (i < r->count && strcmp(r->locks[i].name, name) != 0)
		i++;
	if (i == r->count) {
		locks = reallocarray(r->locks, i + 1, sizeof(*locks));
		if (!locks)
			return no_memory(err);
		r->locks = locks;
		r->count++;
		locks[i] = (struct logged){0};
		snprintf(locks[i].name, sizeof(locks[i].name), "%s", name);
	}
	r->locks[i].client = client;
	return 0;
}

static int find_locks(struct reader *r, struct error *err)
{
	const struct invocation *invocation = r->invocation;
	const int64_t timeout_ms = invocation->options->connect_timeout_ms, begun_ms = clock_ms();

	for (size_t i = 0; i < r->count; i++)
		r->locks[i].client = NULL;
	cluster_nodes_close(&r->nodes);
	if (cluster_nodes_open(&r->nodes, invocation->server,
			       r->has_begun ? NULL : invocation->messenger, timeout_ms,
			       begun_ms + timeout_ms, err) < 0 ||
	    for_each_lock(&r->nodes, LOCK_LOG, NEVER_MS, note_lock, r, err) < 0)
		return -1;
	r->search_ms = clock_ms() + SEARCH_MS + 4 * (clock_ms() - begun_ms);
	return 0;
}

/* ---- Reading and printing ---- */

/* Adds lines to the table, or events to the history. The newest entry is the first one. */
static int add_events(struct reader *r, struct history *history, struct logged *lock,
		      const struct redisReply *entries, struct error *err)
{
	const size_t count = reply_count(entries);
	struct log_event event;

	assert(r->table || !history->events); /* figures and drawings are of one lock */
	if (!r->table && !(history->events = calloc(count + 1, sizeof(event))))
		return no_memory(err);
	history->may_lack = count >= LOG_LENGTH;
	for (size_t i = count; i > 0; i--) {
		if (read_event(&event, reply_at(entries, i - 1)) < 0)
			return reply_nonsense(err);
		strcpy(lock->after, event.texts[EVENT_ID]);
		if (event.time_ms < history->from_ms)
			continue;
		r->is_empty = false;
		if (!r->table)
			history->events[history->count++] = event;
		else if (add_line(r->table, &event, lock->name, !r->keys, err) < 0)
			return -1;
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

/* Asks for the events of a lock behind the last one that was read, and adds them. */
static int fetch_events(struct reader *r, struct history *history, struct logged *lock,
			const struct lock_keys *keys, struct error *err)
{
	struct log_query *query = &r->query;
	struct client *client = lock->client;
	const struct redisReply *reply;
	struct request request;

	wire_look(keys, &request, "log");
	wire_add(&request, lock->after, query->since, r->table ? "0" : "1");
	request.question = "for the log of lock";
	request.about = keys->shown;
	if (client_ask(client, &request, err) < 0)
		return -1;
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
	return add_events(r, history, lock, reply_at(reply, 2), err);
}

/* If something else uses the name of one of all locks, the other logs are shown all the same. A
 * node may go away between the search for its locks and the question for a log. */
static int read_log(struct reader *r, struct logged *lock, struct history *history,
		    struct error *err)
{
	char other[SHORT_MAX_BYTES];
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (fetch_events(r, history, lock, &keys, err) == 0)
		return 0;
	if (r->keys)
		return -1;
	if (err->status == STATUS_USAGE) /* the user has not named this lock */
		fail(err, STATUS_CONFIG,
		     "cannot show the log of lock %s: its name on the server is %s", keys.shown,
		     shorten(other, reply_text(lock->client->reply, 1)));
	if (err->status != STATUS_CONFIG) {
		r->search_ms = 0;
		return cluster_nodes_lose(&r->nodes, lock->client, err) ? 0 : -1;
	}
	if (!lock->is_told)
		complain("%s", err->text);
	lock->is_told = true;
	r->status = (int)err->status;
	return 0;
}

static int read_logs(struct reader *r, struct history *history, struct error *err)
{
	if (!r->keys && clock_ms() >= r->search_ms && find_locks(r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++) {
		struct logged *lock = &r->locks[i];

		if (lock->client && !cluster_nodes_has_lost(&r->nodes, lock->client) &&
		    read_log(r, lock, history, err) < 0)
			return -1;
	}
	return 0;
}

/* An empty table on a screen tells since when there was nothing. */
static int print(struct reader *r, const struct history *history, struct error *err)
{
	const struct options *options = r->invocation->options;
	char since[TIMESTAMP_MAX_BYTES];

	if (options->plot || options->stats)
		return history_print(history, r->keys->name, options, err);
	if (r->query.from_ms != UNKNOWN_MS) {
		snprintf(r->nothing, sizeof(r->nothing), "no events since %s",
			 timestamp_local(since, r->query.from_ms, TIMESTAMP_LONG));
		r->layout.nothing = r->nothing;
	}
	table_print(r->table, r->has_begun ? -1 : options->lines);
	return 0;
}

/* Shows the events that are new. Those that were read are printed even if a server was lost then,
 * because they are not read again. */
static int show_events(struct reader *r, struct error *err)
{
	struct history history = {0};
	int result = read_logs(r, &history, err);
	struct error failure;
	bool is_known;

	if ((result == 0 || r->has_begun) && print(r, &history, &failure) < 0) {
		*err = failure;
		result = -1;
	}
	/* an empty log may be that of a wrong name */
	if (result == 0 && r->keys && !r->has_begun && r->is_empty)
		lock_list_check(&r->client, r->keys, &is_known, &failure);
	free(history.events);
	if (result < 0) {
		r->search_ms = 0;
		return -1;
	}
	r->has_begun = true;
	if (r->query.from_ms == UNKNOWN_MS)
		r->query.since[0] = '\0'; /* there is no log yet, so nothing to come is too old */
	return cluster_nodes_check(&r->nodes, err);
}

/* A server that is away is told once it has been so for the connect timeout: most restarts and
 * failovers are over by then. Returns 0 when nobody reads the output any more, or -1. */
static int follow(struct reader *r, struct error *err)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	int64_t tell_ms = NEVER_MS;
	bool is_told = false;

	do {
		const int64_t begun_ms = clock_ms();

		if (show_events(r, err) == 0) {
			tell_ms = NEVER_MS;
			is_told = false;
			continue;
		}
		if (!r->has_begun || err->status != STATUS_UNAVAILABLE)
			return -1;
		tell_ms = earliest(tell_ms, begun_ms + r->invocation->options->connect_timeout_ms);
		if (!is_told && clock_ms() >= tell_ms) {
			complain("%s", err->text);
			is_told = true;
		}
	} while (fflush(stdout) == 0 && poll(&output, 1, PERIOD_MS) <= 0);
	if (output.revents) /* without a new event no write would tell it */
		raise(SIGPIPE);
	return 0;
}

/* ---- The command ---- */

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	const bool is_for_one = invocation->argc > 0, is_list = !options->stats && !options->plot;
	struct reader r = {
		.invocation = invocation, .query = {.from_ms = UNKNOWN_MS}, .is_empty = true};
	struct lock_keys keys;
	int result = 0;

	*status = STATUS_OK;
	if (options->since && parse_since(&r.query, options->since, err) < 0)
		return -1;
	if (is_for_one && lock_keys_make(&keys, invocation->argv[0], err) < 0)
		return -1;
	if (!is_for_one && !is_list)
		return fail(err, STATUS_USAGE, "cannot use --%s for all locks: add a NAME",
			    options->stats ? "stats" : "plot");
	if (is_list) {
		r.layout = log_layout;
		r.layout.is_of_one = is_for_one;
		r.table = table_open(&r.layout, options, err);
		if (!r.table)
			return -1;
	}
	client_init(&r.client, invocation->server, options->connect_timeout_ms);
	r.client.connection.story.messenger = invocation->messenger;
	if (is_for_one) {
		r.keys = &keys;
		result = note_lock(&r, invocation->argv[0], &r.client, err);
	}
	if (result == 0)
		result = options->follow ? follow(&r, err) : show_events(&r, err);
	free(r.locks);
	cluster_nodes_close(&r.nodes);
	client_close(&r.client);
	table_close(r.table);
	if (!options->follow)
		*status = r.status;
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show the latest events of one lock, or of all",
	.examples = "  fairlock log --since 1h deploy   the events of the last hour\n"
		    "  fairlock log --follow --json     each new event of all locks\n"
		    "  fairlock log --plot deploy       who waited and who held, drawn\n",
	.table = &log_layout,
	.bit = COMMAND_LOG,
	.run = run_log,
};
