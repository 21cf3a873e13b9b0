/* The columns of `log`, and the cells of an event. */
#include "history/log_table.h"

#include "history/log_reply.h"
#include "lock/owner.h"
#include "output/table.h"

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
	STATUS,
	CAUSE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[TIME] = {"TIME", COLUMN_TIME},
	[EVENT] = {"EVENT", COLUMN_TEXT},
	[OWNER] = {"OWNER", COLUMN_TEXT},
	[HOST] = {"HOST", COLUMN_TEXT, .least = 8, .spare = 1},
	[PID] = {"PID", COLUMN_NUMBER, .spare = 2},
	[USER] = {"USER", COLUMN_TEXT, .least = 6},
	[COMMAND] = {"COMMAND", COLUMN_TEXT, .least = 10},
	[TOKEN] = {"TOKEN", COLUMN_NUMBER},
	[WAITED_MS] = {"WAITED_MS", COLUMN_NUMBER},
	[HELD_MS] = {"HELD_MS", COLUMN_NUMBER},
	[WAITED] = {"WAITED", COLUMN_DURATION},
	[HELD] = {"HELD", COLUMN_DURATION},
	[STATUS] = {"STATUS", COLUMN_NUMBER},
	[CAUSE] = {"CAUSE", COLUMN_TEXT, .least = 8, .spare = 3},
};

const struct layout event_layout = {
	.name = "log",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "TIME,EVENT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND",
	.raw = "TIME,EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND",
	.json = "TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,TOKEN,WAITED_MS,HELD_MS,STATUS,CAUSE",
	.nothing = "no events",
};

int log_table_add(struct table *table, const struct log_event *event, struct error *err)
{
	struct table_row row = {.cells = {[EVENT] = event->name,
					  [OWNER] = event->owner,
					  [TOKEN] = event->token,
					  [STATUS] = event->status,
					  [CAUSE] = event->cause}};
	struct owner_process process;

	owner_parse(&process, event->by);
	row.cells[HOST] = process.host;
	row.cells[PID] = process.pid;
	row.cells[USER] = process.user;
	row.cells[COMMAND] = process.command;
	table_row_number(&row, TIME, event->time_ms);
	table_row_number(&row, WAITED_MS, event->waited_ms);
	table_row_number(&row, HELD_MS, event->held_ms);
	row.cells[WAITED] = row.cells[WAITED_MS];
	row.cells[HELD] = row.cells[HELD_MS];
	return table_add(table, &row, err);
}
