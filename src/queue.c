/* fairlock queue: who waits for a lock, in order; takes a waiter out. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "about.h"
#include "clock.h"
#include "command.h"
#include "duration.h"
#include "lock.h"
#include "options.h"
#include "reply.h"
#include "script.h"
#include "table.h"

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
	[POSITION] = {"POSITION", COLUMN_NUMBER},
	[OWNER] = {"OWNER", COLUMN_TEXT},
	[HOST] = {"HOST", COLUMN_TEXT},
	[PID] = {"PID", COLUMN_NUMBER},
	[USER] = {"USER", COLUMN_TEXT},
	[COMMAND] = {"COMMAND", COLUMN_LONG_TEXT},
	[CLIENT] = {"CLIENT", COLUMN_TEXT},
	[WAITING_MS] = {"WAITING_MS", COLUMN_NUMBER},
	[PRESENT] = {"PRESENT", COLUMN_BOOLEAN},
	[WAITING] = {"WAITING", COLUMN_DURATION},
};
/* clang-format on */

static const struct layout layout = {
	.name = "queue",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING,PRESENT",
	.raw = "POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING_MS,PRESENT",
	.json = "POSITION,OWNER,HOST,PID,USER,COMMAND,CLIENT,WAITING_MS,PRESENT",
};

static int add_waiter(struct table *table, const struct redisReply *waiter, size_t position,
		      struct error *err)
{
	char number[24], shown[DURATION_MAX_BYTES] = "";
	struct about about;
	const char *cells[COLUMN_COUNT];

	if (!reply_fits(waiter, "sssii"))
		return reply_nonsense(err);
	snprintf(number, sizeof(number), "%zu", position);
	about_read(&about, reply_text(waiter, 2));
	cells[POSITION] = number;
	cells[OWNER] = reply_text(waiter, 0);
	cells[HOST] = about.host;
	cells[PID] = about.pid;
	cells[USER] = about.user;
	cells[COMMAND] = about.command;
	cells[CLIENT] = reply_number(waiter, 3) == 1 ? "fairlock" : "redisson";
	cells[WAITING_MS] = reply_text(waiter, 1);
	cells[PRESENT] = reply_number(waiter, 4) == 1 ? "1" : "0";
	if (*cells[WAITING_MS])
		duration_show(shown, strtoll(cells[WAITING_MS], NULL, 10));
	cells[WAITING] = shown;
	return table_add(table, cells, err);
}

static int fill(struct table *table, const struct redisReply *reply, struct error *err)
{
	if (!reply_fits(reply, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(reply); i++)
		if (add_waiter(table, reply_at(reply, i), i + 1, err) < 0)
			return -1;
	return table_print(table, err);
}

static int call(struct client *client, const struct request *request, struct error *err)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, err);
}

static int show(struct client *client, const struct lock_keys *keys, const struct options *options,
		struct error *err)
{
	struct table *table = table_open(&layout, options, err);
	struct request request;
	int result;

	if (!table)
		return -1;
	lock_request(keys, &request, &script_queue);
	result = call(client, &request, err);
	if (result == 0)
		result = fill(table, client->reply, err);
	table_close(table);
	return result;
}

static int remove_waiter(struct client *client, const struct lock_keys *keys, const char *id,
			 struct error *err)
{
	struct request request;

	if (!owner_is_valid(id))
		return fail(err, STATUS_USAGE, "cannot remove waiter '%s': this is no owner id",
			    id);
	lock_request(keys, &request, &script_leave);
	request_add(&request, id);
	request_add(&request, ""); /* not the waiter itself asks */
	if (call(client, &request, err) < 0)
		return -1;
	if (strcmp(reply_text(client->reply, 0), "unknown") == 0)
		return fail(err, STATUS_NOT_HELD,
			    "cannot remove waiter %s: it does not wait for lock %s", id,
			    keys->name);
	return strcmp(reply_text(client->reply, 0), "left") == 0 ? 0
								 : lock_refused(client->reply, err);
}

static int run(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct lock_keys keys;
	struct client client;
	int result;

	if (name_keys(&keys, invocation->argv[0], err) < 0)
		return -1;
	client_init(&client, invocation->server, options->connect_timeout_ms);
	if (options->remove)
		result = remove_waiter(&client, &keys, options->remove, err);
	else
		result = show(&client, &keys, options, err);
	client_close(&client);
	*status = STATUS_OK;
	return result;
}

const struct command queue_command = {
	.name = "queue",
	.operands = "NAME",
	.summary = "who waits, in order",
	.run = run,
};
