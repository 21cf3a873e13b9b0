/* The columns of `log`, and the cells of an event. */
#include "history/log_table.h"

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
	REASON,
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
	[TIME] = {"TIME", COLUMN_TIME, .form = TIMESTAMP_EXACT},
	[NAME] = {"NAME", COLUMN_TEXT, .least = 8},
	[EVENT] = {"EVENT", COLUMN_TEXT},
	[OWNER] = {"OWNER", COLUMN_TEXT},
	[HOST] = {"HOST", COLUMN_TEXT, .least = 8, .spare = 3},
	[PID] = {"PID", COLUMN_NUMBER, .spare = 4},
	[USER] = {"USER", COLUMN_TEXT, .least = 6, .spare = 1},
	[COMMAND] = {"COMMAND", COLUMN_TEXT, .least = 10},
	[REASON] = {"REASON", COLUMN_TEXT, .least = 10},
	[TOKEN] = {"TOKEN", COLUMN_NUMBER},
	[WAITED_MS] = {"WAITED_MS", COLUMN_NUMBER},
	[HELD_MS] = {"HELD_MS", COLUMN_NUMBER},
	[WAITED] = {"WAITED", COLUMN_DURATION, .spare = 2},
	[HELD] = {"HELD", COLUMN_DURATION},
	[STATUS] = {"STATUS", COLUMN_NUMBER},
	[CAUSE] = {"CAUSE", COLUMN_TEXT, .least = 8, .spare = 5},
};

#define REST "EVENT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND"
#define RAW_REST "EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND"
#define JSON                                                                                       \
	"NAME,TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,REASON,TOKEN,WAITED_MS,HELD_MS,STATUS,CAUSE"

const struct layout event_layout = {
	.name = "log",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "TIME," REST,
	.raw = "TIME," RAW_REST,
	.json = JSON,
	.nothing = "no events",
};

const struct layout all_events_layout = {
	.name = "log",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "TIME,NAME," REST,
	.raw = "TIME,NAME," RAW_REST,
	.json = JSON,
	.nothing = "no events",
};

int log_table_add(struct table *table, const char *name, const struct log_event *event,
		  struct error *err)
{
	struct table_row row = {.cells = {[NAME] = name,
					  [EVENT] = event->name,
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
	row.cells[REASON] = process.reason;
	table_row_number(&row, TIME, event->time_ms);
	table_row_number(&row, WAITED_MS, event->waited_ms);
	table_row_number(&row, HELD_MS, event->held_ms);
	row.cells[WAITED] = row.cells[WAITED_MS];
	row.cells[HELD] = row.cells[HELD_MS];
	return table_add(table, &row, err);
}
