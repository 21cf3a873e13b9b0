#include "commands/status_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "lock/owner.h"
#include "redis/reply.h"

enum {
	NAME,
	STATE,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	CLIENT,
	HELD_MS,
	LEASE_MS,
	HOLDS,
	TOKEN,
	WAITERS,
	HELD,
	LEASE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 12},
	[STATE] = {.name = "STATE", .kind = COLUMN_TEXT},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 1},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[LEASE_MS] = {.name = "LEASE_MS", .kind = COLUMN_NUMBER},
	[HOLDS] = {.name = "HOLDS", .kind = COLUMN_NUMBER},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITERS] = {.name = "WAITERS", .kind = COLUMN_NUMBER},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION},
	[LEASE] = {.name = "LEASE", .kind = COLUMN_DURATION, .spare = 2},
};

const struct layout status_layout = {
	.name = "locks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,STATE,USER,HOST,PID,COMMAND,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = "NAME,STATE,OWNER,HOST,PID,USER,COMMAND,CLIENT,HELD_MS,LEASE_MS,HOLDS,TOKEN,"
		"WAITERS",
	.nothing = "no locks",
};

/* The texts to which the cells of one line point. */
struct line {
	struct owner_process process;
	char numbers[COLUMN_COUNT][DURATION_MAX_BYTES];
	const char *cells[COLUMN_COUNT];
};

/* How long ago it was; -1 where the server's times make no sense. */
static int64_t elapsed_ms(const char *since, const char *now)
{
	int64_t begun = strtoll(since, NULL, 10), at = strtoll(now, NULL, 10);

	return begun < 0 || at < begun ? -1 : at - begun;
}

int status_read(struct lock_status *state, const struct redisReply *reply, struct error *err)
{
	const char *since = reply_text(reply, 5);

	*state = (struct lock_status){
		.owner = reply_text(reply, 0),
		.holds = reply_number(reply, 1),
		.ttl_ms = reply_number(reply, 2),
		.token = reply_text(reply, 3),
		.by = reply_text(reply, 4),
		.is_ours = reply_number(reply, 6) == 1,
		.waiters = reply_number(reply, 7),
		.name = reply_text(reply, 9),
		.oldest_wait_ms = reply_number(reply, 10),
		.grants = reply_number(reply, 11),
		.expiries = reply_number(reply, 12),
		.breaks = reply_number(reply, 13),
		.losses = reply_number(reply, 14),
		.held_ms = -1,
	};
	if (!reply_fits(reply, "siisssiissiiiii"))
		return reply_nonsense(err);
	state->is_held = *state->owner != '\0';
	if (*since)
		state->held_ms = elapsed_ms(since, reply_text(reply, 8));
	return 0;
}

static void set_number(struct line *line, int column, int64_t number)
{
	snprintf(line->numbers[column], sizeof(line->numbers[column]), "%" PRId64, number);
	line->cells[column] = line->numbers[column];
}

/* In milliseconds, and for people. */
static void set_duration(struct line *line, int column, int shown_column, int64_t ms)
{
	set_number(line, column, ms);
	line->cells[shown_column] = duration_show(line->numbers[shown_column], ms);
}

static void fill_hold(struct line *line, const struct lock_status *state)
{
	owner_parse(&line->process, state->by);
	line->cells[OWNER] = state->owner;
	line->cells[HOST] = line->process.host;
	line->cells[PID] = line->process.pid;
	line->cells[USER] = line->process.user;
	line->cells[COMMAND] = line->process.command;
	line->cells[CLIENT] = state->is_ours ? "fairlock" : "redisson";
	line->cells[TOKEN] = state->token;
	set_number(line, HOLDS, state->holds);
	if (state->held_ms >= 0)
		set_duration(line, HELD_MS, HELD, state->held_ms);
	if (state->ttl_ms >= 0)
		set_duration(line, LEASE_MS, LEASE, state->ttl_ms);
	else
		line->cells[LEASE] = "none";
}

int status_add_line(struct table *table, const struct lock_status *state, bool coloured,
		    struct error *err)
{
	struct line line = {0};

	line.cells[NAME] = state->name;
	line.cells[STATE] = state->is_held ? "held" : "free";
	set_number(&line, WAITERS, state->waiters);
	if (state->is_held)
		fill_hold(&line, state);
	if (table_add(table, line.cells, err) < 0)
		return -1;
	if (coloured)
		table_colour(table, state->is_held ? "magenta" : "green");
	return 0;
}

int status_add_metrics(struct prometheus *metrics, const struct lock_status *state,
		       struct error *err)
{
	const int64_t values[METRIC_COUNT] = {
		[METRIC_HELD] = state->is_held,
		[METRIC_HOLDS] = state->is_held ? state->holds : 0,
		[METRIC_HOLD_MS] = state->is_held ? state->held_ms : 0,
		[METRIC_LEASE_MS] = !state->is_held       ? 0
				    : state->ttl_ms == -1 ? METRIC_ENDLESS
							  : state->ttl_ms,
		[METRIC_WAITERS] = state->waiters,
		[METRIC_OLDEST_WAIT_MS] = state->waiters > 0 ? state->oldest_wait_ms : 0,
		[METRIC_GRANTS] = state->grants,
		[METRIC_EXPIRIES] = state->expiries,
		[METRIC_BREAKS] = state->breaks,
		[METRIC_LOSSES] = state->losses,
	};

	return prometheus_add(metrics, state->name, values, err);
}
