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

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "history/log_table.h"
#include "history/merged_log.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/table.h"
#include "output/timestamp.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/connection_trace.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/tracking.h"

/* How often a cluster is asked where its slots are. */
#define LOOK_MS 10000

/* While a part of a cluster cannot be seen, how long it is left so at least. */
#define GAP_MS 5000

/* The first pause between two attempts to reach a server that is away, or drops us. */
#define RETRY_MIN_MS 100

/* The longest pause between two attempts to reach a server that is away. */
#define RETRY_MAX_MS 1000

/* After it was there for so long, a server that drops us is tried again at once. */
#define STEADY_MS 5000

/* Events that follow each other within it are fetched together, and sorted by time. */
#define PAUSE_MS 200

/* So many entries of a lock are remembered: about twice as many as the server keeps. */
#define SEEN_MAX 2048

/* The id of an entry of a stream, MS-SEQUENCE. */
struct entry_id {
	uint64_t ms;
	uint64_t sequence;
};

/* A lock whose log is followed, and the entries of it that were printed. */
struct followed {
	char *name;
	char *key;                      /* of its log */
	struct client *client;          /* of the node that has it */
	bool is_due;                    /* the server may have new entries */
	bool is_told;                   /* the user knows why the log cannot be read */
	char after[ENTRY_ID_MAX_BYTES]; /* the last entry, see struct log_query */
	struct entry_id newest;         /* the largest of ids */
	struct entry_id *ids; /* of the latest entries: the list is a ring when it is full */
	size_t count;         /* so many entries there were */
	size_t room;
};

/* In the order of their keys. */
struct followed_list {
	struct followed *list;
	size_t count;
	size_t room;
};

struct follower {
	const struct server *server;
	const struct options *options;
	const struct messenger *messenger;
	struct log_query *query;
	struct table *table;
	struct followed_list locks;
	struct cluster_nodes nodes;
	struct tracking *trackings; /* one for each node */
	struct pollfd *slots;       /* the same, and standard output */
	int64_t read_ms;            /* changed logs are not read before */
	int64_t look_ms;            /* when to ask where the slots are */
	int64_t again_ms;           /* when to open all again */
	int64_t away_ms;            /* since when the server is away; 0: it is there */
	bool has_begun;             /* the first events were printed */
	bool is_told;               /* the user knows what cannot be seen */
};

static int64_t until_ms(const struct follower *f)
{
	return clock_ms() + f->options->connect_timeout_ms;
}

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

/* ---- Locks ---- */

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot follow the logs: %s", strerror(ENOMEM));
}

/* The place of the first key that is not smaller. */
static size_t place_of(const struct followed_list *locks, const char *key)
{
	size_t from = 0, to = locks->count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (strcmp(locks->list[middle].key, key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_at(const struct followed_list *locks, size_t place, const char *key)
{
	return place < locks->count && strcmp(locks->list[place].key, key) == 0;
}

/* The lock with this log, or NULL. */
static struct followed *find_lock(const struct followed_list *locks, const char *key)
{
	const size_t place = place_of(locks, key);

	return is_at(locks, place, key) ? &locks->list[place] : NULL;
}

static void forget(struct followed *lock)
{
	free(lock->name);
	free(lock->key);
	free(lock->ids);
}

static int make_room(struct followed_list *locks)
{
	const size_t room = locks->room ? 2 * locks->room : 16;
	struct followed *list;

	if (locks->count < locks->room)
		return 0;
	list = reallocarray(locks->list, room, sizeof(*list));
	if (!list)
		return -1;
	locks->list = list;
	locks->room = room;
	return 0;
}

/* Finds or adds the lock, with copies of the texts. Other locks' addresses change. */
static struct followed *insert_lock(struct followed_list *locks, const char *name, const char *key,
				    struct error *err)
{
	const size_t place = place_of(locks, key);
	struct followed lock = {0}, *at;

	if (is_at(locks, place, key))
		return &locks->list[place];
	lock.name = strdup(name);
	lock.key = strdup(key);
	if (!lock.name || !lock.key || make_room(locks) < 0) {
		forget(&lock);
		no_memory(err);
		return NULL;
	}
	at = &locks->list[place];
	memmove(at + 1, at, (locks->count++ - place) * sizeof(*at));
	*at = lock;
	return at;
}

static void remove_lock(struct followed_list *locks, struct followed *lock)
{
	const size_t place = (size_t)(lock - locks->list);

	forget(lock);
	memmove(lock, lock + 1, (--locks->count - place) * sizeof(*lock));
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
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		const struct client *client = &f->nodes.clients[i];

		if (tracking_start(&f->trackings[i], client->connection.server, LOG_PREFIX,
				   client->timeout_ms, until_ms(f), err) < 0 &&
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
	lock = insert_lock(&f->locks, name, keys.log, err);
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
	if (client_call(client, &request, until_ms(f), false, err) < 0)
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
				    f->options->connect_timeout_ms, until_ms(f), err);
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

/* ---- Entries ---- */

static struct entry_id read_id(const char *text)
{
	struct entry_id id = {0};
	char *end;

	id.ms = strtoull(text, &end, 10);
	if (*end == '-')
		id.sequence = strtoull(end + 1, NULL, 10);
	return id;
}

static bool is_later(struct entry_id a, struct entry_id b)
{
	return a.ms > b.ms || (a.ms == b.ms && a.sequence > b.sequence);
}

static bool is_known(const struct followed *lock, struct entry_id id)
{
	if (is_later(id, lock->newest))
		return false;
	for (size_t i = 0; i < lock->count && i < SEEN_MAX; i++)
		if (lock->ids[i].ms == id.ms && lock->ids[i].sequence == id.sequence)
			return true;
	return false;
}

static int remember(struct followed *lock, struct entry_id id)
{
	const size_t room = lock->room ? 2 * lock->room : 8;
	struct entry_id *ids = lock->ids;

	if (lock->count == lock->room && lock->room < SEEN_MAX) {
		ids = reallocarray(ids, room, sizeof(*ids));
		if (!ids)
			return -1;
		lock->ids = ids;
		lock->room = room;
	}
	ids[lock->count++ % SEEN_MAX] = id;
	if (is_later(id, lock->newest))
		lock->newest = id;
	return 0;
}

/* Takes the entries out of *history that were printed before, and notes the others. A server that
 * has lost its latest entries, or whose log begins anew, sends all that it has. */
static int take_new(struct followed *lock, struct log_reply *history, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct entry_id id = read_id(history->events[i].id);

		if (is_known(lock, id))
			continue;
		if (remember(lock, id) < 0)
			return no_memory(err);
		history->events[kept++] = history->events[i];
	}
	history->count = kept;
	if (*history->last_id)
		strcpy(lock->after, history->last_id);
	return 0;
}

/* ---- Reading ---- */

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

	if (client_call(lock->client, &request, until_ms(f), false, err) < 0)
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
	if (client_call(lock->client, &request, until_ms(f), false, err) < 0)
		return -1;
	result = log_reply_read(&history, f->query, lock->client->reply, err);
	if (result == 0) {
		*gone = !*history.last_id;
		result = take_new(lock, &history, err);
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
			remove_lock(&f->locks, lock);
	}
	return 0;
}

/* Prints the new events of the logs that have changed, in the order of their times. It does so even
 * if it lost a node meanwhile, because it does not read them again. */
static int print_changed(struct follower *f, struct error *err)
{
	struct merged_log log = {0};
	struct error failure;
	int read, result = 0;

	read = read_changed(f, &log, &failure);
	merged_log_sort(&log);
	for (size_t i = f->has_begun ? 0 : log_table_first(f->options, log.count);
	     result == 0 && i < log.count; i++)
		result = log_table_add(f->table, log.list[i].name, &log.list[i].event, err);
	if (result == 0)
		table_flush(f->table);
	merged_log_free(&log);
	f->has_begun = true;
	f->read_ms = clock_ms() + PAUSE_MS;
	if (result == 0 && read < 0)
		*err = failure;
	return result == 0 ? read : result;
}

/* ---- Waiting ---- */

static int note_change(struct follower *f, const char *key, struct client *client,
		       struct error *err)
{
	struct followed *lock = find_lock(&f->locks, key);
	struct lock_list names = {0};
	int result = 0;

	if (lock) {
		lock->client = client;
		lock->is_due = true;
		return 0;
	}
	result = lock_list_add_logged(&names, key, client, until_ms(f), err);
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
		    print_changed(f, err) < 0)
			return -1;
		if (ferror(stdout) || follow_has_no_reader())
			return 0;
		if (clock_ms() >= f->look_ms) {
			f->look_ms = clock_ms() + LOOK_MS;
			if (cluster_nodes_have_moved(&f->nodes, until_ms(f)))
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

	for (size_t i = 0; i < f.locks.count; i++)
		forget(&f.locks.list[i]);
	free(f.locks.list);
	return result;
}
