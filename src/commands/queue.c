/* fairlock queue: prints the waiters of a lock in their order, or takes one out. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "lock/wire.h"
#include "output/table.h"
#include "output/watch.h"
#include "redis/client_call.h"
#include "redis/reply.h"
#include "redis/script.h"

#define ID_CHARACTERS 50 /* an id of ours and of Redisson has 47 at most */

enum {
	POSITION,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	CLIENT,
	WAITING_MS,
	PRESENT,
	WAITING,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[POSITION] = {"POSITION", COLUMN_NUMBER},
	[OWNER] = {"OWNER", COLUMN_TEXT, .spare = 3},
	[HOST] = {"HOST", COLUMN_TEXT, .least = 8},
	[PID] = {"PID", COLUMN_NUMBER, .spare = 1},
	[USER] = {"USER", COLUMN_TEXT, .least = 6},
	[COMMAND] = {"COMMAND", COLUMN_TEXT, .least = 10},
	[CLIENT] = {"CLIENT", COLUMN_TEXT},
	[WAITING_MS] = {"WAITING_MS", COLUMN_NUMBER},
	[PRESENT] = {"PRESENT", COLUMN_BOOLEAN},
	[WAITING] = {"WAITING", COLUMN_DURATION},
};

static const struct layout layout = {
	.name = "queue",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING,PRESENT",
	.raw = "POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING_MS,PRESENT",
	.json = "POSITION,OWNER,HOST,PID,USER,COMMAND,CLIENT,WAITING_MS,PRESENT",
	.nothing = "nobody waits",
};

static int add_waiter(struct table *table, const struct redisReply *waiter, size_t position,
		      bool coloured, struct error *err)
{
	struct table_row row = {0};
	struct owner_process process;

	if (!reply_fits(waiter, "sssii"))
		return reply_nonsense(err);
	owner_parse(&process, reply_text(waiter, 2));
	table_row_number(&row, POSITION, (int64_t)position);
	row.cells[OWNER] = reply_text(waiter, 0);
	row.cells[HOST] = process.host;
	row.cells[PID] = process.pid;
	row.cells[USER] = process.user;
	row.cells[COMMAND] = process.command;
	row.cells[CLIENT] = reply_number(waiter, 3) == 1 ? "fairlock" : "redisson";
	row.cells[WAITING] = row.cells[WAITING_MS] = reply_text(waiter, 1);
	row.cells[PRESENT] = reply_number(waiter, 4) == 1 ? "1" : "0";
	if (table_add(table, &row, err) < 0)
		return -1;
	if (coloured && reply_number(waiter, 4) != 1)
		table_colour(table, "red");
	return 0;
}

struct viewer {
	const struct options *options;
	struct lock_keys keys;
	struct client client;
};

static int add_waiters(struct viewer *viewer, struct table *table, bool coloured, struct error *err)
{
	struct client *client = &viewer->client;
	struct request request;

	wire_begin(&viewer->keys, &request, &script_queue);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0)
		return -1;
	if (!reply_fits(client->reply, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(client->reply); i++)
		if (add_waiter(table, reply_at(client->reply, i), i + 1, coloured, err) < 0)
			return -1;
	return 0;
}

static int print_queue(struct viewer *viewer, struct error *err)
{
	struct table *table = table_open(&layout, viewer->options, err);
	int result;

	if (!table)
		return -1;
	result = add_waiters(viewer, table, false, err);
	if (result == 0)
		result = table_print(table, err);
	table_close(table);
	return result;
}

static char *watched_text(void *data, int width, struct error *err)
{
	struct viewer *viewer = data;
	struct layout without_owner = layout;
	struct table *table;
	char *text = NULL;

	/* owner ids are long, and a person who watches looks for people */
	without_owner.people = "POSITION,USER,HOST,PID,COMMAND,WAITING,PRESENT";
	table = table_open(&without_owner, viewer->options, err);
	if (table && add_waiters(viewer, table, terminal_wants_colour(), err) == 0)
		text = table_text(table, width, err);
	table_close(table);
	return text;
}

static int watch_queue(struct viewer *viewer, struct error *err)
{
	char title[600];
	const struct watch watch = {title, viewer->options->watch_ms, watched_text, viewer};

	snprintf(title, sizeof(title), "fairlock queue %s", viewer->keys.name);
	return watch_run(&watch, err);
}

static int remove_waiter(struct client *client, const struct lock_keys *keys, const char *id,
			 struct error *err)
{
	struct request request;
	char own_id[OWNER_MAX_BYTES], shown[4 * ID_CHARACTERS + 1];

	if (!owner_is_valid(id))
		return fail(err, STATUS_USAGE, "cannot remove waiter '%s': this is no owner id",
			    shorten(shown, id));
	if (owner_new(own_id, err) < 0)
		return -1;
	wire_remove(keys, &request, id, own_id);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0)
		return -1;
	if (strcmp(reply_text(client->reply, 0), "unknown") == 0)
		return fail(err, STATUS_NOT_HELD,
			    "cannot remove waiter %s: it does not wait for lock %s",
			    shorten_to(shown, ID_CHARACTERS, id), keys->shown);
	return strcmp(reply_text(client->reply, 0), "left") == 0 ? 0
								 : lock_refused(client->reply, err);
}

static int run_queue(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct viewer viewer = {.options = options};
	int result;

	if (lock_keys_make(&viewer.keys, invocation->argv[0], err) < 0)
		return -1;
	client_init(&viewer.client, invocation->server, options->connect_timeout_ms);
	if (options->remove)
		result = remove_waiter(&viewer.client, &viewer.keys, options->remove, err);
	else
		result = options->watch_ms ? watch_queue(&viewer, err) : print_queue(&viewer, err);
	client_close(&viewer.client);
	*status = STATUS_OK;
	return result;
}

const struct command queue_command = {
	.name = "queue",
	.operands = "NAME",
	.summary = "show who waits, in order",
	.examples = "  fairlock queue deploy                     all waiters\n"
		    "  fairlock queue --watch deploy             redrawn every second\n"
		    "  fairlock queue --remove \"$owner\" deploy   this waiter ends with 75\n",
	.table = &layout,
	.bit = COMMAND_QUEUE,
	.least = 1,
	.most = 1,
	.run = run_queue,
};
