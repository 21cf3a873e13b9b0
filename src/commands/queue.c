/* fairlock queue: prints the waiters of a lock in their order, or takes one out. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands/look.h"
#include "lock/lock.h"
#include "redis/reply.h"

#define PEOPLE "MODE,SLOTS,USER,HOST,PID,COMMAND,REASON,WAITING,PRESENT"
#define JSON "NAME,POSITION,OWNER,HOST,PID,USER,COMMAND,CLIENT,MODE,SLOTS,REASON,WAITING_MS,PRESENT"

static const struct layout queue_layout = {
	.name = "queue",
	.columns = JSON ",WAITING",
	.people = "NAME,POSITION,OWNER," PEOPLE,
	.raw = "NAME,POSITION,OWNER,USER,HOST,PID,COMMAND,WAITING_MS,PRESENT",
	.json = JSON,
};

static int add_waiter(struct table *table, const char *name, const struct redisReply *waiter,
		      size_t position, struct error *err)
{
	struct table_row row = {.cells = {[COLUMN_NAME] = name}};
	const char *want = reply_text(waiter, 5);
	struct owner_process process;

	if (!reply_fits(waiter, "sssiis"))
		return reply_nonsense(err);
	owner_fill_row(&row, &process, reply_text(waiter, 2));
	row.cells[COLUMN_MODE] = want_word(want);
	row.cells[COLUMN_SLOTS] = want_is_slot(want) ? want + 1 : NULL;
	table_row_number(&row, COLUMN_POSITION, (int64_t)position);
	row.cells[COLUMN_OWNER] = reply_text(waiter, 0);
	row.cells[COLUMN_CLIENT] = reply_number(waiter, 3) == 1 ? "fairlock" : "redisson";
	row.cells[COLUMN_WAITING] = row.cells[COLUMN_WAITING_MS] = reply_text(waiter, 1);
	row.cells[COLUMN_PRESENT] = reply_number(waiter, 4) == 1 ? "1" : "0";
	row.colours[COLUMN_PRESENT] = reply_number(waiter, 4) == 1 ? TABLE_GREEN : TABLE_RED;
	return table_add(table, &row, err);
}

static int show(struct look *look, const struct lock_keys *keys, struct client *client,
		struct error *err)
{
	const size_t count = reply_count(client->reply);

	if (!reply_fits(client->reply, ""))
		return reply_nonsense(err);
	for (size_t i = 0; i < count; i++)
		if (add_waiter(look->table, keys->name, reply_at(client->reply, i), i + 1, err) < 0)
			return -1;
	if (count == 0)
		look_check_name(look, keys, client);
	return 0;
}

#define TEXT_MAX_BYTES (NAME_MAX_BYTES + 32)

static int show_queues(const struct invocation *invocation, int *status, struct error *err)
{
	const char *name = invocation->argc > 0 ? invocation->argv[0] : NULL;
	char nothing[TEXT_MAX_BYTES], title[TEXT_MAX_BYTES];
	struct look look = {.invocation = invocation,
			    .what = "queue",
			    .question = "who waits for lock",
			    .show = show,
			    .layout = queue_layout};

	/* owner ids are long, and people who watch look for people */
	if (invocation->options->watch_ms)
		look.layout.people = "NAME,POSITION," PEOPLE;
	look.layout.is_of_one = name;
	look.layout.nothing = nothing;
	snprintf(nothing, sizeof(nothing), "nobody waits for %s", name ? name : "any lock");
	snprintf(title, sizeof(title), "fairlock queue %s", name ? name : "");
	return look_run(&look, title, status, err);
}

/* ---- Taking a waiter out ---- */

static int request_removal(struct client *client, const struct lock_keys *keys, const char *id,
			   struct error *err)
{
	struct request request;
	char own_id[OWNER_MAX_BYTES], by[BY_MAX_BYTES];
	const char *answer;
	char fairlock[] = "fairlock", queue[] = "queue", option[] = "--remove";
	char *words[] = {fairlock, queue, option, NULL};

	if (owner_new(own_id, false, err) < 0)
		return -1;
	owner_describe(by, getpid(), words, NULL);
	wire_remove(keys, &request, id, own_id, by);
	request.question = "to take the waiter out of the queue of lock";
	request.about = keys->shown;
	if (client_ask(client, &request, NEVER_MS, err) < 0)
		return -1;
	answer = reply_text(client->reply, 0);
	if (strcmp(answer, "unknown") == 0)
		return fail(err, STATUS_NOT_HELD,
			    "cannot remove waiter %.58s: it does not wait for lock %s", id,
			    keys->shown);
	return strcmp(answer, "left") == 0 ? 0 : lock_refused(client->reply, err);
}

static int remove_waiter(const struct invocation *invocation, struct error *err)
{
	const char *id = invocation->options->remove;
	char shown[SHORT_MAX_BYTES];
	struct lock_keys keys;
	struct client client;
	int result;

	if (invocation->argc == 0)
		return fail(err, STATUS_USAGE, "cannot use option '--remove': NAME is missing");
	if (!owner_is_valid(id))
		return fail(
			err, STATUS_USAGE,
			"cannot remove waiter '%s': this is no id; the column OWNER of queue shows the ids",
			shorten(shown, id));
	if (lock_keys_make(&keys, invocation->argv[0], err) < 0)
		return -1;
	client_init(&client, invocation->server, invocation->messenger,
		    invocation->options->connect_timeout_ms);
	result = request_removal(&client, &keys, id, err);
	client_close(&client);
	return result;
}

static int run_queue(const struct invocation *invocation, int *status, struct error *err)
{
	*status = STATUS_OK;
	return invocation->options->remove ? remove_waiter(invocation, err)
					   : show_queues(invocation, status, err);
}

const struct command queue_command = {
	.name = "queue",
	.operands = "[NAME]",
	.summary = "show the waiters in order",
	.examples = "  fairlock queue deploy                     all waiters\n"
		    "  fairlock queue --watch deploy             redrawn every second\n"
		    "  fairlock queue --remove \"$owner\" deploy   this waiter ends with 75\n",
	.table = &queue_layout,
	.bit = COMMAND_QUEUE,
	.run = run_queue,
};
