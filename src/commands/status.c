/* fairlock status: prints the holder of each lock, for how long, and how many wait. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands/look.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "redis/reply.h"

#define STATE_MAX_BYTES 128

/* The answer of look.lua: the lock, ... */
enum {
	LOCK_OWNER,
	LOCK_HOLDS,
	LOCK_TTL,
	LOCK_SINCE = 5,
	LOCK_WAITERS = 7,
	LOCK_NOW,
	LOCK_NAME,
	LOCK_OLDEST_WAIT,
	LOCK_GRANTS,
	LOCK_EXPIRIES,
	LOCK_BREAKS,
	LOCK_LOSSES,
	LOCK_LAST_START = 16,
	LOCK_MODE,
	LOCK_ROWS,
	LOCK_HOLDERS,
	LOCK_SLOTS,
	LOCK_LAST_OK,
};

/* ... and its rows, one for each holder. */
enum {
	HOLD_OWNER,
	HOLD_COUNT,
	HOLD_TTL,
	HOLD_TOKEN,
	HOLD_BY,
	HOLD_SINCE,
	HOLD_IS_OURS,
	HOLD_IS_KEPT,
	HOLD_SLOT,
	HOLD_IS_BY_HAND,
};

#define JSON                                                                                       \
	"NAME,STATE,MODE,SLOT,OWNER,HOST,PID,USER,COMMAND,REASON,CLIENT,HELD_MS,LEASE_MS,UNTIL,"   \
	"HOLDS,TOKEN,WAITERS,LAST_START,LAST_OK"

static const struct layout status_layout = {
	.name = "locks",
	.columns = JSON ",HELD,LEASE",
	.people = "NAME,STATE,MODE,SLOT,USER,HOST,PID,COMMAND,REASON,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = JSON,
	.nothing = "no locks",
};

/* Instead of a value: it is infinite. */
#define METRIC_ENDLESS INT64_MAX

#define METRICS 12

/* The user wants metrics or an exit status beside the table, or instead of it. */
struct status_view {
	struct sample {
		char name[NAME_MAX_BYTES + 1]; /* of the lock */
		int64_t values[METRICS];
	} * samples;
	size_t count;
	bool held; /* any of the locks */
};

/* ---- Lines ---- */

/* A time of the server; -1: it has none, or one that makes no sense. */
static int64_t time_of(const struct redisReply *reply, size_t at)
{
	const char *text = reply_text(reply, at);
	const int64_t ms = *text ? strtoll(text, NULL, 10) : -1;

	return ms > TIMESTAMP_LAST_MS ? -1 : ms;
}

/* How long ago a hold began; -1: unknown. */
static int64_t held_for(int64_t since_ms, int64_t now_ms)
{
	return since_ms < 0 || now_ms < since_ms ? -1 : now_ms - since_ms;
}

/* Returns until when it is held, by the server's clock; -1: unknown. */
static int64_t fill_hold(struct table_row *row, const struct redisReply *hold, int64_t now_ms)
{
	const int64_t ttl_ms = reply_number(hold, HOLD_TTL);

	row->cells[COLUMN_SLOT] = reply_text(hold, HOLD_SLOT);
	row->cells[COLUMN_CLIENT] = reply_number(hold, HOLD_IS_OURS) == 1 ? "fairlock" : "redisson";
	row->cells[COLUMN_TOKEN] = reply_text(hold, HOLD_TOKEN);
	table_row_number(row, COLUMN_HELD_MS, held_for(time_of(hold, HOLD_SINCE), now_ms));
	table_row_number(row, COLUMN_LEASE_MS, ttl_ms);
	row->cells[COLUMN_HELD] = row->cells[COLUMN_HELD_MS];
	row->cells[COLUMN_LEASE] = ttl_ms < 0 ? "none" : row->cells[COLUMN_LEASE_MS];
	if (ttl_ms < 0 || now_ms < 0 || ttl_ms > TIMESTAMP_LAST_MS - now_ms)
		return -1;
	table_row_number(row, COLUMN_UNTIL, now_ms + ttl_ms);
	return now_ms + ttl_ms;
}

/* hold: one of the rows; NULL: the lock is free. */
static int add_line(struct look *look, const struct redisReply *lock, const struct redisReply *hold,
		    struct error *err)
{
	const int64_t now_ms = time_of(lock, LOCK_NOW);
	const bool is_kept = reply_number(hold, HOLD_IS_KEPT) == 1;
	const bool is_by_hand = reply_number(hold, HOLD_IS_BY_HAND) == 1;
	const bool is_for_people =
		!look->invocation->options->json && !look->invocation->options->raw;
	struct table_row row = {.cells = {[COLUMN_NAME] = reply_text(lock, LOCK_NAME),
					  [COLUMN_STATE] = !hold     ? "free"
							   : is_kept ? "kept"
								     : "held"},
				.colours[COLUMN_STATE] = !hold     ? TABLE_GREEN
							 : is_kept ? TABLE_YELLOW
								   : TABLE_MAGENTA};
	struct owner_process process;
	char shown[STATE_MAX_BYTES], until[TIMESTAMP_MAX_BYTES];

	if (hold && !reply_fits(hold, "siisssiisi"))
		return reply_nonsense(err);
	/* none is hidden below the edge of a screen; else NAMEs give the order */
	if (!look->invocation->options->sort && (look->is_watched || look->invocation->argc == 0))
		row.rank = hold ? "0" : reply_number(lock, LOCK_WAITERS) > 0 ? "1" : "2";
	if (hold) {
		const int64_t until_ms = fill_hold(&row, hold, now_ms);

		row.cells[COLUMN_MODE] = mode_word(reply_text(lock, LOCK_MODE));
		if (!is_kept) { /* the one that gave it back may be gone */
			row.cells[COLUMN_OWNER] = reply_text(hold, HOLD_OWNER);
			owner_fill_row(&row, &process, reply_text(hold, HOLD_BY));
			table_row_number(&row, COLUMN_HOLDS, reply_number(hold, HOLD_COUNT));
		}
		/* people see until when a lock is held that nobody is about to give back */
		if ((is_kept || is_by_hand) && until_ms >= 0 && is_for_people) {
			snprintf(shown, sizeof(shown),
				 is_by_hand ? "by hand until %s" : "kept until %s",
				 is_by_hand ? timestamp_until_minute(until, until_ms, now_ms)
					    : timestamp_until(until, until_ms, now_ms));
			row.cells[COLUMN_STATE] = shown;
		}
	}
	table_row_number(&row, COLUMN_WAITERS, reply_number(lock, LOCK_WAITERS));
	table_row_number(&row, COLUMN_LAST_START, time_of(lock, LOCK_LAST_START));
	table_row_number(&row, COLUMN_LAST_OK, time_of(lock, LOCK_LAST_OK));
	return table_add(look->table, &row, err);
}

static int add_lines(struct look *look, const struct redisReply *lock, bool is_held,
		     struct error *err)
{
	const struct redisReply *rows = reply_at(lock, LOCK_ROWS);

	if (!is_held)
		return add_line(look, lock, NULL, err);
	if (reply_count(rows) == 0)
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(rows); i++)
		if (add_line(look, lock, reply_at(rows, i), err) < 0)
			return -1;
	return 0;
}

/* ---- Metrics, in the text exposition format of Prometheus (version 0.0.4) ---- */

/* Names follow the conventions of Prometheus: a number in _seconds (the field has milliseconds),
 * and _total for a counter. */
struct family {
	const char *name;
	size_t field; /* of the answer: see value_of */
	const char *help;
};

static const struct family families[METRICS] = {
	{"fairlock_held", LOCK_OWNER, "Whether somebody holds the lock."},
	{"fairlock_holders", LOCK_HOLDERS, "How many hold the lock."},
	{"fairlock_slots", LOCK_SLOTS,
	 "Slots of the lock, as far as holders and waiters show: the largest number wanted or held."},
	{"fairlock_holds", LOCK_HOLDS,
	 "Hold count of the owner, more than 1 when it went in again; of several holders, of the one "
	 "whose lease ends first."},
	{"fairlock_hold_seconds", LOCK_SINCE,
	 "For how long the lock has been held; not known of Redisson's holders."},
	{"fairlock_lease_remaining_seconds", LOCK_TTL, "What is left of the lease."},
	{"fairlock_waiters", LOCK_WAITERS, "Waiters who are present."},
	{"fairlock_oldest_wait_seconds", LOCK_OLDEST_WAIT,
	 "For how long the first of them has waited; not known of Redisson's."},
	{"fairlock_grants_total", LOCK_GRANTS,
	 "Grants by fairlock, not going in again; Redisson's are not seen."},
	{"fairlock_expiries_total", LOCK_EXPIRIES,
	 "Holds whose lease ended before they were given back."},
	{"fairlock_breaks_total", LOCK_BREAKS, "Holds that were ended by force."},
	{"fairlock_losses_total", LOCK_LOSSES,
	 "Holds that were over when the holder asked, after a loss of data."},
};

/* Metrics of the server have no label. */
static const struct family globals[] = {
	{"fairlock_locks", 0, "Locks listed here."},
	{"fairlock_can_grant", 0, "Whether the server, or all of a cluster, lets locks be taken."},
	{"fairlock_unseen_slots", 0, "Slots of the cluster whose locks cannot be seen."},
};

static int64_t value_of(const struct redisReply *lock, size_t field)
{
	const bool is_held = *reply_text(lock, LOCK_OWNER) != '\0';
	const int64_t value = reply_number(lock, field);

	switch (field) {
	case LOCK_OWNER:
		return is_held;
	case LOCK_SINCE:
		return is_held ? held_for(time_of(lock, field), time_of(lock, LOCK_NOW)) : 0;
	case LOCK_TTL:
		return !is_held ? 0 : value == -1 ? METRIC_ENDLESS : value;
	case LOCK_OLDEST_WAIT:
		return reply_number(lock, LOCK_WAITERS) > 0 ? value : 0;
	default:
		return value;
	}
}

static int add_sample(struct status_view *view, const struct lock_keys *keys,
		      const struct redisReply *lock, struct error *err)
{
	struct sample *sample = reallocarray(view->samples, view->count + 1, sizeof(*sample));

	if (!sample)
		return fail(err, STATUS_OS, "cannot list locks: out of memory");
	view->samples = sample;
	sample += view->count++;
	strcpy(sample->name, keys->name);
	for (size_t i = 0; i < METRICS; i++)
		sample->values[i] = value_of(lock, families[i].field);
	return 0;
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
	else if (strstr(family->name, "_seconds"))
		printf("%" PRId64 ".%03d\n", value / 1000, (int)(value % 1000));
	else
		printf("%" PRId64 "\n", value);
}

static void print_heading(const struct family *family)
{
	printf("# HELP %s %s\n", family->name, family->help);
	printf("# TYPE %s %s\n", family->name,
	       strstr(family->name, "_total") ? "counter" : "gauge");
}

/* A family is printed with all locks before the next one. */
static void print_families(const struct look *look)
{
	const struct status_view *view = look->data;
	const int64_t values[] = {(int64_t)view->count,
				  look->unseen > 0 ? GRANTS_NONE : look->grants, look->unseen};

	for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++) {
		print_heading(&globals[i]);
		if (values[i] >= 0)
			printf("%s %" PRId64 "\n", globals[i].name, values[i]);
	}
	for (size_t i = 0; i < METRICS; i++) {
		print_heading(&families[i]);
		for (size_t k = 0; k < view->count; k++)
			print_sample(&families[i], view->samples[k].name,
				     view->samples[k].values[i]);
	}
}

static int print_metrics(struct look *look, int *status, struct error *err)
{
	struct status_view *view = look->data;
	int result = look_at_locks(look, err);

	if (result == 0) {
		print_families(look);
		result = look_end(look, status, err);
	}
	free(view->samples);
	return result;
}

/* ---- The command ---- */

static int show(struct look *look, const struct lock_keys *keys, struct client *client,
		struct error *err)
{
	const struct redisReply *lock = client->reply;
	struct status_view *view = look->data;
	const bool is_held = *reply_text(lock, LOCK_OWNER) != '\0';
	const bool is_free = !is_held && reply_number(lock, LOCK_WAITERS) == 0;
	const bool is_named = look->invocation->argc > 0;
	char other[SHORT_MAX_BYTES];
	int result = 0;

	if (!reply_fits(lock, "siisssiissiiiiiissliisii"))
		return reply_nonsense(err);
	if (strcmp(reply_text(lock, LOCK_NAME), keys->name) != 0)
		return fail(err, STATUS_USAGE,
			    "cannot use the name %s: it shares keys with lock %s, which is in use",
			    keys->shown, shorten(other, reply_text(lock, LOCK_NAME)));
	view->held |= is_held;
	if (look->invocation->options->prometheus)
		result = add_sample(view, keys, lock, err);
	else if (is_free && !is_named && !look->invocation->options->all)
		look->hidden++;
	else if (look->table)
		result = add_lines(look, lock, is_held, err);
	if (is_free && (look->table || look->invocation->options->prometheus))
		look_check_name(look, keys, client);
	return result;
}

/* 0: one is held; 1: all are free. If one is held, that is the answer, whatever else cannot be
 * seen. */
static int answer(struct look *look, int *status, struct error *err)
{
	const struct status_view *view = look->data;
	int result = look_at_locks(look, err);

	*status = 0;
	if (result == 0 && !view->held) {
		result = look_end(look, status, err);
		*status = *status == STATUS_OK ? 1 : *status;
	}
	return result;
}

static int run_status(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	/* a default for all commands is no question */
	const bool is_question = options->quiet && !options->prometheus && !options->watch_ms &&
				 options_origin(options, "quiet")->source == SOURCE_FLAG;
	struct status_view view = {0};
	struct look look = {.invocation = invocation,
			    .what = "status",
			    .question = "who holds lock",
			    .show = show,
			    .data = &view,
			    .layout = status_layout};

	if (is_question)
		return answer(&look, status, err);
	return options->prometheus ? print_metrics(&look, status, err)
				   : look_run(&look, "fairlock status", status, err);
}

const struct command status_command = {
	.name = "status",
	.operands = "[NAME...]",
	.summary = "show the holder of each lock, and the number of waiters",
	.examples = "  fairlock status                          the locks that are in use\n"
		    "  fairlock status --watch backup deploy    two locks, redrawn every second\n"
		    "  fairlock status -q backup && echo busy   exit with 0 if it is held\n",
	.table = &status_layout,
	.bit = COMMAND_STATUS,
	.run = run_status,
};
