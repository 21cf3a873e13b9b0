/* The columns of `log`, and the cells of an event. */
#include "history/log_table.h"

#include <stdio.h>

#include "cli/options.h"
#include "history/log_reply.h"
#include "lock/owner.h"
#include "output/table.h"

enum {
	TIME,
	NAME,
	EVENT,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	SLOT,
	REASON,
	TOKEN,
	WAITED_MS,
	HELD_MS,
	WAITED,
	HELD,
	STATUS,
	CAUSE,
	BY,
	WHO,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[TIME] = {.name = "TIME", .kind = COLUMN_TIME, .form = TIMESTAMP_EXACT},
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 8},
	[EVENT] = {.name = "EVENT", .kind = COLUMN_TEXT},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8, .spare = 3},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 4},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6, .spare = 1},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[SLOT] = {.name = "SLOT", .kind = COLUMN_TEXT, .least = 4, .is_rare = true},
	[REASON] = {.name = "REASON", .kind = COLUMN_TEXT, .least = 10},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITED_MS] = {.name = "WAITED_MS", .kind = COLUMN_NUMBER},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[WAITED] = {.name = "WAITED", .kind = COLUMN_DURATION, .spare = 2},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION},
	[STATUS] = {.name = "STATUS", .kind = COLUMN_NUMBER},
	[CAUSE] = {.name = "CAUSE", .kind = COLUMN_TEXT, .least = 8, .spare = 5},
	[BY] = {.name = "BY", .kind = COLUMN_TEXT, .least = 10, .spare = 6, .is_rare = true},
	[WHO] = {.name = "WHO", .kind = COLUMN_TEXT, .least = 11, .spare = 1},
};

#define REST "EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND,BY"
#define SCREEN_REST "EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,WHO,PID,COMMAND,BY"
#define RAW_REST "EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND"

const struct layout log_layout = {
	.name = "log",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "TIME,NAME," REST,
	.screen = "TIME,NAME," SCREEN_REST,
	.raw = "TIME,NAME," RAW_REST,
	.json = "NAME,TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,SLOT,REASON,TOKEN,WAITED_MS,HELD_MS,BY,STATUS,CAUSE",
	.nothing = "no events",
};

struct layout log_layout_of_one(void)
{
	struct layout layout = log_layout;

	layout.people = "TIME," REST;
	layout.screen = "TIME," SCREEN_REST;
	layout.raw = "TIME," RAW_REST;
	return layout;
}

size_t log_table_first(const struct options *options, size_t count)
{
	const bool shows_all = options->lines < 0 || (size_t)options->lines > count;

	return shows_all ? 0 : count - (size_t)options->lines;
}

int log_table_add(struct table *table, const char *name, const struct log_event *event,
		  struct error *err)
{
	struct table_row row = {.cells = {[NAME] = name,
					  [EVENT] = event->name,
					  [OWNER] = event->owner,
					  [TOKEN] = event->token,
					  [STATUS] = event->status,
					  [CAUSE] = event->cause,
					  [SLOT] = event->slot}};
	const bool is_short = table_is_short(table);
	struct owner_process process;
	char actor[OWNER_SHOWN_BYTES], who[BY_MAX_BYTES];

	if (*event->actor)
		row.cells[BY] = owner_show(actor, MESSAGE_CHARACTERS, event->actor);
	owner_parse(&process, event->by);
	row.cells[HOST] = process.host;
	row.cells[PID] = process.pid;
	row.cells[USER] = process.user;
	snprintf(who, sizeof(who), "%s%s%s", process.user, *process.host ? "@" : "", process.host);
	row.cells[WHO] = who;
	row.cells[COMMAND] = is_short && *process.reason ? process.reason : process.command;
	row.cells[REASON] = process.reason;
	table_row_number(&row, TIME, event->time_ms);
	table_row_number(&row, WAITED_MS, event->waited_ms);
	table_row_number(&row, HELD_MS, event->held_ms);
	if (!is_short || event->waited_ms > 0)
		row.cells[WAITED] = row.cells[WAITED_MS];
	row.cells[HELD] = row.cells[HELD_MS];
	return table_add(table, &row, err);
}
