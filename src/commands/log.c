/* fairlock log: what happened to a lock lately, as a list, in figures, or drawn. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/log_reply.h"
#include "history/log_stats.h"
#include "history/log_table.h"
#include "history/plot.h"
#include "lock/lock.h"
#include "output/table.h"
#include "redis/client_call.h"

#define BLOCK_MS 5000 /* so long the server keeps silent while nothing happens */
#define BLOCK "5000"
#define PAUSE_MS 200 /* many events within it are fetched together */

/* The ids of the events that were printed last: after a server has lost or moved its data, these
 * may come again. */
#define SEEN_MAX 2048

struct seen {
	struct entry_id {
		unsigned long long ms, sequence;
	} ids[SEEN_MAX];
	size_t count;
};

/* One who reads a log. */
struct reader {
	const struct options *options;
	struct client client;
	struct lock_keys keys;
	struct log_query question;
};

/* patient: waits for a server that is away. */
static int ask(struct reader *reader, struct log_reply *history, bool patient, struct error *err)
{
	struct client *client = &reader->client;
	const int64_t until_ms = patient ? NEVER_MS : clock_ms() + client->timeout_ms;
	struct request request;

	*history = (struct log_reply){0};
	log_reply_request(&reader->question, &reader->keys, &request);
	if (client_call(client, &request, until_ms, patient, err) < 0)
		return -1;
	return log_reply_read(history, &reader->question, client->reply, err);
}

/* ---- All that is there ---- */

static int list(struct reader *reader, struct error *err)
{
	const struct options *options = reader->options;
	struct table *table = table_open(&event_layout, options, err);
	struct log_reply history = {0};
	int result;

	if (!table)
		return -1;
	result = ask(reader, &history, false, err);
	for (size_t i = 0; result == 0 && i < history.count; i++)
		result = log_table_add(table, &history.events[i], options, err);
	if (result == 0)
		result = table_print(table, err);
	log_reply_free(&history);
	table_close(table);
	return result;
}

static int summarise(struct reader *reader, struct error *err)
{
	const struct options *options = reader->options;
	struct log_reply history;
	int result;

	reader->question.wants_now = true;
	result = ask(reader, &history, false, err);
	if (result == 0 && options->plot)
		result = plot_print(&history, reader->keys.name, err);
	else if (result == 0)
		result = log_stats_print(&history, reader->keys.name, options->json, err);
	log_reply_free(&history);
	return result;
}

/* ---- What comes ---- */

static struct entry_id read_id(const char *text)
{
	struct entry_id id;
	char *rest;

	id.ms = strtoull(text, &rest, 10);
	id.sequence = *rest == '-' ? strtoull(rest + 1, NULL, 10) : 0;
	return id;
}

/* Whether it is the first time. */
static bool is_new(struct seen *seen, const char *text)
{
	const struct entry_id id = read_id(text);
	const size_t known = seen->count < SEEN_MAX ? seen->count : SEEN_MAX;

	for (size_t i = 0; i < known; i++)
		if (seen->ids[i].ms == id.ms && seen->ids[i].sequence == id.sequence)
			return false;
	seen->ids[seen->count++ % SEEN_MAX] = id;
	return true;
}

static int print_new(struct reader *reader, struct table *table, struct seen *seen,
		     const struct log_reply *history, struct error *err)
{
	for (size_t i = 0; i < history->count; i++)
		if (is_new(seen, history->events[i].id) &&
		    log_table_add(table, &history->events[i], reader->options, err) < 0)
			return -1;
	if (*history->last_id)
		strcpy(reader->question.after, history->last_id);
	return table_flush(table, err);
}

/* The reader of our output may have gone; without a new event no write would tell us. */
static bool reader_is_gone(void)
{
	struct pollfd slot = {.fd = STDOUT_FILENO};

	return poll(&slot, 1, 0) > 0 && (slot.revents & POLLERR) != 0;
}

/* Behind which there is nothing yet: older entries than were asked for do not wake us. */
static void find_after(const struct log_query *question, char after[ENTRY_ID_MAX_BYTES])
{
	if (*question->after)
		strcpy(after, question->after);
	else
		snprintf(after, ENTRY_ID_MAX_BYTES, "%" PRId64 "-0",
			 question->from_ms > 0 ? question->from_ms - 1 : 0);
}

/* Sleeps until there may be something new, for BLOCK_MS at most. */
static int await_event(struct reader *reader, struct error *err)
{
	struct client *client = &reader->client;
	char after[ENTRY_ID_MAX_BYTES];
	const struct request request = {
		.argv = {"XREAD", "COUNT", "1", "BLOCK", BLOCK, "STREAMS", reader->keys.log, after},
		.argc = 8,
	};
	int result;

	find_after(&reader->question, after);
	poll(NULL, 0, PAUSE_MS);
	client->timeout_ms += BLOCK_MS;
	result = client_call(client, &request, NEVER_MS, true, err);
	client->timeout_ms -= BLOCK_MS;
	return result;
}

static int follow_into(struct reader *reader, struct table *table, struct error *err)
{
	struct seen seen = {.count = 0};
	bool patient = false;

	for (;;) {
		struct log_reply history;
		int result = ask(reader, &history, patient, err);

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
		patient = true;
	}
}

static int follow(struct reader *reader, struct error *err)
{
	struct table *table = table_open(&event_layout, reader->options, err);
	int result;

	if (!table)
		return -1;
	table_stream(table);
	result = follow_into(reader, table, err);
	table_close(table);
	return result;
}

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct reader reader = {.options = options, .question.from_ms = UNKNOWN_MS};
	int result;

	*status = STATUS_OK;
	if (lock_keys_make(&reader.keys, invocation->argv[0], err) < 0)
		return -1;
	if (options->since_ms >= 0)
		snprintf(reader.question.since, sizeof(reader.question.since), "%" PRId64,
			 options->since_ms);
	client_init(&reader.client, invocation->server, options->connect_timeout_ms);
	if (options->plot || options->stats)
		result = summarise(&reader, err);
	else if (options->follow)
		result = follow(&reader, err);
	else
		result = list(&reader, err);
	client_close(&reader.client);
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "NAME",
	.summary = "show what happened to the lock lately",
	.examples = "  fairlock log --since 1h deploy   the events of the last hour\n"
		    "  fairlock log --follow deploy     each new event\n"
		    "  fairlock log --plot deploy       who waited and who held, drawn\n",
	.table = &event_layout,
	.bit = COMMAND_LOG,
	.least = 1,
	.most = 1,
	.run = run_log,
};
