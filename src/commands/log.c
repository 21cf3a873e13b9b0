/* fairlock log: prints the latest events of a lock, or of all locks, as a list, in figures, or
 * drawn. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/follow_all.h"
#include "history/log_reply.h"
#include "history/log_stats.h"
#include "history/log_table.h"
#include "history/merged_log.h"
#include "history/plot.h"
#include "history/since.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/table.h"
#include "output/timestamp.h"
#include "redis/client.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* How long the server keeps silent while nothing happens. */
#define BLOCK_MS 5000
#define BLOCK "5000"

/* Events that follow each other within it are fetched together. */
#define PAUSE_MS 200

/* The latest events that were printed. A server that has lost its data may send them again. */
#define SEEN_MAX 2048

struct seen {
	char ids[SEEN_MAX][ENTRY_ID_MAX_BYTES];
	size_t count;
};

struct reader {
	const struct options *options;
	struct client client;
	const struct messenger *messenger;
	struct connection_trace steps; /* of client */
	struct lock_keys keys;
	struct log_query query;
	struct layout layout; /* of the table */
	char nothing[100];    /* what it says instead of lines */
	int status;           /* not STATUS_OK: one of all locks cannot be shown */
};

/* patient: waits for a server that is away. */
static int fetch_from(struct client *client, struct reader *reader, struct log_reply *history,
		      bool patient, struct error *err)
{
	const int64_t until_ms = patient ? NEVER_MS : clock_ms() + client->timeout_ms;
	struct request request;

	*history = (struct log_reply){0};
	log_reply_request(&reader->query, &reader->keys, &request);
	connection_trace_ask(client, "for the log of lock", reader->keys.shown);
	if (client_call(client, &request, until_ms, patient, err) < 0)
		return -1;
	connection_trace_answer(client);
	return log_reply_read(history, &reader->query, client->reply, err);
}

static int fetch(struct reader *reader, struct log_reply *history, bool patient, struct error *err)
{
	return fetch_from(&reader->client, reader, history, patient, err);
}

/* An empty log may be that of a wrong name. */
static void check_name(struct reader *reader)
{
	struct error ignored;
	bool is_known;

	lock_list_check(&reader->client, &reader->keys, &is_known, &ignored);
}

/* ---- Events so far ---- */

/* An empty table on a screen tells since when there was nothing. */
static void print_table(struct reader *reader, struct table *table)
{
	char since[TIMESTAMP_MAX_BYTES];

	if (reader->query.from_ms != UNKNOWN_MS) {
		snprintf(reader->nothing, sizeof(reader->nothing), "no events since %s",
			 timestamp_local(since, reader->query.from_ms, TIMESTAMP_LONG));
		table_when_empty(table, reader->nothing);
	}
	table_print(table);
}

static int list_events(struct reader *reader, struct table *table, struct error *err)
{
	struct log_reply history;
	int result = fetch(reader, &history, false, err);

	for (size_t i = log_table_first(reader->options, history.count);
	     result == 0 && i < history.count; i++)
		result = log_table_add(table, reader->keys.name, &history.events[i], err);
	if (result == 0)
		print_table(reader, table);
	if (result == 0 && history.count == 0)
		check_name(reader);
	log_reply_free(&history);
	return result;
}

static int summarise(struct reader *reader, struct error *err)
{
	const struct options *options = reader->options;
	struct log_reply history;
	int result;

	reader->query.wants_now = true;
	result = fetch(reader, &history, false, err);
	if (result == 0 && options->plot)
		result = plot_print(&history, reader->keys.name,
				    terminal_colours(options->colour, STDOUT_FILENO), err);
	else if (result == 0)
		result = log_stats_print(&history, reader->keys.name, options->json, err);
	if (result == 0 && history.count == 0)
		check_name(reader);
	log_reply_free(&history);
	return result;
}

/* ---- Events as they come ---- */

/* Returns whether the entry is new, and remembers it. */
static bool is_new(struct seen *seen, const char *id)
{
	for (size_t i = 0; i < seen->count && i < SEEN_MAX; i++)
		if (strcmp(seen->ids[i], id) == 0)
			return false;
	strcpy(seen->ids[seen->count++ % SEEN_MAX], id);
	return true;
}

/* Prints the new events, from the first-th on. */
static int print_new(struct reader *reader, struct table *table, struct seen *seen,
		     const struct log_reply *history, size_t first, struct error *err)
{
	for (size_t i = 0; i < history->count; i++)
		if (is_new(seen, history->events[i].id) && i >= first &&
		    log_table_add(table, reader->keys.name, &history->events[i], err) < 0)
			return -1;
	if (*history->last_id)
		strcpy(reader->query.after, history->last_id);
	table_flush(table);
	return 0;
}

/* Sleeps until there may be something new, for BLOCK_MS at most. */
static int await_event(struct reader *reader, struct error *err)
{
	const int64_t from_ms = reader->query.from_ms;
	struct client *client = &reader->client;
	char start[ENTRY_ID_MAX_BYTES];
	const char *after = *reader->query.after ? reader->query.after : start;
	const struct request request = {
		.argv = {"XREAD", "COUNT", "1", "BLOCK", BLOCK, "STREAMS", reader->keys.log, after},
		.argc = 8,
	};
	int result;

	/* no entry that is too old is to wake us */
	snprintf(start, sizeof(start), "%" PRId64 "-0", from_ms > 0 ? from_ms - 1 : 0);
	poll(NULL, 0, PAUSE_MS);
	client->timeout_ms += BLOCK_MS;
	result = client_call(client, &request, NEVER_MS, true, err);
	client->timeout_ms -= BLOCK_MS;
	return result;
}

static int follow(struct reader *reader, struct table *table, struct error *err)
{
	struct seen seen = {.count = 0};

	for (bool patient = false;; patient = true) {
		struct log_reply history;
		int result = fetch(reader, &history, patient, err);

		if (result == 0)
			result = print_new(
				reader, table, &seen, &history,
				patient ? 0 : log_table_first(reader->options, history.count), err);
		if (result == 0 && !patient && history.count == 0)
			check_name(reader);
		log_reply_free(&history);
		if (result < 0)
			return -1;
		if (follow_has_no_reader())
			raise(SIGPIPE);
		if (ferror(stdout) || follow_has_no_reader())
			return 0; /* main tells the cause, if there is one */
		if (await_event(reader, err) < 0)
			return -1;
	}
}

static int print_events(struct reader *reader, struct error *err)
{
	struct table *table;
	int result;

	reader->layout = log_layout_of_one();
	table = table_open(&reader->layout, reader->options, err);
	if (!table)
		return -1;
	result = reader->options->follow ? follow(reader, table, err)
					 : list_events(reader, table, err);
	table_close(table);
	return result;
}

/* ---- All locks ---- */

static int add_lock(struct reader *reader, struct merged_log *log, const struct found *lock,
		    struct error *err)
{
	struct log_reply history;
	char other[SHORT_MAX_BYTES];
	int result;

	if (lock_keys_make(&reader->keys, lock->name, err) < 0)
		return -1;
	result = fetch_from(lock->client, reader, &history, false, err);
	if (result == 0)
		result = merged_log_add(log, lock->name, &history, err);
	else if (err->status == STATUS_USAGE) /* the user has not named this lock */
		fail(err, STATUS_CONFIG,
		     "cannot show the log of lock %s: its name on the server is %s",
		     reader->keys.shown, shorten(other, reply_text(lock->client->reply, 1)));
	log_reply_free(&history);
	return result;
}

/* If something else uses the name, the other logs are shown all the same. A node may go away
 * between the question for its locks and the one for a log. */
static int add_unless_lost(struct reader *reader, struct merged_log *log,
			   struct cluster_nodes *nodes, const struct found *lock, struct error *err)
{
	if (cluster_nodes_has_lost(nodes, lock->client) || add_lock(reader, log, lock, err) == 0)
		return 0;
	if (err->status != STATUS_CONFIG)
		return cluster_nodes_lose(nodes, lock->client, err) ? 0 : -1;
	complain("%s", err->text);
	reader->status = (int)err->status;
	return 0;
}

static int print_merged(struct reader *reader, struct table *table, struct merged_log *log,
			struct error *err)
{
	merged_log_sort(log);
	for (size_t i = log_table_first(reader->options, log->count); i < log->count; i++)
		if (log_table_add(table, log->list[i].name, &log->list[i].event, err) < 0)
			return -1;
	print_table(reader, table);
	return 0;
}

static int list_all(struct reader *reader, const struct server *server, struct table *table,
		    struct error *err)
{
	const int64_t timeout_ms = reader->options->connect_timeout_ms;
	struct lock_list names = {0};
	struct merged_log log = {0};
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, server, reader->messenger, timeout_ms,
					clock_ms() + timeout_ms, err);

	if (result == 0)
		result = lock_list_find_logs(&names, &nodes, NEVER_MS, err);
	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = add_unless_lost(reader, &log, &nodes, &names.list[i], err);
	if (result == 0)
		result = print_merged(reader, table, &log, err);
	if (result == 0)
		result = cluster_nodes_check(&nodes, err);
	merged_log_free(&log);
	lock_list_free(&names);
	cluster_nodes_close(&nodes);
	return result;
}

static int print_all(struct reader *reader, const struct server *server, struct error *err)
{
	const struct options *options = reader->options;
	struct table *table;
	int result;

	if (options->stats || options->plot)
		return fail(err, STATUS_USAGE, "cannot use --%s for all locks: add a NAME",
			    options->stats ? "stats" : "plot");
	reader->layout = log_layout;
	table = table_open(&reader->layout, options, err);
	if (!table)
		return -1;
	result = options->follow ? follow_all(server, options, reader->messenger, &reader->query,
					      table, err)
				 : list_all(reader, server, table, err);
	table_close(table);
	if (options->follow && result == 0 && follow_has_no_reader())
		raise(SIGPIPE);
	return result;
}

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct reader reader = {.options = options,
				.messenger = invocation->messenger,
				.steps.messenger = invocation->messenger,
				.query.from_ms = UNKNOWN_MS};
	int result;

	*status = STATUS_OK;
	if (options->since && since_parse(&reader.query, options->since, wall_ms(), err) < 0)
		return -1;
	if (invocation->argc == 0) {
		result = print_all(&reader, invocation->server, err);
		*status = reader.status;
		return result;
	}
	if (lock_keys_make(&reader.keys, invocation->argv[0], err) < 0)
		return -1;
	client_init(&reader.client, invocation->server, options->connect_timeout_ms);
	reader.client.steps = &reader.steps;
	result = options->plot || options->stats ? summarise(&reader, err)
						 : print_events(&reader, err);
	client_close(&reader.client);
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
