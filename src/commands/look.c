/* The way to the locks: through one connection, or through one for each node of a cluster. */
#include "commands/look.h"

#include <string.h>

#include "base/clock.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/watch.h"
#include "redis/cluster_nodes.h"

static int ask(struct look *look, struct client *client, const char *name, struct error *err)
{
	struct lock_keys keys;
	struct request request;

	if (lock_keys_make(&keys, name, err) < 0)
		return -1;
	wire_look(&keys, &request, look->what);
	request.question = look->question;
	request.about = keys.shown;
	if (client_ask(client, &request, NEVER_MS, err) < 0)
		return -1;
	return look->show(look, &keys, client, err);
}

/* A key that something else uses, or a gap in a cluster, does not hide the other locks. */
static int ask_or_pass(void *data, const char *name, struct client *client, struct error *err)
{
	struct look *look = data;
	const int named = look->invocation->argc;
	bool is_gap;

	if (ask(look, client, name, err) == 0)
		return 0;
	is_gap = named > 1 && err->status == STATUS_UNAVAILABLE &&
		 client->connection.handshake.is_cluster;
	if (named == 1 || (err->status != STATUS_CONFIG && !is_gap))
		return -1;
	if (!look->is_watched)
		complain("%s", err->text);
	if (look->status == STATUS_OK || is_gap)
		look->status = (int)err->status;
	return 0;
}

/* A lock that is named twice is shown once. */
static int look_at_named(struct look *look, struct error *err)
{
	const struct invocation *invocation = look->invocation;
	struct client client;
	int result = 0;

	client_init(&client, invocation->server, look->is_watched ? NULL : invocation->messenger,
		    invocation->options->connect_timeout_ms);
	for (int i = 0; result == 0 && i < invocation->argc; i++) {
		bool is_double = false;

		for (int k = 0; k < i; k++)
			is_double |= strcmp(invocation->argv[k], invocation->argv[i]) == 0;
		if (!is_double)
			result = ask_or_pass(look, invocation->argv[i], &client, err);
	}
	if (result == 0 && look->status == STATUS_OK && look->ask_node)
		look->ask_node(look, &client);
	client_close(&client);
	return result;
}

static int look_at_all(struct look *look, struct error *err)
{
	const struct invocation *invocation = look->invocation;
	struct cluster_nodes nodes;
	int result = cluster_nodes_open(&nodes, invocation->server,
					look->is_watched ? NULL : invocation->messenger,
					invocation->options->connect_timeout_ms, false, err);

	if (result == 0)
		result = for_each_lock(&nodes, LOCK_STATE, NEVER_MS, ask_or_pass, look, err);
	for (size_t i = 0; result == 0 && look->ask_node && i < nodes.count; i++)
		if (!cluster_nodes_has_lost(&nodes, &nodes.list[i].client))
			look->ask_node(look, &nodes.list[i].client);
	if (nodes.owners)
		look->unseen = (int64_t)cluster_nodes_unseen(&nodes);
	if (result == 0 && cluster_nodes_check(&nodes, &look->trouble) < 0 &&
	    look->unseen == CLUSTER_SLOTS)
		result = look_end(look, &look->status, err);
	cluster_nodes_close(&nodes);
	return result;
}

int look_at_locks(struct look *look, struct error *err)
{
	look->unseen = -1;
	return look->invocation->argc > 0 ? look_at_named(look, err) : look_at_all(look, err);
}

/* The table is there in any case, or NULL. */
static int fill_table(struct look *look, struct error *err)
{
	look->table = table_open(&look->layout, look->invocation->options, err);
	if (!look->table || look_at_locks(look, err) < 0)
		return -1;
	if (look->hidden > 0) {
		snprintf(look->last, sizeof(look->last), "%zu free lock%s: --all", look->hidden,
			 look->hidden == 1 ? "" : "s");
		look->layout.nothing = "no lock is held or waited for";
		look->layout.last = look->last;
	}
	return 0;
}

static int draw(void *data, FILE *out, int columns, struct error *err)
{
	struct look look = *(const struct look *)data;
	const int result = fill_table(&look, err);

	if (result == 0) {
		table_draw(look.table, out, columns);
		*err = look.trouble;
	}
	table_close(look.table);
	return result;
}

int look_run(struct look *look, const char *title, int *status, struct error *err)
{
	const int64_t period_ms = look->invocation->options->watch_ms;
	int result;

	look->is_watched = period_ms > 0;
	if (look->is_watched)
		return watch_run(title, period_ms, draw, look, err);
	result = fill_table(look, err);
	if (result == 0)
		table_print(look->table, -1);
	table_close(look->table);
	return result == 0 ? look_end(look, status, err) : -1;
}

int look_end(const struct look *look, int *status, struct error *err)
{
	*status = look->status;
	if (look->trouble.status == STATUS_OK)
		return 0;
	*err = look->trouble;
	return -1;
}

void look_check_name(const struct look *look, const struct lock_keys *keys, struct client *client)
{
	struct error ignored;
	bool is_known;

	if (look->invocation->argc > 0 && !look->is_watched)
		lock_list_check(client, keys, &is_known, &ignored);
}
