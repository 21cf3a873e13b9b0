/* Reads the logs that have changed, and prints their new events in the order of their times. */
#include <string.h>

#include "base/message.h"
#include "history/follow_state.h"
#include "history/log_table.h"
#include "history/merged_log.h"
#include "lock/lock_keys.h"
#include "output/table.h"
#include "redis/client_call.h"
#include "redis/connection_trace.h"
#include "redis/reply.h"
#include "redis/server.h"

/* Events that follow each other within it are fetched together, and sorted by time. */
#define PAUSE_MS 200

/* Whether the client was led to another node: then it is no client of its node any more. */
static bool has_strayed(const struct follower *f, const struct client *client)
{
	const struct endpoint *there = &client->connection.endpoint,
			      *home = client->connection.server->seeds;

	return f->nodes.owners && *home->host &&
	       (there->port != home->port || strcmp(there->host, home->host) != 0);
}

/* Whether the log is gone, and not only silent. */
static int is_gone(struct follower *f, struct followed *lock, bool *gone, struct error *err)
{
	const struct request request = {.argv = {"XREVRANGE", lock->key, "+", "-", "COUNT", "1"},
					.argc = 6};

	if (client_call(lock->client, &request, follow_until_ms(f), false, err) < 0)
		return -1;
	*gone = reply_count(lock->client->reply) == 0;
	return 0;
}

static int read_log(struct follower *f, struct followed *lock, struct merged_log *log, bool *gone,
		    struct error *err)
{
	struct log_reply history = {0};
	struct request request;
	struct lock_keys keys;
	int result;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	strcpy(f->query->after, lock->after);
	log_reply_request(f->query, &keys, &request);
	connection_trace_ask(lock->client, "for the log of lock", keys.shown);
	if (client_call(lock->client, &request, follow_until_ms(f), false, err) < 0)
		return -1;
	result = log_reply_read(&history, f->query, lock->client->reply, err);
	if (result == 0) {
		*gone = !*history.last_id;
		result = followed_take_new(lock, &history, err);
	}
	if (result == 0)
		result = merged_log_add(log, lock->name, &history, err);
	log_reply_free(&history);
	return result == 0 && *gone ? is_gone(f, lock, gone, err) : result;
}

/* If something else uses the name, the other logs are shown all the same. */
static int read_or_tell(struct follower *f, struct followed *lock, struct merged_log *log,
			bool *gone, struct error *err)
{
	if (read_log(f, lock, log, gone, err) == 0)
		return 0;
	if (err->status != STATUS_CONFIG && err->status != STATUS_USAGE)
		return -1;
	if (!lock->is_told)
		complain("%s", err->text);
	lock->is_told = true;
	return 0;
}

static int read_changed(struct follower *f, struct merged_log *log, struct error *err)
{
	for (size_t i = f->locks.count; i > 0; i--) {
		struct followed *lock = &f->locks.list[i - 1];
		bool gone = false;

		if (!lock->is_due)
			continue;
		lock->is_due = false;
		if (cluster_nodes_has_lost(&f->nodes, lock->client))
			continue;
		if (read_or_tell(f, lock, log, &gone, err) < 0)
			return -1;
		if (has_strayed(f, lock->client))
			f->again_ms = earliest(f->again_ms, clock_ms() + RETRY_MAX_MS);
		if (gone)
			followed_remove(&f->locks, lock);
	}
	return 0;
}

/* Prints the events that it has read even if it lost a node meanwhile, because it does not read
 * them again. */
int follow_print_changed(struct follower *f, struct error *err)
{
	struct merged_log log = {0};
	struct error failure;
	int read, result = 0;

	read = read_changed(f, &log, &failure);
	merged_log_sort(&log);
	for (size_t i = 0; result == 0 && i < log.count; i++)
		result = log_table_add(f->table, log.list[i].name, &log.list[i].event, err);
	if (result == 0)
		table_flush(f->table);
	merged_log_free(&log);
	f->read_ms = clock_ms() + PAUSE_MS;
	if (result == 0 && read < 0)
		*err = failure;
	return result == 0 ? read : result;
}
