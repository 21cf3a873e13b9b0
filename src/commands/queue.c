/* fairlock queue: prints the waiters of a lock in their order, or takes one out. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "lock/owner.h"
#include "output/table.h"
#include "output/watch.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/connection_trace.h"
#include "redis/reply.h"
#include "redis/server.h"

enum {
	NAME,
	POSITION,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	REASON,
	CLIENT,
	MODE,
	SLOTS,
	WAITING_MS,
	PRESENT,
	WAITING,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .kind = COLUMN_TEXT, .least = 12},
	[POSITION] = {.name = "POSITION", .kind = COLUMN_NUMBER},
	[OWNER] = {.name = "OWNER", .kind = COLUMN_TEXT, .spare = 5},
	[HOST] = {.name = "HOST", .kind = COLUMN_TEXT, .least = 8, .spare = 2},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 3},
	[USER] = {.name = "USER", .kind = COLUMN_TEXT, .least = 6, .spare = 1},
	[COMMAND] = {.name = "COMMAND", .kind = COLUMN_TEXT, .least = 10},
	[REASON] = {.name = "REASON", .kind = COLUMN_TEXT, .least = 10, .is_rare = true},
	[CLIENT] = {.name = "CLIENT", .kind = COLUMN_TEXT},
	[MODE] = {.name = "MODE",
		  .kind = COLUMN_TEXT,
		  .spare = 4,
		  .is_rare = true,
		  .common = "exclusive"},
	[SLOTS] = {.name = "SLOTS", .kind = COLUMN_LIST, .least = 5, .is_rare = true},
	[WAITING_MS] = {.name = "WAITING_MS", .kind = COLUMN_NUMBER},
	[PRESENT] = {.name = "PRESENT", .kind = COLUMN_BOOLEAN},
	[WAITING] = {.name = "WAITING", .kind = COLUMN_DURATION},
};

#define PEOPLE "MODE,SLOTS,USER,HOST,PID,COMMAND,REASON,WAITING,PRESENT"
#define RAW "POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING_MS,PRESENT"

static const struct layout all_layout = {
	.name = "queue",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,POSITION,OWNER," PEOPLE,
	.raw = "NAME," RAW,
	.json = "NAME,POSITION,OWNER,HOST,PID,USER,COMMAND,CLIENT,MODE,SLOTS,REASON,WAITING_MS,PRESENT",
	.nothing = "nobody waits for any lock",
};

struct viewer {
	const struct invocation *invocation;
	struct lock_keys keys; /* of NAME, if there is one */
	bool is_silent;        /* there is no place for messages */
	int status;
	struct error gap; /* the part of a cluster that cannot be seen; STATUS_OK: none */
};

static int add_waiter(struct table *table, const char *name, const struct redisReply *waiter,
		      size_t position, struct error *err)
{
	struct table_row row = {.cells = {[NAME] = name}};
	const char *want = reply_text(waiter, 5);
	struct owner_process process;

	if (!reply_fits(waiter, "sssiis"))
		return reply_nonsense(err);
	owner_parse(&process, reply_text(waiter, 2));
	row.cells[MODE] = want_word(want);
	row.cells[SLOTS] = want_is_slot(want) ? want + 1 : NULL;
	table_row_number(&row, POSITION, (int64_t)position);
	row.cells[OWNER] = reply_text(waiter, 0);
	row.cells[HOST] = process.host;
	row.cells[PID] = process.pid;
	row.cells[USER] = process.user;
	row.cells[COMMAND] = process.command;
	row.cells[REASON] = process.reason;
	row.cells[CLIENT] = reply_number(waiter, 3) == 1 ? "fairlock" : "redisson";
	row.cells[WAITING] = row.cells[WAITING_MS] = reply_text(waiter, 1);
	row.cells[PRESENT] = reply_number(waiter, 4) == 1 ? "1" : "0";
	row.colours[PRESENT] = reply_number(waiter, 4) == 1 ? TABLE_GREEN : TABLE_RED;
	return table_add(table, &row, err);
}

static int add_queue(struct table *table, const struct lock_keys *keys, struct client *client,
		     struct error *err)
{
	struct request request;

	wire_look(keys, &request, "queue");
	connection_trace_ask(client, "who waits for lock", keys->shown);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0)
		return -1;
	connection_trace_answer(client);
	if (!reply_fits(client->reply, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(client->reply); i++)
		if (add_waiter(table, keys->name, reply_at(client->reply, i), i + 1, err) < 0)
			return -1;
	return 0;
}

/* If something else uses the name, or the node has gone, the other queues are shown all the same.
 */
static int add_found(struct viewer *viewer, struct table *table, struct cluster_nodes *nodes,
		     const struct found *lock, struct error *err)
{
	struct lock_keys keys;

	if (cluster_nodes_has_lost(nodes, lock->client))
		return 0;
	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (add_queue(table, &keys, lock->client, err) == 0)
		return 0;
	if (err->status != STATUS_CONFIG)
		return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
	if (!viewer->is_silent)
		complain("%s", err->text);
	viewer->status = (int)err->status;
	return 0;
}

static int add_all(struct viewer *viewer, struct table *table, struct error *err)
{
	const int64_t timeout_ms = viewer->invocation->options->connect_timeout_ms;
	struct lock_list names = {0};
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, viewer->invocation->server,
					viewer->is_silent ? NULL : viewer->invocation->messenger,
					timeout_ms, clock_ms() + timeout_ms, err);

	if (result == 0)
		result = lock_list_find(&names, &nodes, NEVER_MS, err);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = add_found(viewer, table, &nodes, &names.list[i], err);
	viewer->gap.status = STATUS_OK;
	if (result == 0 && cluster_nodes_check(&nodes, &viewer->gap) < 0 &&
	    cluster_nodes_unseen(&nodes) == CLUSTER_SLOTS) {
		*err = viewer->gap;
		result = -1;
	}
	lock_list_free(&names);
	cluster_nodes_close(&nodes);
	return result;
}

static int add_one(struct viewer *viewer, struct table *table, struct error *err)
{
	struct connection_trace steps = {.messenger = viewer->invocation->messenger};
	struct error ignored;
	struct client client;
	bool is_known;
	int result;

	client_init(&client, viewer->invocation->server,
		    viewer->invocation->options->connect_timeout_ms);
	if (!viewer->is_silent)
		client.steps = &steps;
	result = add_queue(table, &viewer->keys, &client, err);
	if (result == 0 && !viewer->is_silent && reply_count(client.reply) == 0)
		lock_list_check(&client, &viewer->keys, &is_known, &ignored);
	client_close(&client);
	return result;
}

static int add_waiters(struct viewer *viewer, struct table *table, struct error *err)
{
	return viewer->invocation->argc > 0 ? add_one(viewer, table, err)
					    : add_all(viewer, table, err);
}

#define NOTHING_MAX_BYTES (NAME_MAX_BYTES + 32)

/* The table of one lock does not repeat its name. */
static struct layout layout_of(const struct viewer *viewer, char nothing[NOTHING_MAX_BYTES])
{
	struct layout layout = all_layout;

	if (viewer->invocation->argc == 0)
		return layout;
	layout.people = "POSITION,OWNER," PEOPLE;
	layout.raw = RAW;
	layout.nothing = nothing;
	snprintf(nothing, NOTHING_MAX_BYTES, "nobody waits for %s", viewer->keys.name);
	return layout;
}

static int print_queue(struct viewer *viewer, struct error *err)
{
	char nothing[NOTHING_MAX_BYTES];
	const struct layout layout = layout_of(viewer, nothing);
	struct table *table = table_open(&layout, viewer->invocation->options, err);
	int result;

	if (!table)
		return -1;
	result = add_waiters(viewer, table, err);
	if (result == 0)
		table_print(table);
	table_close(table);
	if (result < 0 || viewer->gap.status == STATUS_OK)
		return result;
	*err = viewer->gap;
	return -1;
}

/* ---- On the whole screen ---- */

static char *watched_text(void *data, int width, struct error *err)
{
	struct viewer *viewer = data;
	char nothing[NOTHING_MAX_BYTES];
	struct layout layout = layout_of(viewer, nothing);
	struct table *table;
	char *text = NULL;

	/* owner ids are long, and people who watch look for people */
	layout.people = viewer->invocation->argc > 0 ? "POSITION," PEOPLE : "NAME,POSITION," PEOPLE;
	table = table_open(&layout, viewer->invocation->options, err);
	if (table && add_waiters(viewer, table, err) == 0)
		text = table_text(table, width, err);
	table_close(table);
	if (text)
		*err = viewer->gap;
	return text;
}

static int watch_queue(const struct viewer *viewer, struct error *err)
{
	struct invocation invocation = *viewer->invocation;
	struct server server = *invocation.server;
	struct viewer watched = *viewer;
	char title[SHORT_MAX_BYTES + 32];
	const struct watch watch = {.title = title,
				    .period_ms = invocation.options->watch_ms,
				    .source = watched_text,
				    .data = &watched,
				    .server = &server};

	invocation.server = &server;
	watched.invocation = &invocation;
	watched.is_silent = true;
	snprintf(title, sizeof(title), "fairlock queue %s", viewer->keys.shown);
	return watch_run(&watch, err);
}

/* ---- Taking a waiter out ---- */

static int request_removal(struct client *client, const struct lock_keys *keys, const char *id,
			   struct error *err)
{
	struct request request;
	char own_id[OWNER_MAX_BYTES], by[BY_MAX_BYTES];
	char fairlock[] = "fairlock", queue[] = "queue", option[] = "--remove";
	char *words[] = {fairlock, queue, option, NULL};

	if (owner_new(own_id, err) < 0)
		return -1;
	owner_describe(by, getpid(), words, NULL);
	wire_remove(keys, &request, id, own_id, by);
	connection_trace_ask(client, "to take the waiter out of the queue of lock", keys->shown);
	if (client_call(client, &request, clock_ms() + client->timeout_ms, false, err) < 0)
		return -1;
	connection_trace_answer(client);
	if (strcmp(reply_text(client->reply, 0), "unknown") == 0)
		return fail(err, STATUS_NOT_HELD,
			    "cannot remove waiter %.58s: it does not wait for lock %s", id,
			    keys->shown);
	return strcmp(reply_text(client->reply, 0), "left") == 0 ? 0
								 : lock_refused(client->reply, err);
}

static int remove_waiter(const struct viewer *viewer, struct error *err)
{
	const struct invocation *invocation = viewer->invocation;
	const char *id = invocation->options->remove;
	char shown[SHORT_MAX_BYTES];
	struct connection_trace steps = {.messenger = invocation->messenger};
	struct client client;
	int result;

	if (invocation->argc == 0)
		return fail(err, STATUS_USAGE, "cannot use option '--remove': NAME is missing");
	if (!owner_is_valid(id))
		return fail(
			err, STATUS_USAGE,
			"cannot remove waiter '%s': this is no id; the column OWNER of queue shows the ids",
			shorten(shown, id));
	client_init(&client, invocation->server, invocation->options->connect_timeout_ms);
	client.steps = &steps;
	result = request_removal(&client, &viewer->keys, id, err);
	client_close(&client);
	return result;
}

static int run_queue(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct viewer viewer = {.invocation = invocation, .status = STATUS_OK};
	int result;

	if (invocation->argc > 0 && lock_keys_make(&viewer.keys, invocation->argv[0], err) < 0)
		return -1;
	if (options->remove)
		result = remove_waiter(&viewer, err);
	else
		result = options->watch_ms ? watch_queue(&viewer, err) : print_queue(&viewer, err);
	*status = viewer.status;
	return result;
}

const struct command queue_command = {
	.name = "queue",
	.operands = "[NAME]",
	.summary = "show the waiters in order",
	.examples = "  fairlock queue deploy                     all waiters\n"
		    "  fairlock queue --watch deploy             redrawn every second\n"
		    "  fairlock queue --remove \"$owner\" deploy   this waiter ends with 75\n",
	.table = &all_layout,
	.bit = COMMAND_QUEUE,
	.most = 1,
	.run = run_queue,
};
