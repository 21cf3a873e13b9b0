#include "nodes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "reply.h"

static bool is_known(const struct nodes *nodes, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->servers[i].seeds->port == endpoint->port &&
		    strcmp(nodes->servers[i].seeds->host, endpoint->host) == 0)
			return true;
	return false;
}

/* The same server as far as who we are and what we trust goes, at one place. */
static void add(struct nodes *nodes, const struct server *like, const struct endpoint *endpoint)
{
	struct server *server = &nodes->servers[nodes->count++];

	*server = *like;
	server->kind = SERVER_TCP;
	server->seeds = malloc(sizeof(*endpoint));
	server->seed_count = 1;
	if (server->seeds)
		*server->seeds = *endpoint;
}

/* One range of slots: FIRST LAST MASTER REPLICA..., where a node is HOST PORT ...; a host that is
 * left out is the one that was asked. Returns false when the reply makes no sense. */
static bool read_range(const struct redisReply *range, const struct endpoint *asked,
		       struct endpoint *master)
{
	const struct redisReply *node = reply_at(range, 2);
	const char *host = reply_text(node, 0);
	const long long port = reply_number(node, 1);

	if (port < 1 || port > 65535 || strlen(host) >= sizeof(master->host))
		return false;
	*master = *asked;
	if (*host)
		strcpy(master->host, host);
	master->port = (uint16_t)port;
	return true;
}

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot list the nodes of a cluster: %s", strerror(ENOMEM));
}

static int read_masters(struct nodes *nodes, const struct client *client,
			const struct server *server, struct error *err)
{
	const size_t ranges = reply_count(client->reply);
	struct endpoint master;

	nodes->servers = calloc(ranges ? ranges : 1, sizeof(*nodes->servers));
	if (!nodes->servers)
		return no_memory(err);
	for (size_t i = 0; i < ranges; i++) {
		if (!read_range(reply_at(client->reply, i), &client->link.endpoint, &master))
			return reply_nonsense(err);
		if (is_known(nodes, &master))
			continue;
		add(nodes, server, &master);
		if (!nodes->servers[nodes->count - 1].seeds)
			return no_memory(err);
	}
	return 0;
}

static int find_masters(struct nodes *nodes, struct client *client, const struct server *server,
			int64_t until_ms, struct error *err)
{
	const struct request request = {.argv = {"CLUSTER", "SLOTS"}, .argc = 2};

	if (client_call(client, &request, until_ms, false, err) < 0)
		return -1;
	return read_masters(nodes, client, server, err);
}

/* A client for each master, in place of the one that found them. */
static int reach_masters(struct nodes *nodes, const struct server *server, int64_t until_ms,
			 struct error *err)
{
	struct client *seed = nodes->clients;
	const int64_t timeout_ms = seed->timeout_ms;
	int result;

	nodes->clients = NULL;
	nodes->count = 0;
	result = find_masters(nodes, seed, server, until_ms, err);
	client_close(seed);
	free(seed);
	if (result == 0)
		nodes->clients = calloc(nodes->count ? nodes->count : 1, sizeof(*nodes->clients));
	for (size_t i = 0; nodes->clients && i < nodes->count; i++)
		client_init(&nodes->clients[i], &nodes->servers[i], timeout_ms);
	return result == 0 && !nodes->clients ? no_memory(err) : result;
}

int nodes_open(struct nodes *nodes, const struct server *server, int64_t timeout_ms,
	       int64_t until_ms, struct error *err)
{
	*nodes = (struct nodes){.clients = calloc(1, sizeof(*nodes->clients))};
	if (!nodes->clients)
		return no_memory(err);
	client_init(nodes->clients, server, timeout_ms);
	nodes->count = 1;
	if (client_connect(nodes->clients, until_ms, err) < 0)
		return -1;
	return nodes->clients->link.greeting.is_cluster
		       ? reach_masters(nodes, server, until_ms, err)
		       : 0;
}

void nodes_close(struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		if (nodes->clients)
			client_close(&nodes->clients[i]);
		if (nodes->servers)
			free(nodes->servers[i].seeds);
	}
	free(nodes->clients);
	free(nodes->servers);
	*nodes = (struct nodes){0};
}
