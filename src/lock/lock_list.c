/* The server has no list of locks, but each lock that fairlock has used lately has a state hash
 * with the lock's name, and a log: a scan goes through all keys for them. */
#include "lock/lock_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/natural_order.h"
#include "cli/nearest.h"
#include "lock/lock.h"
#include "redis/client_call.h"
#include "redis/cluster_nodes.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/server_url.h"

/* During one step of a scan the server serves no other client. */
#define KEYS_PER_STEP "1000"

/* No real server has more: a scan must come to an end, whatever a server says. */
#define SCAN_STEPS_MAX (1 << 20)
#define NAMES_MAX (1 << 20)

/* The keys that a lock is known by. */
struct kind {
	const char *pattern;
	const char *type; /* of the keys; NULL: any, and the caller tells of one that is amiss */
	const char *question; /* as a step tells it */
	int (*add)(struct lock_list *names, const char *key, struct client *client,
		   int64_t until_ms, struct error *err);
};

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot list locks: %s", strerror(ENOMEM));
}

static int add(struct lock_list *names, const char *name, struct client *client, struct error *err)
{
	struct found *list = reallocarray(names->list, names->count + 1, sizeof(*list));
	char *copy;

	if (!list)
		return no_memory(err);
	names->list = list;
	copy = strdup(name);
	if (!copy)
		return no_memory(err);
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

static int ask(struct client *client, const struct request *request, int64_t until_ms,
	       struct error *err)
{
	return client_call(client, request, earliest(clock_ms() + client->timeout_ms, until_ms),
			   false, err);
}

/* A real server's cursor is a number, and differs from the one before. */
static int move_cursor(char cursor[24], const char *next)
{
	size_t digits = strspn(next, "0123456789");

	if (digits == 0 || digits >= 24 || next[digits] != '\0' || strcmp(cursor, next) == 0)
		return -1;
	memcpy(cursor, next, digits + 1);
	return 0;
}

/* One step of the scan; adds to *keys. cursor is "0" after the last step. */
static int scan(struct lock_list *keys, char cursor[24], const struct kind *kind,
		struct client *client, int64_t until_ms, struct error *err)
{
	const struct request request = {
		.argv = {"SCAN", cursor, "MATCH", kind->pattern, "COUNT", KEYS_PER_STEP, "TYPE",
			 kind->type},
		.argc = kind->type ? 8 : 6,
	};

	if (ask(client, &request, until_ms, err) < 0)
		return -1;
	const struct redisReply *found = reply_at(client->reply, 1);

	if (!reply_fits(client->reply, "sl") || reply_count(found) > NAMES_MAX - keys->count)
		return reply_nonsense(err);
	/* the first step may be the last one */
	if (strcmp(reply_text(client->reply, 0), "0") == 0)
		strcpy(cursor, "0");
	else if (move_cursor(cursor, reply_text(client->reply, 0)) < 0)
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(found); i++)
		if (add(keys, reply_text(found, i), client, err) < 0)
			return -1;
	return 0;
}

/* Adds the lock's name if the key is a state hash, and not another program's. */
static int add_name(struct lock_list *names, const char *key, struct client *client,
		    int64_t until_ms, struct error *err)
{
	const struct request request = {.argv = {"HGET", key, "name"}, .argc = 3};
	struct lock_keys derived;
	struct error ignored;
	const char *name;

	if (ask(client, &request, until_ms, err) < 0)
		return -1;
	name = reply_string(client->reply);
	if (!name || lock_keys_make(&derived, name, &ignored) < 0 ||
	    strcmp(derived.state, key) != 0)
		return 0;
	return add(names, name, client, err);
}

static bool has_log(struct lock_keys *derived, const char *name, const char *key)
{
	struct error ignored;

	return name && lock_keys_make(derived, name, &ignored) == 0 &&
	       strcmp(derived->log, key) == 0;
}

/* The name is as the state hash of the lock spells it, or else the shorter of the two that it may
 * have. */
int lock_list_add_logged(struct lock_list *names, const char *key, struct client *client,
			 int64_t until_ms, struct error *err)
{
	const char *rest;
	struct lock_keys derived;
	char name[KEY_MAX_BYTES];
	const struct request request = {.argv = {"HGET", derived.state, "name"}, .argc = 3};

	/* a server may answer with any text */
	if (strncmp(key, LOG_PREFIX, strlen(LOG_PREFIX)) != 0)
		return 0;
	rest = key + strlen(LOG_PREFIX);
	if (strlen(rest) >= sizeof(name))
		return 0;
	strcpy(name, rest);
	if (*rest == '{' && rest[strlen(rest) - 1] == '}') {
		strcpy(name, rest + 1);
		name[strlen(name) - 1] = '\0';
	}
	if (!has_log(&derived, name, key)) {
		strcpy(name, rest);
		if (!has_log(&derived, name, key))
			return 0;
	}
	/* if its state is no hash, the caller's question for the log tells it */
	if (ask(client, &request, until_ms, err) < 0)
		return err->status == STATUS_CONFIG ? add(names, name, client, err) : -1;
	if (has_log(&derived, reply_string(client->reply), key))
		return add(names, reply_string(client->reply), client, err);
	return add(names, name, client, err);
}

static const struct kind states = {"fairlock:*", "hash", "which locks there are", add_name};
static const struct kind logs = {LOG_PREFIX "*", NULL, "which locks have a log",
				 lock_list_add_logged};

/* Adds the locks of one node. */
static int find_at(struct lock_list *names, const struct kind *kind, struct client *client,
		   int64_t until_ms, struct error *err)
{
	struct lock_list keys = {0};
	char cursor[24] = "0";
	int steps = 0, result;

	do
		result = ++steps > SCAN_STEPS_MAX
				 ? reply_nonsense(err)
				 : scan(&keys, cursor, kind, client, until_ms, err);
	while (result == 0 && strcmp(cursor, "0") != 0);
	for (size_t i = 0; result == 0 && i < keys.count; i++)
		result = kind->add(names, keys.list[i].name, client, until_ms, err);
	lock_list_free(&keys);
	return result;
}

static int find(struct lock_list *names, const struct kind *kind, struct cluster_nodes *nodes,
		int64_t until_ms, struct error *err)
{
	const int64_t begun_ms = clock_ms();
	char took[DURATION_MAX_BYTES];
	int result = 0;

	*names = (struct lock_list){0};
	for (size_t i = 0; result == 0 && i < nodes->count; i++) {
		struct client *client = &nodes->clients[i];

		if (cluster_nodes_has_lost(nodes, client))
			continue;
		connection_trace_ask(client, kind->question, "");
		result = find_at(names, kind, client, until_ms, err);
		if (result < 0 && cluster_nodes_lose(nodes, client, err))
			result = 0;
	}
	sort(names);
	if (result == 0 && nodes->messenger)
		message_step(nodes->messenger, "found %zu lock%s after %s", names->count,
			     names->count == 1 ? "" : "s",
			     duration_show(took, clock_ms() - begun_ms));
	return result;
}

int lock_list_find(struct lock_list *names, struct cluster_nodes *nodes, int64_t until_ms,
		   struct error *err)
{
	return find(names, &states, nodes, until_ms, err);
}

int lock_list_find_logs(struct lock_list *names, struct cluster_nodes *nodes, int64_t until_ms,
			struct error *err)
{
	return find(names, &logs, nodes, until_ms, err);
}

bool lock_list_is_reachable(const struct server *server)
{
	struct error ignored;
	int folder, fd;

	if (server->kind != SERVER_LOCAL)
		return true;
	folder = local_server_open(&ignored);
	if (folder < 0)
		return false;
	fd = local_server_connect(folder);
	close(folder);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void lock_list_find_quickly(struct lock_list *names, const struct server *server)
{
	const int64_t until_ms = clock_ms() + PROMPT_MS;
	struct cluster_nodes nodes;
	struct error ignored;

	*names = (struct lock_list){0};
	if (!lock_list_is_reachable(server))
		return;
	if (cluster_nodes_open(&nodes, server, NULL, PROMPT_MS, until_ms, &ignored) == 0)
		lock_list_find(names, &nodes, until_ms, &ignored);
	cluster_nodes_close(&nodes);
}

static void tell_unknown(const struct server *server, const struct lock_keys *keys)
{
	struct lock_list names;
	struct nearest nearest;

	lock_list_find_quickly(&names, server);
	nearest_begin(&nearest, keys->name);
	for (size_t i = 0; i < names.count; i++)
		nearest_try(&nearest, names.list[i].name);
	lock_list_free(&names);
	complain("no lock %s is known%s%s%s", keys->shown, *nearest.best ? ", did you mean " : "",
		 nearest.best, *nearest.best ? "?" : "");
}

/* PTTL is what a user that may only look may call. If the server refuses it, the lock counts as
 * known. */
int lock_list_check(struct client *client, const struct lock_keys *keys, bool *is_known,
		    struct error *err)
{
	const char *const all[] = {keys->state,    keys->log,     keys->name, keys->queue,
				   keys->timeouts, keys->holders, keys->ours};

	*is_known = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct request request = {.argv = {"PTTL", all[i]}, .argc = 2};

		if (ask(client, &request, NEVER_MS, err) < 0)
			return err->status == STATUS_REFUSED ? 0 : -1;
		if (reply_integer(client->reply) != -2)
			return 0;
	}
	*is_known = false;
	tell_unknown(client->connection.server, keys);
	return 0;
}
