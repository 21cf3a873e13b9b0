/* Each node has two connections: over one it tells which logs have changed, over the other one they
 * are read. When a node is lost or slots have moved, all is opened and looked through again; what
 * was printed before is known. */
#include "history/follow_all.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "history/follow_state.h"
#include "lock/lock_keys.h"
#include "lock/lock_list.h"
#include "output/timestamp.h"
#include "redis/client_call.h"
#include "redis/reply.h"
#include "redis/tracking.h"

/* How often a cluster is asked where its slots are. */
#define LOOK_MS 10000

/* While a part of a cluster cannot be seen, how long it is left so at least. */
#define GAP_MS 5000

/* The first pause between two attempts to reach a server that is away, or drops us. */
#define RETRY_MIN_MS 100

/* After it was there for so long, a server that drops us is tried again at once. */
#define STEADY_MS 5000

bool follow_has_no_reader(void)
{
	struct pollfd slot = {.fd = STDOUT_FILENO};

	return poll(&slot, 1, 0) > 0 && (slot.revents & POLLERR) != 0;
}

static void tell_once(struct follower *f, const struct error *err)
{
	if (!f->is_told)
		complain("%s", err->text);
	f->is_told = true;
}

/* ---- Opening ---- */

/* The node of a client is left out from now on if it is one of a cluster. */
static int lose(struct follower *f, const struct client *client, const struct error *err)
{
	return cluster_nodes_lose(&f->nodes, client, err) ? 0 : -1;
}

static int start_tracking(struct follower *f, struct error *err)
{
	const size_t count = f->nodes.count;

	f->trackings = calloc(count, sizeof(*f->trackings));
	f->slots = calloc(count + 1, sizeof(*f->slots));
	if (!f->trackings || !f->slots)
		return fail(err, STATUS_OS, "cannot follow the logs: %s", strerror(ENOMEM));
	for (size_t i = 0; i < count; i++) {
		const struct client *client = &f->nodes.clients[i];

		if (tracking_start(&f->trackings[i], client->connection.server, LOG_PREFIX,
				   client->timeout_ms, follow_until_ms(f), err) < 0 &&
		    lose(f, client, err) < 0)
			return -1;
	}
	return 0;
}

static int add_lock(struct follower *f, const char *name, struct client *client, struct error *err)
{
	struct lock_keys keys;
	struct followed *lock;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	lock = followed_add(&f->locks, name, keys.log, err);
	if (!lock)
		return -1;
	lock->client = client;
	lock->is_due = true;
	return 0;
}

static int find_locks(struct follower *f, struct error *err)
{
	struct lock_list names = {0};
	int result = lock_list_find_logs(&names, &f->nodes, NEVER_MS, err);

	for (size_t i = 0; result == 0 && i < names.count; i++)
		result = add_lock(f, names.list[i].name, names.list[i].client, err);
	lock_list_free(&names);
	return result;
}

/* A hung node of a cluster delays the others each time that it is tried. */
static void look_for_gaps(struct follower *f, int64_t begun_ms)
{
	const int64_t took_ms = clock_ms() - begun_ms;
	struct error gaps;

	f->again_ms = NEVER_MS;
	if (cluster_nodes_check(&f->nodes, &gaps) < 0) {
		tell_once(f, &gaps);
		f->again_ms = clock_ms() + GAP_MS + 4 * took_ms;
	} else {
		f->is_told = false;
	}
}

/* --since counts from the beginning, and not from the first log that is read. */
static int begin_query(struct follower *f, struct error *err)
{
	static const struct request request = {.argv = {"TIME"}, .argc = 1};
	struct client *client = f->nodes.clients;
	int64_t seconds;

	if (f->nodes.count == 0 || cluster_nodes_has_lost(&f->nodes, client))
		return 0;
	if (client_call(client, &request, follow_until_ms(f), false, err) < 0)
		return lose(f, client, err);
	seconds = log_reply_number(reply_text(client->reply, 0));
	if (seconds == UNKNOWN_MS || seconds > TIMESTAMP_LAST_MS / 1000)
		return reply_nonsense(err);
	log_query_begin(f->query,
			seconds * 1000 + log_reply_number(reply_text(client->reply, 1)) / 1000);
	return 0;
}

/* Changes are told before the logs are read, so that none is missed. */
static int open_all(struct follower *f, struct error *err)
{
	const int64_t begun_ms = clock_ms();
	int result;

	for (size_t i = 0; i < f->locks.count; i++) {
		f->locks.list[i].is_due = false; /* its node may have another place now */
		f->locks.list[i].client = NULL;
	}
	result = cluster_nodes_open(&f->nodes, f->server, f->messenger,
				    f->options->connect_timeout_ms, follow_until_ms(f), err);
	if (result == 0)
		result = start_tracking(f, err);
	if (result == 0)
		result = begin_query(f, err);
	if (result == 0)
		result = find_locks(f, err);
	if (result == 0)
		look_for_gaps(f, begun_ms);
	f->read_ms = 0;
	f->look_ms = f->nodes.owners ? clock_ms() + LOOK_MS : NEVER_MS;
	return result;
}

static void close_all(struct follower *f)
{
	for (size_t i = 0; f->trackings && i < f->nodes.count; i++)
		tracking_close(&f->trackings[i]);
	free(f->trackings);
	free(f->slots);
	f->trackings = NULL;
	f->slots = NULL;
	cluster_nodes_close(&f->nodes);
}

/* ---- Waiting ---- */

static int note_change(struct follower *f, const char *key, struct client *client,
		       struct error *err)
{
	struct followed *lock = followed_find(&f->locks, key);
	struct lock_list names = {0};
	int result = 0;

	if (lock) {
		lock->client = client;
		lock->is_due = true;
		return 0;
	}
	result = lock_list_add_logged(&names, key, client, follow_until_ms(f), err);
	if (result == 0 && names.count > 0)
		result = add_lock(f, names.list[0].name, client, err);
	lock_list_free(&names);
	return result;
}

static void note_all(struct follower *f, const struct client *client)
{
	for (size_t i = 0; i < f->locks.count; i++)
		f->locks.list[i].is_due |= f->locks.list[i].client == client;
}

/* Notes what one node tells. Returns 1 if the node is lost. */
static int hear(struct follower *f, size_t node, struct error *err)
{
	struct tracking *tracking = &f->trackings[node];
	struct client *client = &f->nodes.clients[node];

	for (;;) {
		switch (tracking_step(tracking)) {
		case TRACKING_NOTHING:
			return 0;
		case TRACKING_LOST:
			return 1;
		case TRACKING_CHANGED:
			if (!tracking_key(tracking, 0))
				note_all(f, client);
			for (size_t i = 0; tracking_key(tracking, i); i++)
				if (note_change(f, tracking_key(tracking, i), client, err) < 0)
					return -1;
		}
	}
}

static int hear_all(struct follower *f, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < f->nodes.count; i++)
		if (!cluster_nodes_has_lost(&f->nodes, &f->nodes.clients[i]))
			result = hear(f, i, err);
	return result;
}

static bool has_changes(const struct follower *f)
{
	for (size_t i = 0; i < f->locks.count; i++)
		if (f->locks.list[i].is_due)
			return true;
	return false;
}

static void await_change(struct follower *f)
{
	const size_t count = f->nodes.count;
	int64_t wake_ms = earliest(f->look_ms, f->again_ms);

	for (size_t i = 0; i < count; i++) {
		f->slots[i] = (struct pollfd){.fd = -1};
		if (!cluster_nodes_has_lost(&f->nodes, &f->nodes.clients[i]))
			wake_ms = earliest(wake_ms, tracking_wait(&f->trackings[i], &f->slots[i]));
	}
	if (has_changes(f))
		wake_ms = earliest(wake_ms, f->read_ms);
	f->slots[count] = (struct pollfd){.fd = STDOUT_FILENO};
	const int64_t left_ms = wake_ms - clock_ms();

	poll(f->slots, count + 1, left_ms < 0 ? 0 : left_ms > LOOK_MS ? LOOK_MS : (int)left_ms);
}

/* Returns 0 when nobody reads our output, 1 when all is to be opened again, or -1. */
static int listen_to_all(struct follower *f, struct error *err)
{
	for (;;) {
		const int heard = hear_all(f, err);
		const bool is_first = f->read_ms == 0;

		if (heard != 0)
			return heard;
		if ((is_first || has_changes(f)) && clock_ms() >= f->read_ms &&
		    follow_print_changed(f, err) < 0)
			return -1;
		if (ferror(stdout) || follow_has_no_reader())
			return 0;
		if (clock_ms() >= f->look_ms) {
			f->look_ms = clock_ms() + LOOK_MS;
			if (cluster_nodes_have_moved(&f->nodes, follow_until_ms(f)))
				return 1;
		}
		if (clock_ms() >= f->again_ms)
			return 1;
		await_change(f);
	}
}

/* Tells an outage once, if it lasts. */
static void tell_outage(struct follower *f, const struct error *err)
{
	if (!f->away_ms)
		f->away_ms = clock_ms();
	if (clock_ms() - f->away_ms >= f->options->connect_timeout_ms)
		tell_once(f, err);
}

/* A server may be away, or drop us again and again. */
static void pause_before_retry(int64_t *retry_ms)
{
	struct pollfd slot = {.fd = STDOUT_FILENO};

	poll(&slot, 1, (int)*retry_ms);
	*retry_ms = *retry_ms ? earliest(2 * *retry_ms, RETRY_MAX_MS) : RETRY_MIN_MS;
}

static int follow(struct follower *f, struct error *err)
{
	int64_t retry_ms = 0;
	bool was_there = false;
	int result;

	do {
		result = open_all(f, err);
		if (result == 0) {
			const int64_t begun_ms = clock_ms();

			was_there = true;
			f->away_ms = 0;
			result = listen_to_all(f, err);
			if (clock_ms() - begun_ms >= STEADY_MS)
				retry_ms = 0;
		}
		close_all(f);
		if (result < 0 && (!was_there || err->status != STATUS_UNAVAILABLE))
			return -1;
		if (result < 0)
			tell_outage(f, err);
		if (result != 0)
			pause_before_retry(&retry_ms);
	} while (result != 0 && !follow_has_no_reader());
	return 0;
}

int follow_all(const struct server *server, const struct options *options,
	       const struct messenger *messenger, struct log_query *query, struct table *table,
	       struct error *err)
{
	struct follower f = {.server = server,
			     .options = options,
			     .messenger = messenger,
			     .query = query,
			     .table = table};
	const int result = follow(&f, err);

	followed_free(&f.locks);
	return result;
}
