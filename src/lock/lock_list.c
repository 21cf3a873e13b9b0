/* The server has no list of locks, but each lock that fairlock has used lately has a state hash
 * with the lock's name, and a log: a scan goes through all keys for them. */
#include "lock/lock_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "cli/guess.h"
#include "lock/lock.h"
#include "redis/client.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"
#include "redis/server.h"

/* During one step of a scan the server serves no other client. */
#define KEYS_PER_STEP "1000"

/* The keys of the two parts begin so. */
#define STATE_PREFIX "fairlock:"
#define LOG_PREFIX "fairlock_log:"

/* Completion takes no longer: somebody waits at a prompt. */
#define PROMPT_MS 300

static int add(struct lock_list *names, const char *name, struct client *client, struct error *err)
{
	struct found *list = reallocarray(names->list, names->count + 1, sizeof(*list));
	char *copy = list ? strdup(name) : NULL;

	if (list)
		names->list = list;
	if (!copy)
		return fail(err, STATUS_OS, "cannot list locks: %s", strerror(ENOMEM));
	list[names->count++] = (struct found){.name = copy, .client = client};
	return 0;
}

void lock_list_free(struct lock_list *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i].name);
	free(names->list);
	*names = (struct lock_list){0};
}

static int compare(const void *a, const void *b)
{
	return natural_order(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* A scan may come by the same key twice. */
static void sort(struct lock_list *names)
{
	size_t kept = 0;

	if (names->count > 0)
		qsort(names->list, names->count, sizeof(*names->list), compare);
	for (size_t i = 0; i < names->count; i++)
		if (kept > 0 && strcmp(names->list[kept - 1].name, names->list[i].name) == 0)
			free(names->list[i].name);
		else
			names->list[kept++] = names->list[i];
	names->count = kept;
}

/* Moves on to the next step. A real server's cursor is a number, and differs from the one before;
 * the first step may be the last one. */
static int move_cursor(char cursor[24], const char *next)
{
	const size_t digits = strspn(next, "0123456789");

	if (digits == 0 || digits >= 24 || next[digits] != '\0' ||
	    (strcmp(cursor, next) == 0 && strcmp(next, "0") != 0))
		return -1;
	memcpy(cursor, next, digits + 1);
	return 0;
}

/* Adds the keys of one node. A key of a log that holds something else is added, too: the caller's
 * question for the log tells it. */
static int scan(struct lock_list *keys, enum lock_part part, struct client *client,
		int64_t until_ms, struct error *err)
{
	char cursor[24] = "0";
	const struct request request = {
		.argv = {"SCAN", cursor, "MATCH",
			 part == LOCK_LOG ? LOG_PREFIX "*" : STATE_PREFIX "*", "COUNT",
			 KEYS_PER_STEP, "TYPE", "hash"},
		.argc = part == LOCK_LOG ? 6 : 8,
	};

	do {
		if (client_ask(client, &request, until_ms, err) < 0)
			return -1;
		const struct redisReply *found = reply_at(client->reply, 1);

		if (!reply_fits(client->reply, "sl") ||
		    move_cursor(cursor, reply_text(client->reply, 0)) < 0)
			return reply_nonsense(err);
		for (size_t i = 0; i < reply_count(found); i++)
			if (add(keys, reply_text(found, i), client, err) < 0)
				return -1;
	} while (strcmp(cursor, "0") != 0);
	return 0;
}

/* Whether the keys of this lock end so. */
static bool is_name_of(const char *name, const char *end)
{
	struct lock_keys keys;
	struct error ignored;

	return name && lock_keys_make(&keys, name, &ignored) == 0 &&
	       strcmp(keys.state + strlen(STATE_PREFIX), end) == 0;
}

/* Adds the lock with this key of its state or log; nothing if it is another program's. The name is
 * as the state spells it. Of a lock that has only a log, it is the shorter of the two that it may
 * have. */
static int add_lock(struct lock_list *names, enum lock_part part, const char *key,
		    struct client *client, int64_t until_ms, struct error *err)
{
	const char *prefix = part == LOCK_LOG ? LOG_PREFIX : STATE_PREFIX, *name = NULL;
	const char *end = key + strlen(prefix);
	char state[KEY_MAX_BYTES], guess[KEY_MAX_BYTES];
	const struct request request = {.argv = {"HGET", state, "name"}, .argc = 3};

	/* a server may answer with any text */
	if (strncmp(key, prefix, strlen(prefix)) != 0 || strlen(end) > NAME_MAX_BYTES + 2)
		return 0;
	snprintf(state, sizeof(state), STATE_PREFIX "%s", end);
	snprintf(guess, sizeof(guess), "%s", end + (*end == '{'));
	guess[strcspn(guess, "}")] = '\0';
	if (!is_name_of(guess, end))
		snprintf(guess, sizeof(guess), "%s", end);
	if (part == LOCK_LOG && !is_name_of(guess, end))
		return 0;
	if (client_ask(client, &request, until_ms, err) == 0)
		name = reply_string(client->reply);
	else if (part == LOCK_STATE || err->status != STATUS_CONFIG)
		return -1;
	if (is_name_of(name, end))
		return add(names, name, client, err);
	return part == LOCK_LOG ? add(names, guess, client, err) : 0;
}

/* Adds the locks of one node. */
static int find_at(struct lock_list *names, enum lock_part part, struct client *client,
		   int64_t until_ms, struct error *err)
{
	struct lock_list keys = {0};
	int result = scan(&keys, part, client, until_ms, err);

	for (size_t i = 0; result == 0 && i < keys.count; i++)
		result = add_lock(names, part, keys.list[i].name, client, until_ms, err);
	lock_list_free(&keys);
	return result;
}

/* Asks the nodes for the names until until_ms. Goes on without nodes of a cluster that do not
 * answer. Returns 0, or -1 with what it found before something failed. Call lock_list_free in both
 * cases. */
static int lock_list_find(struct lock_list *names, enum lock_part part, struct cluster_nodes *nodes,
			  int64_t until_ms, struct error *err)
{
	const char *question =
		part == LOCK_LOG ? "which locks have a log" : "which locks there are";
	int result = 0;

	*names = (struct lock_list){0};
	for (size_t i = 0; result == 0 && i < nodes->count; i++) {
		struct client *client = &nodes->list[i].client;

		if (cluster_nodes_has_lost(nodes, client))
			continue;
		message_step(nodes->messenger, "asking %s", question);
		if (find_at(names, part, client, until_ms, err) < 0 &&
		    !cluster_nodes_lose(nodes, client, err))
			result = -1;
	}
	sort(names);
	if (result == 0)
		message_step(nodes->messenger, "found %zu lock%s", names->count,
			     names->count == 1 ? "" : "s");
	return result;
}

int for_each_lock(struct cluster_nodes *nodes, enum lock_part part, int64_t until_ms,
		  lock_visit *visit, void *data, struct error *err)
{
	struct lock_list names;
	int result = lock_list_find(&names, part, nodes, until_ms, err);

	for (size_t i = 0; result == 0 && i < names.count; i++) {
		const struct found *lock = &names.list[i];

		if (!cluster_nodes_has_lost(nodes, lock->client) &&
		    visit(data, lock->name, lock->client, err) < 0 &&
		    !cluster_nodes_lose(nodes, lock->client, err))
			result = -1;
	}
	lock_list_free(&names);
	return result;
}

void lock_list_find_quickly(struct lock_list *names, const struct server *server)
{
	const int64_t until_ms = clock_ms() + PROMPT_MS;
	struct cluster_nodes nodes;
	struct error ignored;

	*names = (struct lock_list){0};
	if (cluster_nodes_open(&nodes, server, NULL, PROMPT_MS, true, &ignored) == 0)
		lock_list_find(names, LOCK_STATE, &nodes, until_ms, &ignored);
	cluster_nodes_close(&nodes);
}

/* PTTL is what a user that may only look may call. If the server refuses it, the lock counts as
 * known. */
int lock_list_check(struct client *client, const struct lock_keys *keys, bool *is_known,
		    struct error *err)
{
	const char *const all[] = {keys->state,    keys->log,     keys->name, keys->queue,
				   keys->timeouts, keys->holders, keys->ours};
	struct lock_list names;
	char said[NEAREST_SAID_BYTES];
	struct nearest nearest;

	*is_known = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct request request = {.argv = {"PTTL", all[i]}, .argc = 2};

		if (client_ask(client, &request, NEVER_MS, err) < 0)
			return err->status == STATUS_REFUSED ? 0 : -1;
		if (reply_integer(client->reply) != -2)
			return 0;
	}
	*is_known = false;
	lock_list_find_quickly(&names, client->connection.server);
	nearest_begin(&nearest, keys->name);
	for (size_t i = 0; i < names.count; i++)
		nearest_try(&nearest, names.list[i].name);
	lock_list_free(&names);
	complain("no lock %s is known%s", keys->shown, nearest_say(said, &nearest, ""));
	return 0;
}

/* A script that says nothing of itself may write: from version 7 on, a server that takes no writes
 * (OOM, READONLY, MISCONF, NOREPLICAS) refuses to run it. So one that changes nothing tells. */
enum grants grants_ask(struct client *client, struct error *why)
{
	const struct request script = {.argv = {"EVAL", "#!lua\nreturn 1", "0"},
				       .argc = 3,
				       .question = "whether the server grants locks"};
	/* before version 7; there is no list to insert into */
	const struct request insert = {
		.argv = {"LINSERT", "redisson_lock_queue:{fairlock-doctor}", "BEFORE", "", ""},
		.argc = 5};
	int result = client_ask(client, &script, NEVER_MS, why);

	if (result < 0 && why->status == STATUS_BUG && !client->connection.handshake.is_cluster)
		result = client_ask(client, &insert, NEVER_MS, why);
	if (result == 0)
		return GRANTS_LOCKS;
	return why->status == STATUS_UNAVAILABLE ? GRANTS_NONE : GRANTS_NOT_KNOWN;
}
