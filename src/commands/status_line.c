/* The columns of `status`, and the reply of the status script, field by field. */
#include "commands/status_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/owner.h"
#include "output/timestamp.h"
#include "redis/reply.h"

#define STATE_MAX_BYTES 128

enum {
	NAME,
	STATE,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	REASON,
	CLIENT,
	HELD_MS,
	LEASE_MS,
	UNTIL,
	HOLDS,
	TOKEN,
	WAITERS,
	LAST_START,
	HELD,
	LEASE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 12},
	[STATE] = {.name = "STATE", .kind = COLUMN_TEXT, .least = 19}, /* "kept until 18:03:25" */
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8, .spare = 3},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 4},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6, .spare = 2},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[REASON] = {.name = "REASON", .kind = COLUMN_TEXT, .least = 8, .is_rare = true},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[LEASE_MS] = {.name = "LEASE_MS", .kind = COLUMN_NUMBER},
	[UNTIL] = {.name = "UNTIL", .kind = COLUMN_TIME},
	[HOLDS] = {.name = "HOLDS", .kind = COLUMN_NUMBER},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITERS] = {.name = "WAITERS", .kind = COLUMN_NUMBER},
	[LAST_START] = {.name = "LAST_START", .kind = COLUMN_TIME},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION, .spare = 1},
	[LEASE] = {.name = "LEASE", .kind = COLUMN_DURATION, .spare = 5},
};

const struct layout status_layout = {
	.name = "locks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,STATE,USER,HOST,PID,COMMAND,REASON,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = "NAME,STATE,OWNER,HOST,PID,USER,COMMAND,REASON,CLIENT,HELD_MS,LEASE_MS,UNTIL,"
		"HOLDS,TOKEN,WAITERS,LAST_START",
	.nothing = "no locks",
};

/* A time of the server; -1: it has none, or one that makes no sense. */
static int64_t time_of(const struct redisReply *reply, size_t at)
{
	const char *text = reply_text(reply, at);
	const int64_t ms = *text ? strtoll(text, NULL, 10) : -1;

	return ms > TIMESTAMP_LAST_MS ? -1 : ms;
}

int status_read(struct lock_status *state, const struct redisReply *reply, struct error *err)
{
	const int64_t since_ms = time_of(reply, 5), now_ms = time_of(reply, 8);

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
		.held_ms = since_ms < 0 || now_ms < since_ms ? -1 : now_ms - since_ms,
		.now_ms = now_ms,
		.is_kept = reply_number(reply, 15) == 1,
		.last_start_ms = time_of(reply, 16),
	};
	if (!reply_fits(reply, "siisssiissiiiiiis"))
		return reply_nonsense(err);
	state->is_held = *state->owner != '\0';
	return 0;
}

static void fill_holder(struct table_row *row, struct owner_process *process,
			const struct lock_status *state)
{
	owner_parse(process, state->by);
	row->cells[OWNER] = state->owner;
	row->cells[HOST] = process->host;
	row->cells[PID] = process->pid;
	row->cells[USER] = process->user;
	row->cells[COMMAND] = process->command;
	row->cells[REASON] = process->reason;
	table_row_number(row, HOLDS, state->holds);
}

static void fill_hold(struct table_row *row, const struct lock_status *state)
{
	row->cells[CLIENT] = state->is_ours ? "fairlock" : "redisson";
	row->cells[TOKEN] = state->token;
	table_row_number(row, HELD_MS, state->held_ms);
	table_row_number(row, LEASE_MS, state->ttl_ms);
	row->cells[HELD] = row->cells[HELD_MS];
	row->cells[LEASE] = state->ttl_ms < 0 ? "none" : row->cells[LEASE_MS];
	if (state->ttl_ms >= 0 && state->now_ms >= 0 &&
	    state->ttl_ms <= TIMESTAMP_LAST_MS - state->now_ms)
		table_row_number(row, UNTIL, state->now_ms + state->ttl_ms);
}

static void show_kept(char text[STATE_MAX_BYTES], const struct lock_status *state)
{
	char until[TIMESTAMP_MAX_BYTES];

	snprintf(text, STATE_MAX_BYTES, "kept until %s",
		 timestamp_until(until, state->now_ms + state->ttl_ms, state->now_ms));
}

/* A kept lock has no holder: the one that gave it back may be gone. */
static void fill_state(struct table_row *row, struct owner_process *process,
		       char shown[STATE_MAX_BYTES], const struct lock_status *state,
		       bool is_for_people)
{
	row->cells[STATE] = !state->is_held ? "free" : state->is_kept ? "kept" : "held";
	row->colours[STATE] = !state->is_held ? "green" : state->is_kept ? "brown" : "magenta";
	if (!state->is_held)
		return;
	fill_hold(row, state);
	if (!state->is_kept) {
		fill_holder(row, process, state);
	} else if (is_for_people && row->cells[UNTIL]) {
		show_kept(shown, state);
		row->cells[STATE] = shown;
	}
}

int status_add_line(struct table *table, const struct lock_status *state, bool is_ranked,
		    struct error *err)
{
	struct table_row row = {.cells = {[NAME] = state->name}};
	struct owner_process process;
	char shown[STATE_MAX_BYTES];

	if (is_ranked)
		row.rank = state->is_held ? 0 : state->waiters > 0 ? 1 : 2;
	fill_state(&row, &process, shown, state, table_is_for_people(table));
	table_row_number(&row, WAITERS, state->waiters);
	table_row_number(&row, LAST_START, state->last_start_ms);
	return table_add(table, &row, err);
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
