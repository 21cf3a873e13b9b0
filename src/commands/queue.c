/* fairlock queue: who waits for a lock, in order; takes a waiter out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
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

/* clang-format off */
static const struct column columns[COLUMN_COUNT] = {
	[POSITION] = {.name = "POSITION", .kind = COLUMN_NUMBER},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT, .spare = 3},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 1},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[WAITING_MS] = {.name = "WAITING_MS", .kind = COLUMN_NUMBER},
	[PRESENT] = {.name = "PRESENT", .kind = COLUMN_BOOLEAN},
	[WAITING] = {.name = "WAITING", .kind = COLUMN_DURATION},
};
/* clang-format on */

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
	char number[24], shown[DURATION_MAX_BYTES] = "";
	struct owner_process process;
	const char *cells[COLUMN_COUNT];

	if (!reply_fits(waiter, "sssii"))
		return reply_nonsense(err);
	snprintf(number, sizeof(number), "%zu", position);
	owner_parse(&process, reply_text(waiter, 2));
	cells[POSITION] = number;
	cells[OWNER] = reply_text(waiter, 0);
	cells[HOST] = process.host;
	cells[PID] = process.pid;
	cells[USER] = process.user;
	cells[COMMAND] = process.command;
	cells[CLIENT] = reply_number(waiter, 3) == 1 ? "fairlock" : "redisson";
	cells[WAITING_MS] = reply_text(waiter, 1);
	cells[PRESENT] = reply_number(waiter, 4) == 1 ? "1" : "0";
	if (*cells[WAITING_MS])
		duration_show(shown, strtoll(cells[WAITING_MS], NULL, 10));
	cells[WAITING] = shown;
	if (table_add(table, cells, err) < 0)
		return -1;
	if (coloured && reply_number(waiter, 4) != 1)
		table_colour(table, "red");
	return 0;
}

static int fill(struct table *table, const struct redisReply *reply, bool coloured,
		struct error *err)
{
	if (!reply_fits(reply, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(reply); i++)
		if (add_waiter(table, reply_at(reply, i), i + 1, coloured, err) < 0)
			return -1;
	return 0;
}

static int call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

/* Owner ids are long, and people who watch look for people. */
static const struct layout watch_layout = {
	.name = "queue",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "POSITION,USER,HOST,PID,COMMAND,WAITING,PRESENT",
	.nothing = "nobody waits",
};

struct viewer {
	const struct options *options;
	struct lock_keys keys;
	struct client client;
};

static int look(struct viewer *viewer, struct table *table, bool coloured, struct error *err)
{
	struct request request;

	wire_begin(&viewer->keys, &request, &script_queue);
	return call(&viewer->client, &request, err) < 0
		       ? -1
		       : fill(table, viewer->client.reply, coloured, err);
}

static int show(struct viewer *viewer, struct error *err)
{
	struct table *table = table_open(&layout, viewer->options, err);
	int result;

	if (!table)
		return -1;
	result = look(viewer, table, false, err);
	if (result == 0)
		result = table_print(table, err);
	table_close(table);
	return result;
}

static char *look_again(void *data, int width, struct error *err)
{
	struct viewer *viewer = data;
	struct table *table = table_open(&watch_layout, viewer->options, err);
	char *text = NULL;

	if (table && look(viewer, table, terminal_wants_colour(), err) == 0)
		text = table_text(table, width, err);
	table_close(table);
	return text;
}

static int watch(struct viewer *viewer, struct error *err)
{
	char title[600];
	const struct watch watch = {title, viewer->options->watch_ms, look_again, viewer};

	snprintf(title, sizeof(title), "fairlock queue %s", viewer->keys.name);
	return watch_run(&watch, err);
}

static int remove_waiter(struct client *client, const struct lock_keys *keys, const char *id,
			 struct error *err)
{
	struct request request;
	char own_id[OWNER_MAX_BYTES];

	if (!owner_is_valid(id))
		return fail(err, STATUS_USAGE, "cannot remove waiter '%s': this is no owner id",
			    id);
	if (owner_new(own_id, err) < 0)
		return -1;
	wire_remove(keys, &request, id, own_id);
	if (call(client, &request, err) < 0)
		return -1;
	if (strcmp(reply_text(client->reply, 0), "unknown") == 0)
		return fail(err, STATUS_NOT_HELD,
			    "cannot remove waiter %s: it does not wait for lock %s", id,
			    keys->name);
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
		result = options->watch_ms ? watch(&viewer, err) : show(&viewer, err);
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
