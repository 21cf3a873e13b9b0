/* Asks the scripts that status and queue ask. */
#include "lock/owner_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/lock_list.h"
#include "lock/wire.h"
#include "redis/client.h"
#include "redis/reply.h"

/* More are too many to choose from. */
#define OWNERS_MAX 1000

static void add(struct owner_list *owners, const char *id, const char *by, const char *slot)
{
	struct found_owner *list;

	if (owners->count == OWNERS_MAX || !owner_is_valid(id))
		return;
	list = reallocarray(owners->list, owners->count + 1, sizeof(*list));
	if (!list)
		return;
	owners->list = list;
	strcpy(list[owners->count].id, id); /* a valid one fits */
	snprintf(list[owners->count].slot, SLOT_MAX_BYTES, "%s", slot);
	owner_show(list[owners->count].about, MESSAGE_CHARACTERS, by);
	owners->count++;
}

static void add_waiters(struct owner_list *owners, const struct redisReply *reply)
{
	if (!reply_fits(reply, ""))
		return;
	for (size_t i = 0; i < reply_count(reply); i++)
		if (reply_fits(reply_at(reply, i), "sssii"))
			add(owners, reply_text(reply_at(reply, i), 0),
			    reply_text(reply_at(reply, i), 2), "");
}

/* The 19th element of the reply about the status has a row for each holder. */
static void add_holders(struct owner_list *owners, const struct redisReply *reply)
{
	const struct redisReply *rows = reply_at(reply, 18);

	for (size_t i = 0; i < reply_count(rows); i++)
		if (reply_fits(reply_at(rows, i), "siisssiis"))
			add(owners, reply_text(reply_at(rows, i), 0),
			    reply_text(reply_at(rows, i), 4), reply_text(reply_at(rows, i), 8));
}

static void ask(struct owner_list *owners, struct client *client, const char *name, bool waiters,
		int64_t until_ms)
{
	struct lock_keys keys;
	struct request request;
	struct error ignored;

	if (lock_keys_make(&keys, name, &ignored) < 0)
		return;
	wire_look(&keys, &request, waiters ? "queue" : "status");
	if (client_call(client, &request, until_ms, false, &ignored) < 0)
		return;
	if (waiters)
		add_waiters(owners, client->reply);
	else
		add_holders(owners, client->reply);
}

void owner_list_find_quickly(struct owner_list *owners, const struct server *server,
			     const char *name, bool waiters)
{
	const int64_t until_ms = clock_ms() + PROMPT_MS;
	struct lock_list names = {0};
	struct client client;

	*owners = (struct owner_list){0};
	if (!lock_list_is_reachable(server))
		return;
	if (!name)
		lock_list_find_quickly(&names, server);
	client_init(&client, server, PROMPT_MS);
	if (name)
		ask(owners, &client, name, waiters, until_ms);
	for (size_t i = 0; i < names.count && clock_ms() < until_ms; i++)
		ask(owners, &client, names.list[i].name, waiters, until_ms);
	client_close(&client);
	lock_list_free(&names);
}

void owner_list_free(struct owner_list *owners)
{
	free(owners->list);
	*owners = (struct owner_list){0};
}
