/* `log --follow`. For one lock a blocking XREAD tells that there is something new. For all locks
 * each node has two connections: over one it tells which logs have changed (CLIENT TRACKING), over
 * the other one they are read. (XREAD takes no logs of different slots of a cluster.) When a server
 * is lost or slots have moved, all is opened and read again; what was printed before is known. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/options.h"
#include "history/events.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "redis/client.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* How often a cluster is asked where its slots are, and a silent node whether it is still there. */
#define LOOK_MS 5000

/* While a part of a cluster cannot be seen, how long it is left so at least. */
#define GAP_MS 5000

/* The pause between two attempts to reach a server that is away, or drops us. */
#define RETRY_MS 1000

/* Events that follow each other within it are fetched together, and sorted by time. */
#define PAUSE_MS 200

/* How long the server keeps silent while nothing happens. */
#define BLOCK_MS 5000
#define BLOCK "5000"

/* So many entries of a lock are remembered: about twice as many as the server keeps. */
#define SEEN_MAX 2048

/* A lock that was silent for so long is forgotten: its log expires a week after its last use. */
#define FORGET_MS (INT64_C(10) * 24 * 3600 * 1000)

/* A lock whose log is followed, and the entries of it that were seen. */
struct followed {
	const char *key; /* of its log; stands behind the name. compare_keys reads it */
	struct followed *next;
	struct client *client;          /* of the node that has it */
	bool is_due;                    /* the server may have new entries */
	int64_t due_ms;                 /* when it was due last */
	bool is_told;                   /* the user knows why the log cannot be read */
	char after[ENTRY_ID_MAX_BYTES]; /* the last entry, see struct log_query */
	uint64_t ids[SEEN_MAX];         /* the latest, see id_of: a ring */
	size_t count;                   /* so many there were */
	char name[];
};

/* A connection over which a node tells which logs have changed. It carries no other requests: who
 * waits for a reply would miss a change. */
struct listener {
	struct client client; /* all zero: there is no connection */
	int64_t ask_ms;       /* when to ask whether the node is still there */
};

struct follower {
	const struct invocation *invocation;
	const struct lock_keys *keys; /* of the one lock; NULL: all are followed */
	struct log_query *query;
	struct table *table;
	struct followed *locks;
	void *by_key;         /* the same, a tree of tsearch(3) */
	struct client client; /* for the one lock */
	struct cluster_nodes nodes; /* for all locks */
	struct listener *listeners; /* one for each node */
	struct pollfd *slots;       /* the same, and standard output */
	int64_t look_ms;            /* when to ask where the slots are */
	int64_t again_ms;           /* when to open all again: there are gaps */
	int64_t tell_ms;            /* when to tell that the server is away */
	bool has_begun;             /* the first events were printed */
	bool is_told;               /* the user knows what cannot be seen */
};

static int64_t until_ms(const struct follower *f)
{
	return clock_ms() + f->invocation->options->connect_timeout_ms;
}

/* Without a new event no write would tell us that the reader of our output has gone. */
static bool has_no_reader(void)
{
	struct pollfd slot = {.fd = STDOUT_FILENO};

	return poll(&slot, 1, 0) > 0 && (slot.revents & POLLERR) != 0;
}

static void tell_once(bool *is_told, const struct error *err)
{
	if (!*is_told)
		complain("%s", err->text);
	*is_told = true;
}

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot follow the logs: %s", strerror(ENOMEM));
}

/* ---- Locks ---- */

/* Of two locks, or of a lock and the address of a key. */
static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lock with this log, or NULL. */
static struct followed *find_lock(const struct follower *f, const char *key)
{
	struct followed **at = tfind(&key, &f->by_key, compare_keys);

	return at ? *at : NULL;
}

/* Finds the lock, or begins to follow it. It is due then. */
static int add_lock(struct follower *f, const char *name, struct client *client, struct error *err)
{
	struct lock_keys keys;
	struct followed *lock;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	lock = find_lock(f, keys.log);
	if (!lock) {
		lock = calloc(1, sizeof(*lock) + strlen(name) + strlen(keys.log) + 2);
		if (!lock)
			return no_memory(err);
		strcpy(lock->name, name);
		lock->key = strcpy(lock->name + strlen(name) + 1, keys.log);
		lock->next = f->locks;
		f->locks = lock;
		if (!tsearch(lock, &f->by_key, compare_keys))
			return no_memory(err);
	}
	lock->client = client;
	lock->is_due = true;
	lock->due_ms = clock_ms();
	return 0;
}

static void forget_lock(struct follower *f, struct followed **at)
{
	struct followed *lock = *at;

	*at = lock->next;
	tdelete(lock, &f->by_key, compare_keys);
	free(lock);
}

/* ---- Opening ---- */

static int listen_to(struct follower *f, size_t node, struct error *err)
{
	const struct request request = {
		.argv = {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", LOG_PREFIX}, .argc = 6};
	const struct client *reader = &f->nodes.clients[node];
	struct listener *listener = &f->listeners[node];

	client_init(&listener->client, reader->connection.server, reader->timeout_ms);
	if (client_call(&listener->client, &request, until_ms(f), false, err) < 0)
		return cluster_nodes_lose(&f->nodes, reader, err) ? 0 : -1;
	listener->client.tracks = true;
	listener->ask_ms = clock_ms() + LOOK_MS;
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

/* Changes are told before the logs are read, so that none is missed. */
static int open_all(struct follower *f, struct error *err)
{
	const int64_t begun_ms = clock_ms();
	struct error gaps;

	if (f->keys)
		return add_lock(f, f->keys->name, &f->client, err);
	for (struct followed *lock = f->locks; lock; lock = lock->next) {
		lock->is_due = false; /* its node may have another place now */
		lock->client = NULL;
	}
	if (cluster_nodes_open(&f->nodes, f->invocation->server, f->invocation->messenger,
			       f->invocation->options->connect_timeout_ms, until_ms(f), err) < 0)
		return -1;
	f->listeners = calloc(f->nodes.count + 1, sizeof(*f->listeners));
	f->slots = calloc(f->nodes.count + 1, sizeof(*f->slots));
	if (!f->listeners || !f->slots)
		return no_memory(err);
	for (size_t i = 0; i < f->nodes.count; i++)
		if (listen_to(f, i, err) < 0)
			return -1;
	if (find_locks(f, err) < 0)
		return -1;
	f->look_ms = clock_ms() + LOOK_MS;
	f->again_ms = NEVER_MS;
	if (cluster_nodes_check(&f->nodes, &gaps) < 0) {
		tell_once(&f->is_told, &gaps);
		/* a hung node delays the others each time that it is tried */
		f->again_ms = clock_ms() + GAP_MS + 4 * (clock_ms() - begun_ms);
	}
	return 0;
}

static void close_all(struct follower *f)
{
	for (size_t i = 0; f->listeners && i < f->nodes.count; i++)
		if (f->listeners[i].client.connection.server)
			client_close(&f->listeners[i].client);
	free(f->listeners);
	free(f->slots);
	f->listeners = NULL;
	f->slots = NULL;
	cluster_nodes_close(&f->nodes);
}

/* ---- Reading ---- */

/* MS-SEQUENCE as one number: in a millisecond there is never a million of entries. */
static uint64_t id_of(const struct log_event *event)
{
	char *end;
	const uint64_t ms = strtoull(event->texts[EVENT_ID], &end, 10);

	return (ms << 20) + (*end ? strtoull(end + 1, NULL, 10) : 0);
}

static bool is_known(const struct followed *lock, uint64_t id)
{
	for (size_t i = 0; i < lock->count && i < SEEN_MAX; i++)
		if (lock->ids[i] == id)
			return true;
	return false;
}

/* Takes the events from the first-th on out of the history if they were seen before, and remembers
 * the others. A server that has lost its latest entries, or whose log begins anew, sends all that
 * it has. */
static void take_new(struct followed *lock, struct history *history, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < history->count; i++) {
		const uint64_t id = id_of(&history->events[i]);

		if (is_known(lock, id)) {
			free(history->events[i].block);
			continue;
		}
		lock->ids[lock->count++ % SEEN_MAX] = id;
		history->events[kept++] = history->events[i];
	}
	history->count = kept;
}

static int read_log(struct follower *f, struct followed *lock, struct history *history,
		    struct error *err)
{
	const size_t first = history->count;
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	strcpy(f->query->after, lock->after);
	if (history_fetch(history, lock->client, f->query, &keys, err) < 0)
		return -1;
	if (*history->last_id)
		strcpy(lock->after, history->last_id);
	take_new(lock, history, first);
	return 0;
}

/* If something else uses the name of one of all locks, the other logs are shown all the same. */
static int read_changed(struct follower *f, struct history *history, struct error *err)
{
	struct followed **at = &f->locks;

	while (*at) {
		struct followed *lock = *at;
		const bool is_due = lock->is_due;

		lock->is_due = false;
		if (is_due && !cluster_nodes_has_lost(&f->nodes, lock->client) &&
		    read_log(f, lock, history, err) < 0) {
			if (f->keys ||
			    (err->status != STATUS_CONFIG && err->status != STATUS_USAGE))
				return -1;
			tell_once(&lock->is_told, err);
		}
		if (clock_ms() - lock->due_ms > FORGET_MS)
			forget_lock(f, at);
		else
			at = &lock->next;
	}
	return 0;
}

/* Prints the new events of the logs that have changed, those of several in the order of their
 * times. It does so even if it lost a server meanwhile, because it does not read them again. */
static int print_changed(struct follower *f, struct error *err)
{
	struct history history = {0};
	int result = read_changed(f, &history, err);
	struct error failure;
	bool is_known;

	if (!f->keys)
		history_sort(&history);
	if (history_add_lines(&history, f->table, f->invocation->options, !f->has_begun, &failure) <
	    0) {
		*err = failure;
		result = -1;
	}
	table_flush(f->table);
	/* an empty log may be that of a wrong name */
	if (f->keys && !f->has_begun && result == 0 && history.count == 0)
		lock_list_check(&f->client, f->keys, &is_known, &failure);
	history_free(&history);
	if (result < 0)
		return -1;
	f->has_begun = true;
	if (f->query->from_ms == UNKNOWN_MS)
		f->query->since[0] = '\0'; /* there is no log yet, so nothing to come is too old */
	f->tell_ms = NEVER_MS;
	if (f->again_ms == NEVER_MS)
		f->is_told = false;
	return 0;
}

/* ---- Waiting ---- */

/* A log has changed. */
static int note_change(struct follower *f, const char *key, struct client *client,
		       struct error *err)
{
	const struct followed *lock = find_lock(f, key);
	struct lock_list names = {0};
	int result = 0;

	if (lock)
		return add_lock(f, lock->name, client, err);
	result = lock_list_add_logged(&names, key, client, until_ms(f), err);
	if (result == 0 && names.count > 0)
		result = add_lock(f, names.list[0].name, client, err);
	lock_list_free(&names);
	return result;
}

/* Without a list all keys may have changed (FLUSHALL). */
static int note_changes(struct follower *f, const struct redisReply *keys, struct client *client,
			struct error *err)
{
	for (struct followed *lock = f->locks; lock && reply_count(keys) == 0; lock = lock->next)
		lock->is_due |= lock->client == client;
	for (size_t i = 0; i < reply_count(keys); i++)
		if (note_change(f, reply_text(keys, i), client, err) < 0)
			return -1;
	return 0;
}

/* Notes what a node tells. Returns 0, 1 if the node is lost, or -1. */
static int hear(struct follower *f, size_t node, struct error *err)
{
	static const struct request request = {.argv = {"TIME"}, .argc = 1};
	struct listener *listener = &f->listeners[node];
	struct client *client = &listener->client;

	if (clock_ms() >= listener->ask_ms) {
		client_request(client, &request);
		listener->ask_ms = NEVER_MS;
	}
	for (;;) {
		switch (client_step(client)) {
		case CLIENT_NOTHING:
			return !client_has_greeted(client);
		case CLIENT_CHANGED:
			if (note_changes(f, client->reply, &f->nodes.clients[node], err) < 0)
				return -1;
			break;
		case CLIENT_REPLY:
			listener->ask_ms = clock_ms() + LOOK_MS;
			break;
		case CLIENT_MESSAGE:
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			return 1;
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

/* Sleeps until the log of the one lock may have something new, for BLOCK_MS at most. */
static int await_entry(struct follower *f, struct error *err)
{
	const int64_t from_ms = f->query->from_ms;
	struct client *client = &f->client;
	char start[ENTRY_ID_MAX_BYTES];
	const char *after = *f->locks->after ? f->locks->after : start;
	const struct request request = {
		.argv = {"XREAD", "COUNT", "1", "BLOCK", BLOCK, "STREAMS", f->keys->log, after},
		.argc = 8,
	};
	int result;

	/* no entry that is too old is to wake us */
	snprintf(start, sizeof(start), "%" PRId64 "-0", from_ms > 0 ? from_ms - 1 : 0);
	client->timeout_ms += BLOCK_MS;
	result = client_call(client, &request, NEVER_MS, false, err);
	client->timeout_ms -= BLOCK_MS;
	return result == 0 ? add_lock(f, f->keys->name, client, err) : -1;
}

/* Sleeps until a node tells something. Returns whether all is to be opened again. */
static bool await_change(struct follower *f)
{
	const size_t count = f->nodes.count;
	int64_t wake_ms = earliest(f->look_ms, f->again_ms), left_ms;

	for (size_t i = 0; i < count; i++) {
		struct listener *listener = &f->listeners[i];

		f->slots[i] = (struct pollfd){.fd = -1};
		if (cluster_nodes_has_lost(&f->nodes, &f->nodes.clients[i]))
			continue;
		wake_ms = earliest(wake_ms, client_wait(&listener->client, &f->slots[i]));
		wake_ms = earliest(wake_ms, listener->ask_ms);
	}
	f->slots[count] = (struct pollfd){.fd = STDOUT_FILENO};
	left_ms = wake_ms - clock_ms();
	poll(f->slots, count + 1, left_ms > 0 ? (int)left_ms : 0);
	if (clock_ms() >= f->again_ms)
		return true;
	if (clock_ms() < f->look_ms)
		return false;
	f->look_ms = clock_ms() + LOOK_MS;
	return cluster_nodes_have_moved(&f->nodes, until_ms(f));
}

/* Returns 0 when nobody reads our output, 1 when all is to be opened again, or -1. */
static int listen_to_all(struct follower *f, struct error *err)
{
	for (;;) {
		int result = hear_all(f, err);

		if (result == 0)
			result = print_changed(f, err);
		if (result != 0 || ferror(stdout) || has_no_reader())
			return result;
		poll(NULL, 0, PAUSE_MS);
		result = f->keys ? await_entry(f, err) : await_change(f);
		if (result != 0)
			return result;
	}
}

static int follow_all(struct follower *f, struct error *err)
{
	int result;

	do {
		result = open_all(f, err);
		if (result == 0)
			result = listen_to_all(f, err);
		close_all(f);
		if (result < 0 && (!f->has_begun || err->status != STATUS_UNAVAILABLE))
			return -1;
		if (result < 0)
			f->tell_ms = earliest(f->tell_ms, until_ms(f));
		if (result < 0 && clock_ms() >= f->tell_ms)
			tell_once(&f->is_told, err);
		if (result != 0)
			poll(NULL, 0, RETRY_MS);
	} while (result != 0 && !has_no_reader());
	return 0;
}

int follow(const struct invocation *invocation, const struct lock_keys *keys,
	   struct log_query *query, struct table *table, struct error *err)
{
	struct follower f = {
		.invocation = invocation,
		.keys = keys,
		.query = query,
		.table = table,
		.again_ms = NEVER_MS,
		.tell_ms = NEVER_MS,
	};
	int result;

	client_init(&f.client, invocation->server, invocation->options->connect_timeout_ms);
	f.client.connection.story.messenger = invocation->messenger;
	result = follow_all(&f, err);
	client_close(&f.client);
	while (f.locks)
		forget_lock(&f, &f.locks);
	if (result == 0 && has_no_reader())
		raise(SIGPIPE);
	return result;
}
