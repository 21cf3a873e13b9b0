/* Fuzzes URLs, in which SECRET stands for a password.
 *
 * For: redis/server.c */
#include "redis/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts/fuzz.h"

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The label, which is shown and given to COMMAND, leads to the same server. */
static void check_label(const struct server *server)
{
	struct server again;
	struct error err;

	HOLDS(server_parse(&again, server->label, &err) == 0);
	HOLDS(again.kind == server->kind && again.tls == server->tls && again.db == server->db);
	HOLDS(again.seed_count == server->seed_count && !again.password);
	for (size_t i = 0; i < server->seed_count; i++)
		HOLDS(again.seeds[i].port == server->seeds[i].port &&
		      strcmp(again.seeds[i].host, server->seeds[i].host) == 0);
	HOLDS(same(again.path, server->path) && same(again.master, server->master));
	HOLDS(same(again.user, server->user) && same(again.label, server->label));
	server_free(&again);
}

static void check_server(const struct server *server)
{
	const bool has_seeds = server->kind == SERVER_TCP || server->kind == SERVER_SENTINEL;

	HOLDS((server->seed_count > 0) == has_seeds);
	HOLDS((server->path != NULL) == (server->kind == SERVER_UNIX));
	HOLDS((server->master != NULL) == (server->kind == SERVER_SENTINEL));
	HOLDS(!server->path || server->path[0] == '/');
	HOLDS(server->db >= 0);
	for (size_t i = 0; i < server->seed_count; i++)
		HOLDS(server->seeds[i].port > 0 && server->seeds[i].host[0] != '\0');
	check_label(server);
}

/* Whether SECRET stands where a password does: behind USER: and before the last @. (Before the
 * path, too, if this is a unix socket, which takes no password.) */
static bool is_secret(const char *url)
{
	const char *slashes = strstr(url, "://"), *secret = strstr(url, SECRET);
	const char *user = slashes ? slashes + 3 : "";
	const bool is_unix = strncmp(url, "unix:", 5) == 0;
	const char *colon = strchr(user, ':'), *at = strrchr(user, '@');

	if (!secret || !colon || !at || fuzz_count(url, SECRET) > 1)
		return false;
	return colon < secret && secret < at && !(is_unix && user + strcspn(user, "/?") < at);
}

static void check_hidden(const char *url)
{
	char *copy = strdup(url);

	if (!copy)
		abort();
	server_hide_password(copy);
	HOLDS(strlen(copy) == strlen(url) && !strstr(copy, SECRET));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *url = fuzz_text(data, size);
	const bool secret = is_secret(url);
	struct server server;
	struct error err;

	if (secret)
		check_hidden(url);
	if (server_parse(&server, url, &err) == 0) {
		HOLDS(!secret || !strstr(server_shown(&server), SECRET) ||
		      fuzz_shows_secret(&server));
		check_server(&server);
		server_free(&server);
	} else {
		HOLDS(err.status == STATUS_CONFIG && !server.label);
		HOLDS(!secret || !strstr(err.text, SECRET));
	}
	free(url);
	return 0;
}
