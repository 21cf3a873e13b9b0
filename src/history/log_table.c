#include "history/log_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/duration.h"
#include "cli/options.h"
#include "history/log_reply.h"
#include "lock/owner.h"
#include "output/table.h"
#include "output/timestamp.h"

enum {
	TIME,
	EVENT,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	TOKEN,
	WAITED_MS,
	HELD_MS,
	WAITED,
	HELD,
	COLUMN_COUNT,
};

/* clang-format off */
static const struct column columns[COLUMN_COUNT] = {
	[TIME] = {.name = "TIME", .kind = COLUMN_TEXT},
	[EVENT] = {.name = "EVENT", .kind = COLUMN_TEXT},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8, .spare = 1},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 2},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITED_MS] = {.name = "WAITED_MS", .kind = COLUMN_NUMBER},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[WAITED] = {.name = "WAITED", .kind = COLUMN_DURATION},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION},
};
/* clang-format on */

const struct layout event_layout = {
	.name = "log",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "TIME,EVENT,WAITED,HELD,USER,HOST,PID,COMMAND",
	.raw = "TIME,EVENT,WAITED_MS,HELD_MS,USER,HOST,PID,COMMAND",
	.json = "TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,TOKEN,WAITED_MS,HELD_MS",
	.nothing = "no events",
};

/* The texts to which an event's cells point. */
struct line {
	struct owner_process process;
	char time[TIMESTAMP_MAX_BYTES];
	char numbers[COLUMN_COUNT][DURATION_MAX_BYTES];
	const char *cells[COLUMN_COUNT];
};

static void set_duration(struct line *line, int column, int shown_column, int64_t ms)
{
	if (ms == UNKNOWN_MS)
		return;
	snprintf(line->numbers[column], sizeof(line->numbers[column]), "%" PRId64, ms);
	line->cells[column] = line->numbers[column];
	line->cells[shown_column] = duration_show(line->numbers[shown_column], ms);
}

int log_table_add(struct table *table, const struct log_event *event, const struct options *options,
		  struct error *err)
{
	struct line line = {.cells[EVENT] = event->name};

	owner_parse(&line.process, event->by);
	if (event->time_ms != UNKNOWN_MS)
		line.cells[TIME] =
			options->json || options->raw
				? timestamp_rfc3339(line.time, event->time_ms)
				: timestamp_local(line.time, event->time_ms, TIMESTAMP_LONG);
	line.cells[OWNER] = event->owner;
	line.cells[HOST] = line.process.host;
	line.cells[PID] = line.process.pid;
	line.cells[USER] = line.process.user;
	line.cells[COMMAND] = line.process.command;
	line.cells[TOKEN] = event->token;
	set_duration(&line, WAITED_MS, WAITED, event->waited_ms);
	set_duration(&line, HELD_MS, HELD, event->held_ms);
	return table_add(table, line.cells, err);
}
