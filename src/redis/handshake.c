/* Reads the first replies of a server or a sentinel: mode, role, version; the master's address. */
#include "redis/handshake.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"
#include "base/shorten.h"
#include "redis/password.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/server_error.h"

void handshake_init(struct handshake *handshake, const struct server *server)
{
	*handshake = (struct handshake){.server = server,
					.with_password = server->sentinel_password != NULL};
}

static void prepare(struct handshake *handshake, struct redisContext *redis, int argc,
		    const char **argv)
{
	redisAppendCommandArgv(redis, argc, argv, NULL);
	handshake->due++;
}

/* The password that the file has now, or else the one that is known. */
static const char *fresh(const char *file, const char *known, char text[PASSWORD_MAX_BYTES + 2])
{
	return file && !password_read(read_file_open_prompt(file), text) ? text : known;
}

/* A sentinel gets the user and the password for sentinels, or else those for the server. */
static void greet_sentinel(struct handshake *handshake, struct redisContext *redis)
{
	const struct server *server = handshake->server;
	const bool own = server->sentinel_password != NULL;
	const char *user = own ? server->sentinel_user : server->user;
	const char *password = own ? server->sentinel_password : server->password;
	const char *file = own ? server->sentinel_password_file : server->password_file;
	char text[PASSWORD_MAX_BYTES + 2];
	const char *auth[] = {"AUTH", user ? user : "default", fresh(file, password, text)};
	const char *ask[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", server->master};

	if (handshake->with_password)
		prepare(handshake, redis, 3, auth);
	prepare(handshake, redis, 3, ask);
}

/* HELLO and the password are one command: a server that needs the password would refuse a HELLO
 * without it, and stay with RESP2. A user that needs none may send any; without AUTH we would be
 * the default user. */
static void greet_server(struct handshake *handshake, struct redisContext *redis)
{
	const struct server *server = handshake->server;
	char text[PASSWORD_MAX_BYTES + 2];
	const char *hello[] = {
		"HELLO", "3", "AUTH", server->user ? server->user : "default",
		fresh(server->password_file, server->password ? server->password : "", text)};
	char db[16];

	prepare(handshake, redis, server->password || server->user ? 5 : 2, hello);
	if (server->db) {
		snprintf(db, sizeof(db), "%d", server->db);
		prepare(handshake, redis, 2, (const char *[]){"SELECT", db});
	}
}

void handshake_send(struct handshake *handshake, struct redisContext *redis)
{
	handshake->due = 0;
	if (handshake->to_sentinel)
		greet_sentinel(handshake, redis);
	else
		greet_server(handshake, redis);
}

static const char *field_of(const redisReply *hello, const char *name)
{
	const char *text = reply_field(hello, name);

	return text ? text : "";
}

/* A sentinel or a replica is no place for locks: if there may be another server, that one is tried.
 * Of two ordinary servers, each would have a holder of its own. */
static enum handshake_outcome take_hello(struct handshake *handshake, const redisReply *hello,
					 struct error *err)
{
	const struct server *server = handshake->server;

	handshake->is_cluster = strcmp(field_of(hello, "mode"), "cluster") == 0;
	handshake->shards = handshake->is_cluster && atoi(field_of(hello, "version")) >= 7;
	if (strcmp(field_of(hello, "mode"), "sentinel") == 0) {
		server_fail(server, err, STATUS_UNAVAILABLE, "reach",
			    "it is a sentinel; use redis+sentinel://HOST:PORT/MASTER");
		return HANDSHAKE_FAILS;
	}
	if (server_is_list(server) && !handshake->is_cluster) {
		server_fail(server, err, STATUS_CONFIG, "use",
			    "a list of hosts is for a cluster; for a master with replicas write "
			    "redis+sentinel://");
		return HANDSHAKE_REFUSED;
	}
	if (strcmp(field_of(hello, "role"), "replica") != 0 || server->kind != SERVER_SENTINEL)
		return HANDSHAKE_GOES_ON;
	server_fail(server, err, STATUS_UNAVAILABLE, "reach", "it is a replica");
	return HANDSHAKE_FAILS;
}

static enum handshake_outcome take_server(struct handshake *handshake, const redisReply *reply,
					  struct error *err)
{
	char cause[CAUSE_MAX_BYTES];
	enum status status;

	if (reply->type == REDIS_REPLY_MAP)
		return take_hello(handshake, reply, err);
	if (reply->type != REDIS_REPLY_ERROR)
		return HANDSHAKE_GOES_ON;
	status = server_error_status(reply->str);
	server_fail(handshake->server, err, status, "use",
		    server_error_cause(cause, handshake->server, reply->str));
	return status == STATUS_UNAVAILABLE ? HANDSHAKE_FAILS : HANDSHAKE_REFUSED;
}

/* The password for sentinels has settings of its own. */
static const char *sentinel_cause(char cause[CAUSE_MAX_BYTES], const struct handshake *handshake,
				  const char *text)
{
	if (server_error_is(text, "NOAUTH"))
		return "it wants a password: --sentinel-password-file";
	if (strstr(text, "unknown command"))
		return "it is no sentinel";
	if (!server_error_is(text, "WRONGPASS") || !handshake->server->sentinel_password)
		return server_error_cause(cause, handshake->server, text);
	snprintf(cause, CAUSE_MAX_BYTES, "it refuses this user, or the password from %s",
		 handshake->server->sentinel_from);
	return cause;
}

static enum handshake_outcome sentinel_refused(struct handshake *handshake, const char *text,
					       const struct endpoint *here, struct error *err)
{
	const enum status status = server_error_status(text);
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];

	if (status == STATUS_REFUSED && !handshake->with_password && handshake->server->password) {
		handshake->with_password = true;
		return HANDSHAKE_AGAIN;
	}
	fail(err, status == STATUS_REFUSED ? status : STATUS_UNAVAILABLE,
	     "cannot ask sentinel %s:%u: %s", shorten_middle(shown, SHORT_CHARACTERS, here->host),
	     here->port, sentinel_cause(cause, handshake, text));
	return HANDSHAKE_FAILS;
}

/* HOST and PORT, both as texts. */
static bool read_master(const redisReply *reply, struct endpoint *master)
{
	const char *host = reply_text(reply, 0);

	if (reply_count(reply) != 2 || !*host || strlen(host) >= sizeof(master->host))
		return false;
	strcpy(master->host, host);
	return endpoint_set_port(master, reply_text(reply, 1));
}

static enum handshake_outcome take_sentinel(struct handshake *handshake, const redisReply *reply,
					    const struct endpoint *here, struct error *err)
{
	char master[SHORT_MAX_BYTES], shown[SHORT_MAX_BYTES];

	if (reply->type == REDIS_REPLY_ERROR)
		return sentinel_refused(handshake, reply->str, here, err);
	if (handshake->due > 0)
		return HANDSHAKE_GOES_ON;
	if (read_master(reply, &handshake->master))
		return HANDSHAKE_NAMES;
	fail(err, STATUS_UNAVAILABLE, "cannot find master %s: sentinel %s:%u knows no such master",
	     shorten(master, handshake->server->master),
	     shorten_middle(shown, SHORT_CHARACTERS, here->host), here->port);
	return HANDSHAKE_FAILS;
}

enum handshake_outcome handshake_take(struct handshake *handshake, const struct redisReply *reply,
				      const struct endpoint *here, struct error *err)
{
	handshake->due--;
	return handshake->to_sentinel ? take_sentinel(handshake, reply, here, err)
				      : take_server(handshake, reply, err);
}
