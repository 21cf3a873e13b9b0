/* fairlock log: prints the latest events of a lock, or of all locks, as a list, in figures, or
 * drawn. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/events.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/timestamp.h"
#include "redis/client.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* An empty table on a screen tells since when there was nothing. */
static int print_table(const struct history *history, const struct log_query *query,
		       struct table *table, const struct options *options, struct error *err)
{
	char since[TIMESTAMP_MAX_BYTES], nothing[100];

	if (history_add_lines(history, table, options, true, err) < 0)
		return -1;
	if (query->from_ms != UNKNOWN_MS) {
		snprintf(nothing, sizeof(nothing), "no events since %s",
			 timestamp_local(since, query->from_ms, TIMESTAMP_LONG));
		table_when_empty(table, nothing);
	}
	table_print(table);
	return 0;
}

static int show_one(const struct invocation *invocation, const struct lock_keys *keys,
		    struct log_query *query, struct table *table, struct error *err)
{
	const struct options *options = invocation->options;
	const bool is_coloured = terminal_colours(options->colour, STDOUT_FILENO);
	struct history history = {0};
	struct client client;
	struct error ignored;
	bool is_known;
	int result;

	client_init(&client, invocation->server, options->connect_timeout_ms);
	client.connection.story.messenger = invocation->messenger;
	result = history_fetch(&history, &client, query, keys, err);
	if (result == 0 && options->plot)
		result = plot_print(&history, keys->name, is_coloured, err);
	else if (result == 0 && options->stats)
		result = stats_print(&history, keys->name, options->json, err);
	else if (result == 0)
		result = print_table(&history, query, table, options, err);
	/* an empty log may be that of a wrong name */
	if (result == 0 && history.count == 0)
		lock_list_check(&client, keys, &is_known, &ignored);
	history_free(&history);
	client_close(&client);
	return result;
}

/* If something else uses the name, the other logs are shown all the same. A node may go away
 * between the question for its locks and the one for a log. */
static int add_lock(struct history *history, struct log_query *query, struct cluster_nodes *nodes,
		    const struct found *lock, int *status, struct error *err)
{
	char other[SHORT_MAX_BYTES];
	struct lock_keys keys;

	if (cluster_nodes_has_lost(nodes, lock->client))
		return 0;
	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (history_fetch(history, lock->client, query, &keys, err) == 0)
		return 0;
	if (err->status == STATUS_USAGE) /* the user has not named this lock */
		fail(err, STATUS_CONFIG,
		     "cannot show the log of lock %s: its name on the server is %s", keys.shown,
		     shorten(other, reply_text(lock->client->reply, 1)));
	if (err->status != STATUS_CONFIG)
		return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
	complain("%s", err->text);
	*status = (int)err->status;
	return 0;
}

static int list_all(const struct invocation *invocation, struct log_query *query,
		    struct table *table, int *status, struct error *err)
{
	const int64_t timeout_ms = invocation->options->connect_timeout_ms;
	struct lock_list names = {0};
	struct history history = {0};
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, invocation->server, invocation->messenger,
					timeout_ms, clock_ms() + timeout_ms, err);

	if (result == 0)
		result = lock_list_find_logs(&names, &nodes, NEVER_MS, err);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = add_lock(&history, query, &nodes, &names.list[i], status, err);
	history_sort(&history);
	if (result == 0)
		result = print_table(&history, query, table, invocation->options, err);
	if (result == 0)
		result = cluster_nodes_check(&nodes, err);
	history_free(&history);
	lock_list_free(&names);
	cluster_nodes_close(&nodes);
	return result;
}

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	const bool is_for_one = invocation->argc > 0;
	struct log_query query = {.from_ms = UNKNOWN_MS,
				  .wants_now = options->stats || options->plot};
	struct lock_keys keys;
	struct table *table;
	int result;

	*status = STATUS_OK;
	if (options->since && since_parse(&query, options->since, err) < 0)
		return -1;
	if (is_for_one && lock_keys_make(&keys, invocation->argv[0], err) < 0)
		return -1;
	if (query.wants_now)
		return is_for_one ? show_one(invocation, &keys, &query, NULL, err)
				  : fail(err, STATUS_USAGE,
					 "cannot use --%s for all locks: add a NAME",
					 options->stats ? "stats" : "plot");
	table = table_open(is_for_one ? &log_layout_of_one : &log_layout, options, err);
	if (!table)
		return -1;
	if (options->follow)
		result = follow(invocation, is_for_one ? &keys : NULL, &query, table, err);
	else if (is_for_one)
		result = show_one(invocation, &keys, &query, table, err);
	else
		result = list_all(invocation, &query, table, status, err);
	table_close(table);
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show the latest events of one lock, or of all",
	.examples = "  fairlock log --since 1h deploy   the events of the last hour\n"
		    "  fairlock log --follow --json     each new event of all locks\n"
		    "  fairlock log --plot deploy       who waited and who held, drawn\n",
	.table = &log_layout,
	.bit = COMMAND_LOG,
	.most = 1,
	.run = run_log,
};
