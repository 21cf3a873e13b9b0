/* The columns of `status`, and the reply of the status script, field by field. */
#include "commands/status_line.h"

#include <stdlib.h>

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
	[NAME] = {"NAME", COLUMN_TEXT, .least = 12},
	[STATE] = {"STATE", COLUMN_TEXT},
	[OWNER] = {"OWNER", COLUMN_TEXT},
	[HOST] = {"HOST", COLUMN_TEXT, .least = 8},
	[PID] = {"PID", COLUMN_NUMBER, .spare = 1},
	[USER] = {"USER", COLUMN_TEXT, .least = 6},
	[COMMAND] = {"COMMAND", COLUMN_TEXT, .least = 10},
	[CLIENT] = {"CLIENT", COLUMN_TEXT},
	[HELD_MS] = {"HELD_MS", COLUMN_NUMBER},
	[LEASE_MS] = {"LEASE_MS", COLUMN_NUMBER},
	[HOLDS] = {"HOLDS", COLUMN_NUMBER},
	[TOKEN] = {"TOKEN", COLUMN_NUMBER},
	[WAITERS] = {"WAITERS", COLUMN_NUMBER},
	[HELD] = {"HELD", COLUMN_DURATION},
	[LEASE] = {"LEASE", COLUMN_DURATION, .spare = 2},
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

/* -1: the server's times make no sense. */
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

static void fill_hold(struct table_row *row, struct owner_process *process,
		      const struct lock_status *state)
{
	owner_parse(process, state->by);
	row->cells[OWNER] = state->owner;
	row->cells[HOST] = process->host;
	row->cells[PID] = process->pid;
	row->cells[USER] = process->user;
	row->cells[COMMAND] = process->command;
	row->cells[CLIENT] = state->is_ours ? "fairlock" : "redisson";
	row->cells[TOKEN] = state->token;
	table_row_number(row, HOLDS, state->holds);
	table_row_number(row, HELD_MS, state->held_ms);
	table_row_number(row, LEASE_MS, state->ttl_ms);
	row->cells[HELD] = row->cells[HELD_MS];
	row->cells[LEASE] = state->ttl_ms < 0 ? "none" : row->cells[LEASE_MS];
}

int status_add_line(struct table *table, const struct lock_status *state, bool coloured,
		    struct error *err)
{
	struct table_row row = {
		.cells = {[NAME] = state->name, [STATE] = state->is_held ? "held" : "free"}};
	struct owner_process process;

	table_row_number(&row, WAITERS, state->waiters);
	if (state->is_held)
		fill_hold(&row, &process, state);
	if (table_add(table, &row, err) < 0)
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
