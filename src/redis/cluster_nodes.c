/* Reads CLUSTER SLOTS, and notes for each slot which node has it. */
#include "redis/cluster_nodes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/client.h"
#include "redis/reply.h"
#include "redis/server_error.h"

/* A message names so many ranges of slots, and counts the others. */
#define RANGES_NAMED 6

/* The place of the node at an endpoint; nodes->count: it is not known yet. */
static size_t place_of(const struct cluster_nodes *nodes, const struct endpoint *endpoint)
{
	size_t i = 0;

	while (i < nodes->count && (nodes->list[i].endpoint.port != endpoint->port ||
				    strcmp(nodes->list[i].endpoint.host, endpoint->host) != 0))
		i++;
	return i;
}

/* Adds a node with the user, the password and the TLS files of the seed's server; without a host it
 * is that server itself, on its unix socket. */
static void add(struct cluster_nodes *nodes, const struct client *seed,
		const struct endpoint *endpoint)
{
	const struct server *like = seed->connection.server;
	const bool is_ipv6 = strchr(endpoint->host, ':') != NULL;
	struct cluster_node *node = &nodes->list[nodes->count++];

	client_init(&node->client, &node->server, seed->connection.story.messenger,
		    seed->connection.timeout_ms);
	node->server = *like;
	node->endpoint = *endpoint;
	if (!*endpoint->host)
		return;
	node->server.kind = SERVER_TCP;
	node->server.seeds = &node->endpoint;
	node->server.seed_count = 1;
	node->server.label = node->label;
	snprintf(node->label, sizeof(node->label), "%s://%s%s%s:%u", like->tls ? "rediss" : "redis",
		 is_ipv6 ? "[" : "", endpoint->host, is_ipv6 ? "]" : "", endpoint->port);
}

/* Reads a range of slots: FIRST LAST MASTER REPLICA..., where a node is HOST PORT ...; a host that
 * is left out is the one that was asked, by its unix socket if that has no host. Returns false when
 * the range makes no sense. */
static bool read_range(const struct redisReply *range, const struct endpoint *asked,
		       struct endpoint *master)
{
	const long long first = reply_number(range, 0), last = reply_number(range, 1);
	const struct redisReply *node = reply_at(range, 2);
	const char *host = reply_text(node, 0);
	const bool on_socket = !*host && !*asked->host;
	const long long port = reply_number(node, 1);

	if (port < !on_socket || port > 65535 || strlen(host) >= sizeof(master->host) ||
	    first < 0 || first > last || last >= CLUSTER_SLOTS)
		return false;
	*master = *asked;
	if (*host)
		strcpy(master->host, host);
	master->port = on_socket ? 0 : (uint16_t)port;
	return true;
}

/* Notes what the reply of CLUSTER SLOTS says. */
static int read_owners(struct cluster_nodes *nodes, const struct client *seed, struct error *err)
{
	struct endpoint master;

	for (size_t i = 0; i < reply_count(seed->reply); i++) {
		const struct redisReply *range = reply_at(seed->reply, i);

		if (!read_range(range, &seed->connection.endpoint, &master))
			return reply_nonsense(err);
		const size_t place = place_of(nodes, &master);

		if (place == nodes->count)
			add(nodes, seed, &master);
		for (long long slot = reply_number(range, 0); slot <= reply_number(range, 1);
		     slot++)
			nodes->owners[slot] = (uint16_t)(place + 1);
	}
	return 0;
}

/* Lists the masters that the seed names, or the one server that it leads to. */
static int find(struct cluster_nodes *nodes, struct client *seed, struct error *err)
{
	const int64_t until_ms = clock_ms() + seed->connection.timeout_ms;
	/* whatever it may do, a user may say this, which goes with the greeting */
	static const struct request hello = {.argv = {"HELLO"}, .argc = 1};
	static const struct request which_slots = {
		.argv = {"CLUSTER", "SLOTS"}, .argc = 2, .question = "which nodes there are"};
	size_t ranges = 0;

	if (client_call(seed, &hello, until_ms, false, err) < 0)
		return -1;
	seed->ever_answered = false; /* one that still loads its data has answered nothing yet */
	if (seed->connection.handshake.is_cluster) {
		if (client_call(seed, &which_slots, until_ms, false, err) < 0)
			return -1;
		ranges = reply_count(seed->reply);
		if (ranges > CLUSTER_SLOTS)
			return reply_nonsense(err);
		nodes->owners = calloc(CLUSTER_SLOTS, sizeof(*nodes->owners));
	}
	nodes->list = calloc(ranges + 1, sizeof(*nodes->list)); /* there may be no master */
	if (!nodes->list || (seed->connection.handshake.is_cluster && !nodes->owners))
		return fail(err, STATUS_OS, "cannot list the nodes of a cluster: %s",
			    strerror(ENOMEM));
	if (nodes->owners)
		return read_owners(nodes, seed, err);
	nodes->list[nodes->count++].client = *seed;
	return 0;
}

int cluster_nodes_open(struct cluster_nodes *nodes, const struct server *server,
		       struct messenger *messenger, int64_t timeout_ms, bool starts_none,
		       struct error *err)
{
	struct client seed;
	int result;

	*nodes = (struct cluster_nodes){.messenger = messenger};
	client_init(&seed, server, messenger, timeout_ms);
	seed.connection.starts_none = starts_none;
	result = find(nodes, &seed, err);
	if (result < 0 || nodes->owners)
		client_close(&seed);
	if (result < 0)
		cluster_nodes_close(nodes);
	return result;
}

void cluster_nodes_close(struct cluster_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		client_close(&nodes->list[i].client);
	free(nodes->owners);
	free(nodes->list);
	*nodes = (struct cluster_nodes){0};
}

/* ---- What cannot be seen ---- */

/* The client is the first member of its node. */
static struct cluster_node *node_of(const struct client *client)
{
	return (struct cluster_node *)(uintptr_t)client;
}

bool cluster_nodes_lose(struct cluster_nodes *nodes, const struct client *client,
			const struct error *why)
{
	struct error *gap;
	char *hint;

	if (!nodes->owners || why->status != STATUS_UNAVAILABLE)
		return false;
	gap = &node_of(client)->gap;
	*gap = *why;
	hint = strstr(gap->text, SERVER_ERROR_HINT); /* too much for a list */
	if (hint)
		*hint = '\0';
	return true;
}

bool cluster_nodes_has_lost(const struct cluster_nodes *nodes, const struct client *client)
{
	return nodes->owners && node_of(client)->gap.status != STATUS_OK;
}

size_t cluster_nodes_unseen(const struct cluster_nodes *nodes)
{
	size_t count = 0;

	for (size_t slot = 0; nodes->owners && slot < CLUSTER_SLOTS; slot++) {
		const uint16_t owner = nodes->owners[slot];

		count += owner == 0 || nodes->list[owner - 1].gap.status != STATUS_OK;
	}
	return count;
}

/* "slots 0-99, 200"; returns the length. */
static size_t show_slots(const uint16_t *owners, size_t owner, char *text, size_t size)
{
	size_t length = 0, ranges = 0, last;

	for (size_t slot = 0; slot < CLUSTER_SLOTS; slot = last + 1) {
		last = slot;
		if (owners[slot] != owner)
			continue;
		while (last + 1 < CLUSTER_SLOTS && owners[last + 1] == owner)
			last++;
		if (++ranges <= RANGES_NAMED)
			length += (size_t)snprintf(text + length, size - length, "%s%zu",
						   ranges == 1 ? "slots " : ", ", slot);
		if (ranges <= RANGES_NAMED && last > slot)
			length += (size_t)snprintf(text + length, size - length, "-%zu", last);
	}
	if (ranges > RANGES_NAMED)
		length += (size_t)snprintf(text + length, size - length, " and %zu more ranges",
					   ranges - RANGES_NAMED);
	return length;
}

bool cluster_nodes_show_gap(const struct cluster_nodes *nodes, size_t gap, char *text, size_t size)
{
	char slots[RANGES_NAMED * 16 + 48];

	*text = '\0';
	if (!nodes->owners || (gap > 0 && nodes->list[gap - 1].gap.status == STATUS_OK) ||
	    show_slots(nodes->owners, gap, slots, sizeof(slots)) == 0)
		return false;
	snprintf(text, size, "%s: %s", slots,
		 gap > 0 ? nodes->list[gap - 1].gap.text : "no node has them");
	return true;
}

int cluster_nodes_check(const struct cluster_nodes *nodes, struct error *err)
{
	char list[sizeof(err->text)] = "", text[sizeof(err->text)];
	size_t length = 0;

	for (size_t gap = 0; gap <= nodes->count && length < sizeof(list); gap++)
		if (cluster_nodes_show_gap(nodes, gap, text, sizeof(text)))
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? "; " : "", text);
	return length ? fail_about(err, STATUS_UNAVAILABLE, "see", "a part of the cluster", list)
		      : 0;
}
