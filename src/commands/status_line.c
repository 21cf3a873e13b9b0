/* The columns of `status`, and the reply of the look script, field by field. */
#include "commands/status_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock.h"
#include "lock/owner.h"
#include "output/timestamp.h"
#include "redis/reply.h"

#define STATE_MAX_BYTES 128

enum {
	NAME,
	STATE,
	MODE,
	SLOT,
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
	LAST_OK,
	HELD,
	LEASE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 12},
	[STATE] = {.name = "STATE",
		   .kind = COLUMN_TEXT,
		   .least = 22}, /* "by hand until 18:03:25" */
	[MODE] = {.name = "MODE",
		  .kind = COLUMN_TEXT,
		  .spare = 7,
		  .is_rare = true,
		  .common = "exclusive"},
	[SLOT] = {.name = "SLOT", .kind = COLUMN_TEXT, .least = 4, .is_rare = true},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8, .spare = 1},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 5},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6, .spare = 4},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[REASON] = {.name = "REASON", .kind = COLUMN_TEXT, .least = 8, .spare = 2, .is_rare = true},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[LEASE_MS] = {.name = "LEASE_MS", .kind = COLUMN_NUMBER},
	[UNTIL] = {.name = "UNTIL", .kind = COLUMN_TIME},
	[HOLDS] = {.name = "HOLDS", .kind = COLUMN_NUMBER},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITERS] = {.name = "WAITERS", .kind = COLUMN_NUMBER},
	[LAST_START] = {.name = "LAST_START", .kind = COLUMN_TIME},
	[LAST_OK] = {.name = "LAST_OK", .kind = COLUMN_TIME},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION, .spare = 3},
	[LEASE] = {.name = "LEASE", .kind = COLUMN_DURATION, .spare = 6},
};

const struct layout status_layout = {
	.name = "locks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,STATE,MODE,SLOT,USER,HOST,PID,COMMAND,REASON,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = "NAME,STATE,MODE,SLOT,OWNER,HOST,PID,USER,COMMAND,REASON,CLIENT,HELD_MS,LEASE_MS,UNTIL,"
		"HOLDS,TOKEN,WAITERS,LAST_START,LAST_OK",
	.nothing = "no locks",
};

/* A time of the server; -1: it has none, or one that makes no sense. */
static int64_t time_of(const struct redisReply *reply, size_t at)
{
	const char *text = reply_text(reply, at);
	const int64_t ms = *text ? strtoll(text, NULL, 10) : -1;

	return ms > TIMESTAMP_LAST_MS ? -1 : ms;
}

/* The time since then. */
static int64_t since(const struct redisReply *reply, size_t at, int64_t now_ms)
{
	const int64_t since_ms = time_of(reply, at);

	return since_ms < 0 || now_ms < since_ms ? -1 : now_ms - since_ms;
}

int status_read(struct lock_status *state, const struct redisReply *reply, struct error *err)
{
	const int64_t now_ms = time_of(reply, 8);
	const char *mode = reply_text(reply, 17);

	*state = (struct lock_status){
		.holder = {.owner = reply_text(reply, 0),
			   .holds = reply_number(reply, 1),
			   .ttl_ms = reply_number(reply, 2),
			   .token = reply_text(reply, 3),
			   .by = reply_text(reply, 4),
			   .held_ms = since(reply, 5, now_ms),
			   .is_ours = reply_number(reply, 6) == 1,
			   .is_kept = reply_number(reply, 15) == 1,
			   .is_by_hand = reply_number(reply, 22) == 1,
			   .slot = ""},
		.mode = *mode ? mode_word(mode) : NULL,
		.holders = reply_at(reply, 18),
		.holder_count = reply_number(reply, 19),
		.slots = reply_number(reply, 20),
		.waiters = reply_number(reply, 7),
		.name = reply_text(reply, 9),
		.oldest_wait_ms = reply_number(reply, 10),
		.grants = reply_number(reply, 11),
		.expiries = reply_number(reply, 12),
		.breaks = reply_number(reply, 13),
		.losses = reply_number(reply, 14),
		.now_ms = now_ms,
		.last_start_ms = time_of(reply, 16),
		.last_ok_ms = time_of(reply, 21),
		.is_once = reply_number(reply, 23) == 1,
	};
	if (!reply_fits(reply, "siisssiissiiiiiissliisii"))
		return reply_nonsense(err);
	state->is_held = *state->holder.owner != '\0';
	return 0;
}

/* OWNER HOLDS TTL TOKEN BY SINCE OURS KEPT SLOT HAND */
static int select_holder(struct lock_status *state, const struct redisReply *row, struct error *err)
{
	if (!reply_fits(row, "siisssiisi"))
		return reply_nonsense(err);
	state->holder = (struct status_holder){.owner = reply_text(row, 0),
					       .holds = reply_number(row, 1),
					       .ttl_ms = reply_number(row, 2),
					       .token = reply_text(row, 3),
					       .by = reply_text(row, 4),
					       .held_ms = since(row, 5, state->now_ms),
					       .is_ours = reply_number(row, 6) == 1,
					       .is_kept = reply_number(row, 7) == 1,
					       .slot = reply_text(row, 8),
					       .is_by_hand = reply_number(row, 9) == 1};
	return 0;
}

static void fill_holder(struct table_row *row, struct owner_process *process,
			const struct status_holder *holder)
{
	owner_parse(process, holder->by);
	row->cells[OWNER] = holder->owner;
	row->cells[HOST] = process->host;
	row->cells[PID] = process->pid;
	row->cells[USER] = process->user;
	row->cells[COMMAND] = process->command;
	row->cells[REASON] = process->reason;
	table_row_number(row, HOLDS, holder->holds);
}

static void fill_hold(struct table_row *row, const struct lock_status *state)
{
	const struct status_holder *holder = &state->holder;

	row->cells[MODE] = state->mode;
	row->cells[SLOT] = holder->slot;
	row->cells[CLIENT] = holder->is_ours ? "fairlock" : "redisson";
	row->cells[TOKEN] = holder->token;
	table_row_number(row, HELD_MS, holder->held_ms);
	table_row_number(row, LEASE_MS, holder->ttl_ms);
	row->cells[HELD] = row->cells[HELD_MS];
	row->cells[LEASE] = holder->ttl_ms < 0 ? "none" : row->cells[LEASE_MS];
	if (holder->ttl_ms >= 0 && state->now_ms >= 0 &&
	    holder->ttl_ms <= TIMESTAMP_LAST_MS - state->now_ms)
		table_row_number(row, UNTIL, state->now_ms + holder->ttl_ms);
}

static void show_kept(char text[STATE_MAX_BYTES], const struct lock_status *state)
{
	char until[TIMESTAMP_MAX_BYTES];

	snprintf(text, STATE_MAX_BYTES, "kept until %s",
		 timestamp_until(until, state->now_ms + state->holder.ttl_ms, state->now_ms));
}

static void show_by_hand(char text[STATE_MAX_BYTES], const struct lock_status *state)
{
	char until[TIMESTAMP_MAX_BYTES];

	snprintf(
		text, STATE_MAX_BYTES, "by hand until %s",
		timestamp_until_minute(until, state->now_ms + state->holder.ttl_ms, state->now_ms));
}

/* A kept lock has no holder: the one that gave it back may be gone. */
static void fill_state(struct table_row *row, struct owner_process *process,
		       char shown[STATE_MAX_BYTES], const struct lock_status *state,
		       bool is_for_people)
{
	const bool is_kept = state->holder.is_kept;

	row->cells[STATE] = !state->is_held ? "free" : is_kept ? "kept" : "held";
	row->colours[STATE] = !state->is_held ? TABLE_GREEN
			      : is_kept       ? TABLE_YELLOW
					      : TABLE_MAGENTA;
	if (!state->is_held)
		return;
	fill_hold(row, state);
	if (!is_kept)
		fill_holder(row, process, &state->holder);
	if (!is_for_people || !row->cells[UNTIL])
		return;
	if (state->holder.is_by_hand) {
		show_by_hand(shown, state);
		row->cells[STATE] = shown;
	} else if (is_kept) {
		show_kept(shown, state);
		row->cells[STATE] = shown;
	}
}

static int add_line(struct table *table, const struct lock_status *state, bool is_ranked,
		    struct error *err)
{
	struct table_row row = {.cells = {[NAME] = state->name}};
	struct owner_process process;
	char shown[STATE_MAX_BYTES];

	if (is_ranked)
		row.rank = state->is_held ? "0" : state->waiters > 0 ? "1" : "2";
	fill_state(&row, &process, shown, state, table_is_for_people(table));
	table_row_number(&row, WAITERS, state->waiters);
	table_row_number(&row, LAST_START, state->last_start_ms);
	table_row_number(&row, LAST_OK, state->last_ok_ms);
	return table_add(table, &row, err);
}

int status_add_lines(struct table *table, struct lock_status *state, bool is_ranked,
		     struct error *err)
{
	const size_t count = reply_count(state->holders);

	if (count == 0)
		return add_line(table, state, is_ranked, err);
	for (size_t i = 0; i < count; i++)
		if (select_holder(state, reply_at(state->holders, i), err) < 0 ||
		    add_line(table, state, is_ranked, err) < 0)
			return -1;
	return 0;
}

int status_add_metrics(struct prometheus *metrics, const struct lock_status *state,
		       struct error *err)
{
	const int64_t values[METRIC_COUNT] = {
		[METRIC_HELD] = state->is_held,
		[METRIC_HOLDERS] = state->holder_count,
		[METRIC_SLOTS] = state->slots,
		[METRIC_HOLDS] = state->is_held ? state->holder.holds : 0,
		[METRIC_HOLD_MS] = state->is_held ? state->holder.held_ms : 0,
		[METRIC_LEASE_MS] = !state->is_held              ? 0
				    : state->holder.ttl_ms == -1 ? METRIC_ENDLESS
								 : state->holder.ttl_ms,
		[METRIC_WAITERS] = state->waiters,
		[METRIC_OLDEST_WAIT_MS] = state->waiters > 0 ? state->oldest_wait_ms : 0,
		[METRIC_GRANTS] = state->grants,
		[METRIC_EXPIRIES] = state->expiries,
		[METRIC_BREAKS] = state->breaks,
		[METRIC_LOSSES] = state->losses,
	};

	return prometheus_add(metrics, state->name, values, err);
}
