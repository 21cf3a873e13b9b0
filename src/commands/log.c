/* fairlock log: what happened to a lock lately, as a list, in figures, or drawn. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/log_reply.h"
#include "history/log_stats.h"
#include "history/log_table.h"
#include "history/plot.h"
#include "lock/lock.h"
#include "output/table.h"
#include "redis/client_call.h"

/* How long the server keeps silent while nothing happens. */
#define BLOCK_MS 5000
#define BLOCK "5000"

/* Events that follow each other within it are fetched together. */
#define PAUSE_MS 200

/* The events that were printed last: a server that has lost or moved its data may send them again.
 */
#define SEEN_MAX 2048

struct seen {
	char ids[SEEN_MAX][ENTRY_ID_MAX_BYTES];
	size_t count;
};

struct reader {
	const struct options *options;
	struct client client;
	struct lock_keys keys;
	struct log_query query;
};

/* patient: waits for a server that is away. */
static int fetch(struct reader *reader, struct log_reply *history, bool patient, struct error *err)
{
	struct client *client = &reader->client;
	const int64_t until_ms = patient ? NEVER_MS : clock_ms() + client->timeout_ms;
	struct request request;

	*history = (struct log_reply){0};
	log_reply_request(&reader->query, &reader->keys, &request);
	if (client_call(client, &request, until_ms, patient, err) < 0)
		return -1;
	return log_reply_read(history, &reader->query, client->reply, err);
}

/* ---- Events so far ---- */

static int list_events(struct reader *reader, struct table *table, struct error *err)
{
	struct log_reply history;
	int result = fetch(reader, &history, false, err);

	for (size_t i = 0; result == 0 && i < history.count; i++)
		result = log_table_add(table, &history.events[i], err);
	if (result == 0)
		result = table_print(table, err);
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

static int print_new(struct reader *reader, struct table *table, struct seen *seen,
		     const struct log_reply *history, struct error *err)
{
	for (size_t i = 0; i < history->count; i++)
		if (is_new(seen, history->events[i].id) &&
		    log_table_add(table, &history->events[i], err) < 0)
			return -1;
	if (*history->last_id)
		strcpy(reader->query.after, history->last_id);
	return table_flush(table, err);
}

/* The reader of our output may have gone; without a new event no write would tell us. */
static bool reader_is_gone(void)
{
	struct pollfd slot = {.fd = STDOUT_FILENO};

	return poll(&slot, 1, 0) > 0 && (slot.revents & POLLERR) != 0;
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
			result = print_new(reader, table, &seen, &history, err);
		log_reply_free(&history);
		if (result < 0)
			return -1;
		if (reader_is_gone())
			raise(SIGPIPE);
		if (ferror(stdout) || reader_is_gone())
			return 0; /* main tells the cause, if there is one */
		if (await_event(reader, err) < 0)
			return -1;
	}
}

static int print_events(struct reader *reader, struct error *err)
{
	struct table *table = table_open(&event_layout, reader->options, err);
	int result;

	if (!table)
		return -1;
	result = reader->options->follow ? follow(reader, table, err)
					 : list_events(reader, table, err);
	table_close(table);
	return result;
}

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct reader reader = {.options = options, .query.from_ms = UNKNOWN_MS};
	int result;

	*status = STATUS_OK;
	if (lock_keys_make(&reader.keys, invocation->argv[0], err) < 0)
		return -1;
	if (options->since_ms >= 0)
		snprintf(reader.query.since, sizeof(reader.query.since), "%" PRId64,
			 options->since_ms);
	client_init(&reader.client, invocation->server, options->connect_timeout_ms);
	result = options->plot || options->stats ? summarise(&reader, err)
						 : print_events(&reader, err);
	client_close(&reader.client);
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "NAME",
	.summary = "what happened to the lock lately",
	.bit = COMMAND_LOG,
	.least = 1,
	.most = 1,
	.run = run_log,
};
