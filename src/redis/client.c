/* First the connection: each stage goes on as far as it can without waiting. An address that fails
 * leads to the next, a seed to the next seed, and a round of all of them to a pause. Then the
 * requests: they are sent, each reply finds what it answers, and a failure may pass. */
#include "redis/client.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/message.h"
#include "base/text.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/script.h"
#include "redis/server.h"
#include "redis/server_error.h"
#include "redis/tls.h"

/* A few bytes can announce more elements than there is memory, or be nested until the stack is
 * full. The longest reply of use is a queue: six elements, and less than a kilobyte, for each
 * waiter. */
#define REPLY_MAX_BYTES (64u << 20)
#define REPLY_MAX_ELEMENTS (1 << 20)
#define REPLY_MAX_DEPTH 8

enum connection_event {
	CONNECTION_NOTHING, /* wait as connection_wait says */
	CONNECTION_OPENED,  /* HELLO is about to leave: send what belongs into the same write */
	CONNECTION_REPLY,   /* the next reply or push */
	CONNECTION_FAILED,  /* connection->error; the connection is tried again */
	CONNECTION_REFUSED, /* the same: the server refuses who we are, or the database */
};

#define REDIRECTIONS_MAX 8
#define BACKOFF_MIN_MS INT64_C(10)
#define LOCAL_START_RETRY_MS 3

/* An attempt has this time at least, also if this process was stopped meanwhile. */
#define ATTEMPT_MIN_MS 50

/* One step takes at most this many replies: the caller has other things to wait for. */
#define REPLIES_AT_ONCE 100

/* One attempt of this many looks for the way to the server anew. */
#define STAYS_MAX 16

/* A message repeats a name that is no longer than this. */
#define NAME_SHORT_BYTES 20

/* People are told when a server has been away for this long. */
#define ABSENCE_MS 1000

/* ==== The connection ==== */

void connection_begin_at(struct connection *connection, const struct connection *last)
{
	if (last->handshake.is_cluster)
		connection->route.named = last->endpoint;
}

static void connection_allow(struct connection *connection)
{
	if (connection->until_ms)
		connection->until_ms = clock_ms() + connection->timeout_ms;
	connection->awaited = false;
}

void connection_set_timeout(struct connection *connection, int64_t timeout_ms)
{
	const int64_t latest_ms = clock_ms() + timeout_ms;

	connection->timeout_ms = timeout_ms;
	connection->until_ms = earliest(connection->until_ms, latest_ms);
	connection->due_ms = earliest(connection->due_ms, latest_ms);
}

/* The next round begins with the seed at the other end. */
static void keep_seed(struct connection *connection)
{
	struct route *route = &connection->route;

	if (!route->on_named && route->tried > 0)
		route->seed = (route->seed + route->tried - 1) % connection->server->seed_count;
}

/* ---- What people are told ---- */

static void connection_tell_words(const struct connection *connection, const char *text,
				  const char *needed)
{
	if (connection->story.messenger)
		message_step(connection->story.messenger, "the server says: %s%s%s", text,
			     *needed ? "; needed:" : "", needed);
}

static void connection_tell_trouble(struct connection *connection, const struct error *error)
{
	struct connection_story *story = &connection->story;

	if (!story->messenger || strcmp(error->text, story->trouble) == 0)
		return;
	strcpy(story->trouble, error->text);
	message_step(story->messenger, "%s", error->text);
}

/* The server has greeted us. Where there may be several, the endpoint says which one it is. */
static void tell_connection(struct connection *connection)
{
	const struct server *server = connection->server;
	const bool is_one = server->kind == SERVER_LOCAL || server->kind == SERVER_UNIX;
	struct connection_story *story = &connection->story;
	char took[DURATION_MAX_BYTES], port[8] = "";

	duration_show(took, clock_ms() - story->begun_ms);
	story->begun_ms = 0;
	story->has_greeted = true;
	story->trouble[0] = '\0';
	if (!is_one)
		snprintf(port, sizeof(port), ":%u", connection->endpoint.port);
	if (story->messenger)
		message_step(story->messenger, "connected to %s%s after %s",
			     is_one ? server_shown(server) : connection->endpoint.host, port, took);
}

static void connection_send(struct connection *connection, int argc, const char **argv)
{
	redisAppendCommandArgv(connection->redis, argc, argv, NULL);
}

static bool connection_is_sending(const struct connection *connection)
{
	return connection->stage == CONNECTION_OPEN && sdslen(connection->redis->obuf) > 0;
}

/* ---- The end of a connection, an attempt, a round of attempts ---- */

static void close_socket(struct connection *connection)
{
	if (connection->redis)
		redisFree(connection->redis); /* and its socket */
	else if (connection->fd >= 0)
		close(connection->fd);
	connection->redis = NULL;
	connection->fd = -1;
	connection->handshake.due = 0;
	connection->stage = CONNECTION_DOWN;
}

void connection_leave(const struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	if (connection->local_folder >= 0)
		close(connection->local_folder);
}

static void connection_drop(struct connection *connection)
{
	close_socket(connection);
	connection->addresses = (struct addresses){0};
	connection->retry_ms = 0;
}

/* Half of the delay is random, so that many waiters do not come back in step. */
static int64_t connection_back_off(struct connection *connection)
{
	const unsigned doublings = connection->attempts < 16 ? connection->attempts : 16;
	const int64_t half = earliest(BACKOFF_MIN_MS << doublings, connection->back_off_max_ms) / 2;
	uint32_t dice = 0;

	(void)!getrandom(&dice, sizeof(dice), GRND_NONBLOCK);
	connection->attempts++;
	return half + (int64_t)(dice % (uint64_t)(half + 1));
}

/* The connection, or the round of attempts, is over, and connection->error says why. After a
 * working connection breaks, the endpoint that was named is tried once more, then it is forgotten.
 * If a sentinel named it, another sentinel is asked: this one may be the only one that does not
 * know better. */
static enum connection_event round_lost(struct connection *connection)
{
	const struct server *server = connection->server;
	struct route *route = &connection->route;

	if (route->on_named && server->kind == SERVER_SENTINEL)
		route->seed = (route->seed + 1) % server->seed_count;
	if (!route->is_well || route->asking || server->kind == SERVER_SENTINEL)
		route->named.port = 0;
	route->tried = 0;
	route->redirections = 0;
	route->is_well = false;
	connection_drop(connection);
	connection->retry_ms = clock_ms() + connection_back_off(connection);
	return CONNECTION_FAILED;
}

static enum connection_event connection_fail(struct connection *connection, enum status status,
					     const char *verb, const char *cause)
{
	server_fail(connection->server, &connection->error, status, verb, cause);
	return round_lost(connection);
}

static bool has_addresses(const struct connection *connection)
{
	return connection->addresses.next < connection->addresses.count;
}

/* This attempt failed, connection->error says why: the next address or seed follows at once, if
 * there is one in this round. */
static enum connection_event attempt_failed(struct connection *connection)
{
	if (!has_addresses(connection) &&
	    (connection->route.on_named ||
	     connection->route.tried >= connection->server->seed_count))
		return round_lost(connection);
	close_socket(connection);
	connection->retry_ms = 0;
	return CONNECTION_NOTHING;
}

/* If no address can be connected to, the error is that of the first one: the others may be of a
 * kind that is not in use here. */
static enum connection_event unreachable(struct connection *connection, const char *cause)
{
	if (connection->addresses.next <= 1 || connection->redis) {
		if (connection->trouble != TROUBLE_BROKE)
			connection->trouble = TROUBLE_AWAY;
		server_fail(connection->server, &connection->error, STATUS_UNAVAILABLE, "reach",
			    cause);
	}
	return attempt_failed(connection);
}

static const char *connection_lateness(const struct connection *connection)
{
	switch (connection->stage) {
	case CONNECTION_LOOKING_UP:
		return "its name was not found in time";
	case CONNECTION_CONNECTING:
		return strerror(ETIMEDOUT);
	case CONNECTION_SECURING:
		return "no answer to the TLS handshake in time (does it speak TLS?)";
	case CONNECTION_DOWN:
	case CONNECTION_OPEN:
		break;
	}
	return "no reply in time";
}

/* An attempt took too long. The last one before connection_await gives up may have had no time:
 * then the error stays that of the attempts before. */
static enum connection_event late(struct connection *connection)
{
	return connection->awaited && connection->error.status
		       ? attempt_failed(connection)
		       : unreachable(connection, connection_lateness(connection));
}

/* Nothing has come yet. */
static enum connection_event keep_waiting(struct connection *connection)
{
	return clock_ms() < connection->due_ms ? CONNECTION_NOTHING : late(connection);
}

/* A server that was reached and then broke the connection was away for no time yet. */
static bool connection_await(struct connection *connection)
{
	const int64_t now = clock_ms();
	int64_t pause_ms;

	if (!connection->until_ms || (!connection->awaited && connection->trouble == TROUBLE_BROKE))
		connection->until_ms = now + connection->timeout_ms;
	if (now >= connection->until_ms)
		return false;
	connection->awaited = true;
	connection_drop(connection);
	pause_ms = connection->server->kind == SERVER_LOCAL ? LOCAL_START_RETRY_MS
							    : connection_back_off(connection);
	/* the attempt behind the pause needs time, too, but a pause there is */
	connection->retry_ms =
		now + earliest(pause_ms, earliest((connection->until_ms - now) / 2 + BACKOFF_MIN_MS,
						  BACK_OFF_MAX_MS));
	return true;
}

static void connection_give_up(struct connection *connection)
{
	connection->until_ms = 0;
	connection->awaited = false;
}

/* Sets the port from a text of digits. Returns false, and changes nothing, if that is no port. */
static bool set_port(struct endpoint *endpoint, const char *text)
{
	const size_t digits = strspn(text, "0123456789");
	const long port = strtol(text, NULL, 10);

	if (digits == 0 || text[digits] || port < 1 || port > UINT16_MAX)
		return false;
	endpoint->port = (uint16_t)port;
	return true;
}

/* Reads where MOVED or ASK says that the keys are: "MOVED SLOT HOST:PORT". A host that is left out
 * is that of *here, the other end. Returns false when it says nothing of use. */
static bool read_redirection(const char *text, const struct endpoint *here, struct endpoint *to)
{
	const char *slot = strchr(text, ' '), *place = slot ? strchr(slot + 1, ' ') : NULL;
	const char *colon = place ? strrchr(++place, ':') : NULL; /* IPv6 has some of its own */
	struct endpoint found = *here;
	const size_t length = colon ? (size_t)(colon - place) : 0;

	if (!colon || length >= sizeof(found.host) || !set_port(&found, colon + 1))
		return false;
	if (length > 0 && strncmp(place, "?", length) != 0)
		snprintf(found.host, sizeof(found.host), "%.*s", (int)length, place);
	*to = found;
	return true;
}

static bool connection_redirect(struct connection *connection, const char *text)
{
	struct route *route = &connection->route;

	if (route->redirections >= REDIRECTIONS_MAX ||
	    !read_redirection(text, &connection->endpoint, &route->named))
		return false;
	route->redirections++;
	route->asks_next = server_error_is(text, "ASK");
	connection->handshake.is_cluster = true;
	connection_drop(connection);
	return true;
}

/* ---- The greeting: HELLO and AUTH; at a sentinel, the question where the master is ---- */

static void greet(struct connection *connection, int argc, const char **argv)
{
	connection_send(connection, argc, argv);
	connection->handshake.due++;
}

/* The password that the file has now, or else the one that is known. A pipe that nobody writes into
 * would block a holder. */
static const char *fresh(const char *file, const char *known, char text[PASSWORD_MAX_BYTES + 2])
{
	struct stat its;

	if (!file || stat(file, &its) < 0 || !S_ISREG(its.st_mode))
		return known;
	return password_read(file, text) ? known : text;
}

/* A sentinel gets the user and the password for sentinels, or else those for the server. It may
 * want none: then it may refuse them, and answers the question all the same. */
static void greet_sentinel(struct connection *connection)
{
	const struct server *server = connection->server;
	const bool own = server->sentinel_password != NULL;
	const char *user = own ? server->sentinel_user : server->user;
	const char *password = own ? server->sentinel_password : server->password;
	const char *file = own ? server->sentinel_password_file : server->password_file;
	char text[PASSWORD_MAX_BYTES + 2];
	const char *auth[] = {"AUTH", user ? user : "default", fresh(file, password, text)};
	const char *ask[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", server->master};

	if (password)
		greet(connection, 3, auth);
	greet(connection, 3, ask);
}

/* HELLO and the password are one command: a server that needs the password would refuse a HELLO
 * without it, and stay with RESP2. A user that needs none may send any; without AUTH we would be
 * the default user. */
static void greet_server(struct connection *connection)
{
	const struct server *server = connection->server;
	char text[PASSWORD_MAX_BYTES + 2];
	const char *hello[] = {
		"HELLO", "3", "AUTH", server->user ? server->user : "default",
		fresh(server->password_file, server->password ? server->password : "", text)};
	char db[16];

	greet(connection, server->password || server->user ? 5 : 2, hello);
	if (server->db) {
		snprintf(db, sizeof(db), "%d", server->db);
		greet(connection, 2, (const char *[]){"SELECT", db});
	}
}

/* Before the greeting is over, another seed may do: this end may be no server for locks at all. */
static enum connection_event failed_with(struct connection *connection, enum status status,
					 const char *verb, const char *cause)
{
	server_fail(connection->server, &connection->error, status, verb, cause);
	return connection->handshake.due > 0 ? attempt_failed(connection) : round_lost(connection);
}

static enum connection_event greeting_refused(struct connection *connection, enum status status,
					      const char *cause)
{
	connection_fail(connection, status, "use", cause);
	return CONNECTION_REFUSED;
}

static const char *field_of(const redisReply *hello, const char *name)
{
	const char *text = reply_field(hello, name);

	return text ? text : "";
}

/* A sentinel or a replica is no place for locks: if there may be another server, that one is tried.
 * Of two ordinary servers, each would have a holder of its own. */
static enum connection_event take_hello(struct connection *connection, const redisReply *hello)
{
	const struct server *server = connection->server;
	struct handshake *handshake = &connection->handshake;

	handshake->is_cluster = strcmp(field_of(hello, "mode"), "cluster") == 0;
	handshake->shards = handshake->is_cluster && atoi(field_of(hello, "version")) >= 7;
	if (strcmp(field_of(hello, "mode"), "sentinel") == 0)
		return failed_with(connection, STATUS_UNAVAILABLE, "reach",
				   "it is a sentinel; use redis+sentinel://HOST:PORT/MASTER");
	if (server_is_list(server) && !handshake->is_cluster)
		return greeting_refused(
			connection, STATUS_CONFIG,
			"a list of hosts is for a cluster; for a master with replicas write "
			"redis+sentinel://");
	if (strcmp(field_of(hello, "role"), "replica") == 0 && server->kind == SERVER_SENTINEL)
		return failed_with(connection, STATUS_UNAVAILABLE, "reach", "it is a replica");
	return CONNECTION_NOTHING;
}

static enum connection_event take_from_server(struct connection *connection,
					      const redisReply *reply)
{
	char cause[CAUSE_MAX_BYTES];
	enum status status;

	if (reply->type == REDIS_REPLY_MAP)
		return take_hello(connection, reply);
	if (reply->type != REDIS_REPLY_ERROR)
		return CONNECTION_NOTHING;
	status = server_error_status(reply->str);
	server_error_cause(cause, connection->server, reply->str);
	return status == STATUS_UNAVAILABLE ? failed_with(connection, status, "use", cause)
					    : greeting_refused(connection, status, cause);
}

/* The password for sentinels has settings of its own. */
static const char *sentinel_cause(char cause[CAUSE_MAX_BYTES], const struct server *server,
				  const char *text)
{
	if (strstr(text, "unknown command"))
		return "it is no sentinel";
	if (server_error_is(text, "NOAUTH") && !server->sentinel_password && !server->password)
		return "it wants a password: --sentinel-password-file";
	if (!server_error_is(text, "NOAUTH") || !server->sentinel_password)
		return server_error_cause(cause, server, text);
	snprintf(cause, CAUSE_MAX_BYTES, "it refuses this user, or the password from %s",
		 server->sentinel_from);
	return cause;
}

static enum connection_event sentinel_refused(struct connection *connection, const char *text)
{
	const enum status status = server_error_status(text);
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];

	fail(&connection->error, status == STATUS_REFUSED ? status : STATUS_UNAVAILABLE,
	     "cannot ask sentinel %s:%u: %s",
	     shorten_middle(shown, SHORT_CHARACTERS, connection->endpoint.host),
	     connection->endpoint.port, sentinel_cause(cause, connection->server, text));
	return attempt_failed(connection);
}

/* HOST and PORT, both as texts. */
static bool read_master(const redisReply *reply, struct endpoint *master)
{
	const char *host = reply_text(reply, 0);

	if (reply_count(reply) != 2 || !*host || strlen(host) >= sizeof(master->host))
		return false;
	strcpy(master->host, host);
	return set_port(master, reply_text(reply, 1));
}

static enum connection_event take_from_sentinel(struct connection *connection,
						const redisReply *reply)
{
	char name[SHORT_MAX_BYTES], shown[SHORT_MAX_BYTES];
	struct endpoint master;

	if (connection->handshake.due > 0)
		return CONNECTION_NOTHING;
	if (reply->type == REDIS_REPLY_ERROR)
		return sentinel_refused(connection, reply->str);
	if (read_master(reply, &master)) {
		keep_seed(connection);
		connection->route.named = master;
		connection_drop(connection);
		return CONNECTION_NOTHING;
	}
	fail(&connection->error, STATUS_UNAVAILABLE,
	     "cannot find master %s: sentinel %s:%u knows no such master",
	     shorten(name, connection->server->master),
	     shorten_middle(shown, SHORT_CHARACTERS, connection->endpoint.host),
	     connection->endpoint.port);
	return attempt_failed(connection);
}

static enum connection_event take_greeting(struct connection *connection, const redisReply *reply)
{
	struct handshake *handshake = &connection->handshake;
	enum connection_event event;

	if (reply->type == REDIS_REPLY_ERROR)
		connection_tell_words(connection, reply->str, "");
	handshake->due--;
	event = handshake->to_sentinel ? take_from_sentinel(connection, reply)
				       : take_from_server(connection, reply);
	if (event == CONNECTION_NOTHING && connection->stage == CONNECTION_OPEN &&
	    handshake->due == 0)
		tell_connection(connection);
	return event;
}

/* ---- From a socket to the greeting ---- */

/* A stage begins. While something else may be tried, one attempt gets half of the time that is
 * left. The endpoint that was named may have been replaced: another round finds that out. In every
 * second round the first attempt may take all the time: its server may be slow, and not dead. */
static void enter(struct connection *connection, enum connection_stage stage)
{
	const struct route *route = &connection->route;
	const int64_t now = clock_ms(), rest = connection->until_ms - now;
	const int64_t least = earliest(ATTEMPT_MIN_MS, connection->timeout_ms);
	const bool has_others = route->on_named || has_addresses(connection) ||
				route->tried < connection->server->seed_count;
	const bool may_take_all = connection->attempts % 2 == 1 && route->tried <= 1 &&
				  connection->addresses.next <= 1;
	const int64_t share = has_others && !may_take_all ? rest / 2 : rest;

	connection->stage = stage;
	connection->due_ms = now + (share > least ? share : least);
}

static enum connection_event greet_peer(struct connection *connection)
{
	connection->opened++;
	enter(connection, CONNECTION_OPEN);
	if (connection->handshake.to_sentinel) {
		greet_sentinel(connection);
		return CONNECTION_NOTHING;
	}
	greet_server(connection);
	return CONNECTION_OPENED;
}

static enum connection_event await_tls(struct connection *connection)
{
	struct error why;

	switch (tls_shake_hands(connection->redis, &why)) {
	case 0:
		return greet_peer(connection);
	case 1:
		return keep_waiting(connection);
	default:
		if (connection->redis->err == REDIS_ERR_EOF)
			connection->trouble = TROUBLE_BROKE;
		server_fail(connection->server, &connection->error, why.status, "reach", why.text);
		return attempt_failed(connection);
	}
}

static enum connection_event connected(struct connection *connection)
{
	redisOptions options = {.type = REDIS_CONN_USERFD,
				.endpoint.fd = connection->fd,
				.options = REDIS_OPT_NONBLOCK};

	connection->addresses.next = connection->addresses.count; /* no other address is needed */
	if (connection->trouble == TROUBLE_AWAY)
		connection->trouble = TROUBLE_NONE;
	connection->redis = redisConnectWithOptions(&options);
	if (!connection->redis || connection->redis->err)
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(ENOMEM));
	connection->redis->reader->maxelements = REPLY_MAX_ELEMENTS;
	if (!connection->server->tls)
		return greet_peer(connection);
	if (tls_start(connection->redis, connection->server, connection->endpoint.host,
		      &connection->error) < 0)
		return round_lost(connection);
	enter(connection, CONNECTION_SECURING);
	return await_tls(connection);
}

/* Returns 0: the socket is connected; 1: not yet; -1: it failed, with errno. */
static int connect_result(int fd)
{
	struct pollfd slot = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int cause = 0;

	if (poll(&slot, 1, 0) == 0)
		return 1;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &length) < 0)
		return -1;
	errno = cause;
	return cause ? -1 : 0;
}

static enum connection_event await_socket(struct connection *connection)
{
	switch (connect_result(connection->fd)) {
	case 0:
		return connected(connection);
	case 1:
		return keep_waiting(connection);
	default:
		return unreachable(connection, strerror(errno));
	}
}

/* ---- The way to a socket ---- */

/* Why connect_unix failed: the server does not run, or is too busy to answer. */
static bool is_not_there(int cause)
{
	return cause == ENOENT || cause == ECONNREFUSED || cause == EAGAIN;
}

/* The private server does not listen: starts it. */
static enum connection_event start_local(struct connection *connection)
{
	if (!is_not_there(errno))
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(errno));
	if (local_server_start(connection->local_folder, &connection->error) < 0)
		return round_lost(connection);
	if (!connection->awaited && connection->story.messenger)
		message_step(connection->story.messenger, "no private server runs; starting one");
	if (connection_await(connection))
		return CONNECTION_NOTHING;
	local_server_failure(connection->local_folder, &connection->error);
	return round_lost(connection);
}

static enum connection_event open_local(struct connection *connection)
{
	if (connection->local_folder < 0)
		connection->local_folder = local_server_open(&connection->error);
	if (connection->local_folder < 0)
		return round_lost(connection);
	connection->fd = local_server_connect(connection->local_folder);
	return connection->fd < 0 ? start_local(connection) : connected(connection);
}

static enum connection_event open_unix(struct connection *connection)
{
	connection->fd = connect_unix(connection->server->path);
	if (connection->fd >= 0)
		return connected(connection);
	return is_not_there(errno)
		       ? unreachable(connection, strerror(errno))
		       : connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(errno));
}

static enum connection_event try_next_address(struct connection *connection)
{
	connection->fd = connect_next(&connection->addresses, connection->timeout_ms);
	if (connection->fd < 0)
		return unreachable(connection, strerror(errno));
	enter(connection, CONNECTION_CONNECTING);
	return CONNECTION_NOTHING;
}

/* The endpoint that was named goes first, then the seeds, from the one that was fine last. */
static void choose_endpoint(struct connection *connection)
{
	const struct server *server = connection->server;
	struct route *route = &connection->route;

	route->on_named = route->named.port != 0;
	connection->handshake.to_sentinel = !route->on_named && server->kind == SERVER_SENTINEL;
	connection->endpoint =
		route->on_named
			? route->named
			: server->seeds[(route->seed + route->tried++) % server->seed_count];
}

static enum connection_event open_tcp(struct connection *connection)
{
	if (has_addresses(connection))
		return try_next_address(connection);
	choose_endpoint(connection);
	if (connect_known(&connection->addresses, &connection->endpoint))
		return try_next_address(connection);
	connection->fd = resolve_start(&connection->endpoint);
	if (connection->fd < 0)
		return unreachable(connection, strerror(errno));
	enter(connection, CONNECTION_LOOKING_UP);
	return CONNECTION_NOTHING;
}

static enum connection_event begin(struct connection *connection)
{
	const int64_t now = clock_ms();
	struct route *route = &connection->route;

	if (now < connection->retry_ms)
		return CONNECTION_NOTHING;
	/* a process that was stopped, or had nothing to ask, begins anew */
	if (!connection->until_ms || (now >= connection->until_ms && !connection->awaited))
		connection->until_ms = now + connection->timeout_ms;
	if (!connection->story.begun_ms)
		connection->story.begun_ms = now;
	route->is_well = false;
	route->asking = route->asks_next;
	route->asks_next = false;
	switch (connection->server->kind) {
	case SERVER_LOCAL:
		return open_local(connection);
	case SERVER_UNIX:
		return open_unix(connection);
	case SERVER_TCP:
	case SERVER_SENTINEL:
		break;
	}
	return open_tcp(connection);
}

static enum connection_event await_name(struct connection *connection)
{
	const char *cause;
	const int result = resolve_finish(connection->fd, &connection->addresses, &cause);

	if (result > 0)
		return keep_waiting(connection);
	connection->fd = -1;
	return result < 0 ? unreachable(connection, cause) : try_next_address(connection);
}

/* ---- What goes over it ---- */

/* A server that speaks only TLS ends the connection, most often without a word. A server that has
 * greeted us before has another reason. */
static enum connection_event greeting_broke(struct connection *connection)
{
	const struct server *server = connection->server;
	const bool may_speak_tls =
		!connection->story.has_greeted && server->seed_count > 0 && !server->tls;
	char cause[192];

	snprintf(cause, sizeof(cause), "%.128s%s", connection->redis->errstr,
		 may_speak_tls ? " (does it want TLS, rediss://?)" : "");
	return unreachable(connection, cause);
}

/* Before the first answer the cause may be that the other end speaks TLS, or that we do. */
static enum connection_event broken(struct connection *connection)
{
	const bool is_greeting = connection->handshake.due > 0;
	const char *cause = connection->redis->errstr;

	tls_explain(connection->redis);
	if (connection->redis->err == TLS_REFUSED)
		return failed_with(connection, STATUS_REFUSED, "reach", cause);
	if (connection->redis->err != REDIS_ERR_PROTOCOL) {
		connection->trouble = TROUBLE_BROKE;
		return is_greeting
			       ? greeting_broke(connection)
			       : connection_fail(connection, STATUS_UNAVAILABLE, "reach", cause);
	}
	if (is_greeting && strstr(cause, "\\x15"))
		return failed_with(connection, STATUS_UNAVAILABLE, "reach",
				   "it speaks TLS (rediss://)");
	return failed_with(connection, STATUS_BUG, "understand",
			   connection->story.has_greeted ? "it sent something that is no reply"
							 : "it is no Redis or Valkey server");
}

/* Sets *reply to the next one, or NULL if it has not come. Returns -1 when the connection broke. */
static int next_reply(struct connection *connection, redisReply **reply)
{
	void *next = NULL;

	if (redisGetReplyFromReader(connection->redis, &next) != REDIS_OK)
		return -1;
	if (!next && (redisBufferRead(connection->redis) != REDIS_OK ||
		      redisGetReplyFromReader(connection->redis, &next) != REDIS_OK))
		return -1;
	*reply = next;
	return 0;
}

/* A server that has too many clients says so and closes, perhaps before we have said anything. */
static bool hear_last_words(struct connection *connection, redisReply **reply)
{
	char words[2048]; /* those of protected mode are the longest */
	ssize_t length = -1;
	void *next = NULL;

	if (connection->handshake.due > 0 && !connection->server->tls)
		length = recv(connection->fd, words, sizeof(words), MSG_DONTWAIT);
	if (length > 0 &&
	    redisReaderFeed(connection->redis->reader, words, (size_t)length) == REDIS_OK &&
	    redisGetReplyFromReader(connection->redis, &next) == REDIS_OK)
		*reply = next;
	return next != NULL;
}

static bool is_too_large(const redisReader *reader)
{
	return reader->len > REPLY_MAX_BYTES || reader->ridx > REPLY_MAX_DEPTH;
}

static enum connection_event converse(struct connection *connection, redisReply **reply)
{
	enum connection_event event = CONNECTION_NOTHING;

	while (event == CONNECTION_NOTHING && connection->stage == CONNECTION_OPEN) {
		const bool is_greeting = connection->handshake.due > 0;
		const bool is_late = is_greeting && clock_ms() >= connection->due_ms;
		redisReply *next = NULL;

		if (redisBufferWrite(connection->redis, NULL) == REDIS_OK
			    ? next_reply(connection, &next) < 0
			    : !hear_last_words(connection, &next))
			return broken(connection);
		/* a reply that came while we were late ourselves is in time */
		if (is_late && (!next || next->type == REDIS_REPLY_PUSH)) {
			freeReplyObject(next);
			return late(connection);
		}
		if (!next && is_too_large(connection->redis->reader))
			return failed_with(connection, STATUS_BUG, "understand",
					   "it sent a reply that is too large");
		if (!next)
			return CONNECTION_NOTHING;
		if (!is_greeting || next->type == REDIS_REPLY_PUSH) {
			*reply = next;
			return CONNECTION_REPLY;
		}
		event = take_greeting(connection, next);
		freeReplyObject(next);
	}
	return event;
}

static enum connection_event go_on(struct connection *connection, redisReply **reply)
{
	switch (connection->stage) {
	case CONNECTION_DOWN:
		return begin(connection);
	case CONNECTION_LOOKING_UP:
		return await_name(connection);
	case CONNECTION_CONNECTING:
		return await_socket(connection);
	case CONNECTION_SECURING:
		return await_tls(connection);
	case CONNECTION_OPEN:
		break;
	}
	return converse(connection, reply);
}

static enum connection_event connection_step(struct connection *connection,
					     struct redisReply **reply)
{
	enum connection_event event;
	enum connection_stage stage;

	*reply = NULL;
	do {
		stage = connection->stage;
		event = go_on(connection, reply);
	} while (event == CONNECTION_NOTHING && connection->stage > stage);
	return event;
}

static int64_t connection_wait(const struct connection *connection, struct pollfd *slot)
{
	*slot = (struct pollfd){.fd = connection->fd, .events = POLLIN};
	if (connection->stage == CONNECTION_CONNECTING)
		slot->events = POLLOUT;
	if (connection->stage == CONNECTION_SECURING)
		slot->events = tls_awaits(connection->redis);
	if (connection_is_sending(connection))
		slot->events |= POLLOUT;
	if (connection->stage == CONNECTION_DOWN)
		return connection->retry_ms;
	return connection->stage == CONNECTION_OPEN && connection->handshake.due == 0
		       ? NEVER_MS
		       : connection->due_ms;
}

/* ---- Another process goes on with it ---- */

bool connection_is_silent(const struct connection *connection)
{
	const redisReader *reader;

	if (connection->stage != CONNECTION_OPEN || connection_is_sending(connection))
		return false;
	reader = connection->redis->reader;
	/* the reader may be looking for a reply already, without a byte of it */
	return reader->pos == reader->len &&
	       (reader->ridx < 0 || (reader->ridx == 0 && reader->task[0]->type < 0));
}

bool connection_can_be_shared(const struct connection *connection)
{
	return !connection->server->tls;
}

void connection_forget(struct connection *connection)
{
	connection->redis = NULL;
	connection->fd = -1;
	connection_drop(connection);
}

/* ==== Requests ==== */

void client_init(struct client *client, const struct server *server, int64_t timeout_ms)
{
	*client = (struct client){
		.timeout_ms = timeout_ms,
		.connection = {.server = server,
			       .timeout_ms = timeout_ms,
			       .back_off_max_ms = BACK_OFF_MAX_MS,
			       .fd = -1,
			       .local_folder = -1},
	};
}

static void drop_reply(struct client *client)
{
	if (client->reply)
		freeReplyObject(client->reply);
	client->reply = NULL;
}

void client_close(struct client *client)
{
	drop_reply(client);
	close_socket(&client->connection);
	connection_leave(&client->connection);
	client->connection.local_folder = -1;
}

bool client_has_request(const struct client *client)
{
	return client->phase != REQUEST_NONE;
}

/* ---- What goes out, and the replies that it brings ---- */

/* A server that is owed more than there is room for means harm: what is not noted is late. */
static void owe(struct client *client, enum owed kind)
{
	struct traffic *traffic = &client->traffic;

	if (traffic->owed_count < OWED_MAX)
		traffic->owed[traffic->owed_count++] = kind;
}

/* The place of the first reply to come that is of this kind; owed_count: there is none. */
static int find_owed(const struct traffic *traffic, enum owed kind)
{
	int i = 0;

	while (i < traffic->owed_count && traffic->owed[i] != kind)
		i++;
	return i;
}

/* The first reply of this kind has come. Returns false if none was due. */
static bool settle(struct client *client, enum owed kind)
{
	struct traffic *traffic = &client->traffic;
	const int place = find_owed(traffic, kind);

	if (place == traffic->owed_count)
		return false;
	traffic->owed_count--;
	memmove(&traffic->owed[place], &traffic->owed[place + 1],
		(size_t)(traffic->owed_count - place) * sizeof(traffic->owed[0]));
	return true;
}

/* Each command needs this before it at a node to which the slot is on its way. */
static void send_asking(struct client *client)
{
	if (!client->connection.route.asking)
		return;
	connection_send(&client->connection, 1, (const char *[]){"ASKING"});
	owe(client, OWED_ASKING);
}

/* Each channel has a command of its own: a server confirms each channel of a command, but refuses
 * the command with one error. */
static void subscribe(struct client *client, const char *channel)
{
	const char *argv[] = {client->traffic.by_shard ? "SSUBSCRIBE" : "SUBSCRIBE", channel};

	send_asking(client);
	connection_send(&client->connection, 2, argv);
	owe(client, OWED_CHANNEL);
}

/* Subscribes to the channels that this connection has not got yet. */
static void send_subscriptions(struct client *client)
{
	struct traffic *traffic = &client->traffic;

	if (traffic->subscribed == 0)
		traffic->by_shard = client->connection.handshake.shards;
	while (traffic->subscribed < client->channel_count)
		subscribe(client, client->channels[traffic->subscribed++]);
}

/* whole_script: with its script's text, which this server does not know. */
static void send_request(struct client *client, bool whole_script)
{
	const struct request *request = &client->request;
	struct traffic *traffic = &client->traffic;
	const char *argv[REQUEST_ARGS + 3], **words = argv;
	const int64_t now = clock_ms();
	char strays[12], age[24];

	if (request->script) {
		*words++ = whole_script ? "EVAL" : "EVALSHA";
		*words++ = whole_script ? request->script->text : request->script->sha1;
		*words++ = request->keys == 6 ? "6" : "7";
	}
	memcpy(words, request->argv, (size_t)request->argc * sizeof(*words));
	snprintf(strays, sizeof(strays), "%d", client->strays);
	snprintf(age, sizeof(age), "-%" PRId64, now - request->since_ms);
	if (request->again && (client->retried || traffic->returning))
		words[request->again] = "1";
	if (request->strays)
		words[request->strays] = strays;
	if (request->age)
		words[request->age] = age;
	send_subscriptions(client); /* one may have been put off */
	/* When a server has read all that came at once, it writes to its clients, beginning with
	 * the one for which it had something last. That is the one that made the request, unless
	 * the server had something for it before. So we ask first for what changes nothing. */
	if (request->tells && traffic->subscribed > 0 && !client->connection.route.asking)
		subscribe(client, client->channels[0]);
	send_asking(client);
	connection_send(&client->connection, (int)(words - argv) + request->argc, argv);
	owe(client, OWED_ANSWER);
	client->phase = whole_script ? REQUEST_SENT_WHOLE : REQUEST_SENT;
	client->replicas = 0;
	client->sent_ms = now;
	traffic->due_ms = now + client->timeout_ms;
}

/* Asks how many replicas have all that this connection wrote. */
static void send_wait(struct client *client)
{
	const struct request *request = &client->request;
	char replicas[24], ms[24];

	snprintf(replicas, sizeof(replicas), "%" PRId64, request->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, request->replicas_ms);
	connection_send(&client->connection, 3, (const char *[]){"WAIT", replicas, ms});
	owe(client, OWED_ANSWER);
	client->traffic.due_ms = clock_ms() + request->replicas_ms + client->timeout_ms;
}

/* ---- A connection ends ---- */

/* The request, if it was sent, waits to be sent again. It does not count as a stray. */
static void unsend(struct client *client)
{
	drop_reply(client);
	if (client->phase >= REQUEST_SENT)
		client->phase = REQUEST_WAITING;
}

/* A connection was lost: the request, if it was sent over it, becomes a stray, and is to be sent
 * again over the next one. */
static void forget_connection(struct client *client)
{
	if (client->phase >= REQUEST_SENT) {
		client->retried = true;
		client->strays++;
	}
	unsend(client);
	client->traffic = (struct traffic){0};
}

/* Ends a connection that nothing is wrong with, but that is to the wrong place, or of the wrong
 * kind; another one follows. */
static void start_over(struct client *client)
{
	forget_connection(client);
	connection_drop(&client->connection);
}

/* The first request may come while a replica becomes the master, or while a slot moves. A
 * connection that was made and broke says little, too: the next one may work. In neither case is
 * the server down. A keen client waits also for a server that is down: it may be restarting. */
static bool may_pass(const struct client *client)
{
	const struct connection *connection = &client->connection;

	return !client->ever_answered && client->error.status == STATUS_UNAVAILABLE &&
	       (connection->trouble == TROUBLE_BROKE ||
		(client->keen && connection->trouble == TROUBLE_AWAY) ||
		connection->server->kind == SERVER_SENTINEL || connection->handshake.is_cluster);
}

/* The connection, or the attempt to make one, is over; another one follows. */
static enum client_event lost(struct client *client, enum connection_event event)
{
	/* a password that is being changed is refused for a while */
	const bool is_final = event == CONNECTION_REFUSED && !client->ever_answered;

	forget_connection(client);
	client->error = client->connection.error;
	connection_tell_trouble(&client->connection, &client->error);
	if (event != CONNECTION_REFUSED && may_pass(client) &&
	    connection_await(&client->connection))
		return CLIENT_NOTHING;
	connection_give_up(&client->connection);
	return is_final ? CLIENT_REFUSED : CLIENT_FAILED;
}

/* Ends the connection, "cannot VERB the server: CAUSE"; another one follows. */
static enum client_event fail_connection(struct client *client, enum status status,
					 const char *verb, const char *cause)
{
	return lost(client, connection_fail(&client->connection, status, verb, cause));
}

/* ---- The server refuses ---- */

/* A server does not say which key or channel it denied. Lists those that the request needs; ""
 * if the server has denied none of them. */
static void list_names(const struct client *client, const char *text, char *names, size_t size)
{
	const struct request *request = &client->request;
	size_t length = 0;

	*names = '\0';
	if (strstr(text, " key") && request->script)
		for (int i = 0; i < request->keys && length < size; i++)
			length += (size_t)snprintf(names + length, size - length, " %s",
						   request->argv[i]);
	else if (strstr(text, " channel") && client->channel_count > 0)
		snprintf(names, size, " %s", client->channels[0]);
}

static void tell_denied(struct client *client, bool is_key)
{
	const char *name = is_key ? client->request.argv[0] : client->channels[0];
	const char *tail = is_key ? strchr(client->request.argv[1], ':') : NULL;
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];

	if (tail && strlen(tail) < NAME_SHORT_BYTES)
		snprintf(cause, sizeof(cause),
			 "it denies one of the keys %.*s, redisson_lock_*%.*s, fairlock*%.*s",
			 NAME_SHORT_BYTES, name, NAME_SHORT_BYTES, tail, NAME_SHORT_BYTES, tail);
	else
		snprintf(cause, sizeof(cause), "it denies %s %s" SERVER_ERROR_HINT,
			 is_key ? "a key of lock" : "channel", shorten(shown, name));
	server_fail(client->connection.server, &client->error, STATUS_REFUSED, "use", cause);
}

/* A server that cannot serve now is asked again over the same connection: a waiter that went away
 * and came back would miss its turn meanwhile. But now and then the client looks for the server
 * anew, because its name may belong to another one by now; at once where there are several. */
static bool may_stay(const struct client *client, const char *text, bool of_subscription)
{
	const struct connection *connection = &client->connection;

	/* the server was restarted under the first request */
	if (connection->trouble == TROUBLE_BROKE && !client->ever_answered)
		return false;
	return server_error_is_own(text) && !of_subscription && !connection->handshake.is_cluster &&
	       connection->server->kind != SERVER_SENTINEL && connection->server->seed_count < 2 &&
	       connection->attempts % STAYS_MAX != STAYS_MAX - 1;
}

static enum client_event stay(struct client *client, const char *cause)
{
	server_fail(client->connection.server, &client->error, STATUS_UNAVAILABLE, "use", cause);
	connection_tell_trouble(&client->connection, &client->error);
	unsend(client);
	client->retried = true; /* it may have been carried out in part */
	client->traffic.again_ms = clock_ms() + connection_back_off(&client->connection);
	return CLIENT_FAILED;
}

static enum client_event refused_for_now(struct client *client, const char *text,
					 bool of_subscription)
{
	const struct server *server = client->connection.server;
	const bool may_load =
		server->kind == SERVER_LOCAL || (client->keen && !client->ever_answered);
	char cause[CAUSE_MAX_BYTES];

	server_error_cause(cause, server, text);
	if (server_error_is(text, "LOADING") && may_load && connection_await(&client->connection)) {
		server_fail(server, &client->connection.error, STATUS_UNAVAILABLE, "use", cause);
		client->error = client->connection.error;
		connection_tell_trouble(&client->connection, &client->error);
		forget_connection(client);
		return CLIENT_NOTHING;
	}
	return may_stay(client, text, of_subscription)
		       ? stay(client, cause)
		       : fail_connection(client, STATUS_UNAVAILABLE, "use", cause);
}

/* The server answered with an error: CLIENT_FAILED if it is unavailable, and asked again later,
 * else CLIENT_REFUSED. of_subscription: it does not answer the request. */
static enum client_event refused(struct client *client, const char *text, bool of_subscription)
{
	const enum status status = server_error_status(text);
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES], names[1024] = "";
	enum client_event event = CLIENT_REFUSED;

	if (status == STATUS_REFUSED)
		list_names(client, text, names, sizeof(names));
	if (status == STATUS_UNAVAILABLE)
		event = refused_for_now(client, text, of_subscription);
	else if (*names)
		tell_denied(client, strstr(text, " key") && client->request.script);
	else if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     shorten(shown, client->request.argv[0]));
	else
		server_fail(client->connection.server, &client->error, status, "use",
			    server_error_cause(cause, client->connection.server, text));
	if (event == CLIENT_REFUSED) {
		connection_tell_trouble(&client->connection, &client->error);
		client->phase = REQUEST_NONE;
	}
	connection_tell_words(&client->connection, text, names);
	return event;
}

/* ---- What comes in ---- */

static bool is_text(const redisReply *reply, const char *text)
{
	return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

static int find_channel(const struct client *client, const redisReply *name)
{
	int i = client->channel_count - 1;

	while (i >= 0 && !is_text(name, client->channels[i]))
		i--;
	return i;
}

static enum client_event take_push(struct client *client, redisReply *push)
{
	const redisReply *text;
	bool fits;

	if (push->elements != 3)
		return CLIENT_NOTHING;
	if (is_text(push->element[0], "subscribe") || is_text(push->element[0], "ssubscribe"))
		settle(client, OWED_CHANNEL);
	if (is_text(push->element[0], "sunsubscribe"))
		/* the slot has moved: a waiter waits at its new place */
		return fail_connection(client, STATUS_UNAVAILABLE, "use",
				       "the lock has moved to another node");
	text = push->element[2];
	if ((!is_text(push->element[0], "message") && !is_text(push->element[0], "smessage")) ||
	    text->type != REDIS_REPLY_STRING)
		return CLIENT_NOTHING;
	client->heard_on = find_channel(client, push->element[1]);
	/* the beginning of a message that is too long must not pass for a message */
	fits = text->len < sizeof(client->message) && strlen(text->str) == text->len;
	snprintf(client->message, sizeof(client->message), "%s", fits ? text->str : "");
	client->traffic.again_ms = 0; /* the server serves again, or serves others */
	return CLIENT_MESSAGE;
}

/* A server that is busy with a script refuses one more channel. A waiter that went away and came
 * back would miss its turn meanwhile; so it stays, and subscribes with its next request.
 *
 * Redis 8.6 refuses every channel when its memory is full. But it serves a renewal, and a request
 * that writes nothing: the answer to the request itself says whether it was refused. */
static bool is_put_off(struct client *client, const char *text)
{
	struct traffic *traffic = &client->traffic;
	int due = 0;

	for (int i = 0; i < traffic->owed_count; i++)
		due += traffic->owed[i] == OWED_CHANNEL;
	if (server_error_is(text, "OOM"))
		traffic->subscribed = 0;
	else if (due == 1 && traffic->subscribed >= 2 && server_error_is(text, "BUSY"))
		traffic->subscribed--;
	else
		return false;
	return settle(client, OWED_CHANNEL);
}

/* An error does not say what it answers: a waiter that becomes the first may have subscribed to
 * another channel while a request was under way. */
static enum client_event take_error(struct client *client, const char *text)
{
	const struct traffic *traffic = &client->traffic;
	const bool of_subscription =
		find_owed(traffic, OWED_CHANNEL) < find_owed(traffic, OWED_ANSWER);
	enum client_event event;

	if (of_subscription && is_put_off(client, text))
		return CLIENT_NOTHING;
	if (server_error_is(text, "MOVED") || server_error_is(text, "ASK")) {
		if (!connection_redirect(&client->connection, text))
			return fail_connection(client, STATUS_UNAVAILABLE, "use",
					       "the nodes of the cluster redirect again and again");
		/* nothing was done there; but if a subscription was refused, the slot may have come
		 * before the server read the request behind it */
		if (!of_subscription)
			unsend(client);
		forget_connection(client);
		return CLIENT_NOTHING;
	}
	if (server_error_is(text, "NOSCRIPT") && !of_subscription && client->request.script &&
	    client->phase == REQUEST_SENT) {
		settle(client, OWED_ANSWER);
		send_request(client, true);
		return CLIENT_NOTHING;
	}
	if (!of_subscription)
		settle(client, OWED_ANSWER);
	event = refused(client, text, of_subscription);
	if (of_subscription && event == CLIENT_REFUSED) {
		/* the request that was sent behind it may have been granted */
		client->strays++;
		client->channel_count = 0;
		start_over(client);
	}
	return event;
}

static enum client_event answered(struct client *client)
{
	struct connection *connection = &client->connection;

	keep_seed(connection);
	connection->route.tried = 0;
	connection->route.is_well = true;
	connection->route.redirections = 0;
	connection->attempts = 0;
	connection->trouble = TROUBLE_NONE;
	connection->error.status = STATUS_OK;
	connection_give_up(connection);
	client->phase = REQUEST_NONE;
	client->traffic.returning = false;
	client->ever_answered = true;
	client->error.status = STATUS_OK;
	return CLIENT_REPLY;
}

static enum client_event take_answer(struct client *client, redisReply *reply)
{
	const struct request *request = &client->request;

	if (reply->type == REDIS_REPLY_ERROR)
		return take_error(client, reply->str);
	if (settle(client, OWED_ASKING))
		return CLIENT_NOTHING;
	/* a server that answers before the request has left would make us pile up requests */
	if (client->phase < REQUEST_SENT || connection_is_sending(&client->connection) ||
	    !settle(client, OWED_ANSWER))
		return fail_connection(client, STATUS_BUG, "understand",
				       "it sent a reply without a request");
	if (client->phase == REQUEST_CONFIRMING) {
		client->replicas = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
		return answered(client);
	}
	if (client->channel_count > 0 && client->connection.handshake.shards &&
	    !client->traffic.by_shard) {
		/* the handshake has just said what kind of server this is; no copy is under way */
		unsend(client);
		client->retried = true;
		start_over(client);
		return CLIENT_NOTHING;
	}
	client->reply = reply;
	if (request->replicas == 0 || strcmp(reply_text(reply, 0), request->durable) != 0)
		return answered(client);
	client->phase = REQUEST_CONFIRMING;
	client->ever_answered = true; /* there is something to come back to */
	send_wait(client);
	return CLIENT_NOTHING;
}

static enum client_event take(struct client *client, redisReply *reply)
{
	enum client_event event = reply->type == REDIS_REPLY_PUSH ? take_push(client, reply)
								  : take_answer(client, reply);

	if (reply != client->reply)
		freeReplyObject(reply);
	return event;
}

/* ---- Life ---- */

/* The one before may have ended in its handshake. A process that goes on for a dead one does not
 * know what the dead one was told. */
static void opened(struct client *client)
{
	forget_connection(client);
	client->traffic.returning = client->ever_answered || client->strays > 0;
	if (!client_has_request(client)) /* else they go with the request */
		send_subscriptions(client);
}

static bool is_open(const struct client *client)
{
	return client->connection.stage == CONNECTION_OPEN &&
	       !client->connection.handshake.to_sentinel;
}

void client_tell_late(const struct client *client, struct error *err)
{
	const struct connection *connection = &client->connection;

	if (client->error.status)
		*err = client->error;
	else if (connection->local_folder >= 0 && connection->stage == CONNECTION_DOWN)
		local_server_failure(connection->local_folder, err);
	else
		server_fail(connection->server, err, STATUS_UNAVAILABLE, "reach",
			    connection_lateness(connection));
}

static bool has_greeted(const struct client *client)
{
	return is_open(client) && client->connection.handshake.due == 0;
}

static bool is_idle(const struct client *client)
{
	return client->connection.stage == CONNECTION_DOWN && !client_has_request(client) &&
	       client->channel_count == 0 && !client->eager;
}

/* Only the greeting tells whether the server is the cluster that a list is for, and whether it has
 * the database; so requests wait for it. */
static bool may_send(const struct client *client)
{
	const struct server *server = client->connection.server;
	const bool is_known = !server_is_list(server) && !server->db;

	return client->phase == REQUEST_WAITING &&
	       (is_known ? is_open(client) : has_greeted(client));
}

/* Until the handshake is answered, the connection watches the time: another seed may do. */
static int64_t due_ms(const struct client *client)
{
	return client->phase >= REQUEST_SENT && has_greeted(client) ? client->traffic.due_ms
								    : NEVER_MS;
}

static enum client_event step(struct client *client)
{
	enum client_event event = CLIENT_NOTHING;
	redisReply *reply;

	if (client->phase != REQUEST_CONFIRMING)
		drop_reply(client);
	if (is_idle(client))
		return CLIENT_NOTHING;
	for (int replies = 0; event == CLIENT_NOTHING && replies < REPLIES_AT_ONCE; replies++) {
		if (may_send(client) && clock_ms() >= client->traffic.again_ms)
			send_request(client, false);
		const enum connection_event what = connection_step(&client->connection, &reply);

		switch (what) {
		case CONNECTION_NOTHING:
			return CLIENT_NOTHING;
		case CONNECTION_OPENED:
			opened(client);
			break;
		case CONNECTION_REPLY:
			event = take(client, reply);
			break;
		case CONNECTION_FAILED:
		case CONNECTION_REFUSED:
			return lost(client, what);
		}
	}
	client->traffic.more = true;
	return event;
}

/* A server that is not there yet: people at a terminal wait for it. */
static void tell_absence(struct client *client)
{
	const struct connection *connection = &client->connection;
	const int64_t from_ms = connection->until_ms - connection->timeout_ms;
	struct connection_story *story = &client->connection.story;
	static const char words[] = "; trying again";
	char text[4 * MESSAGE_CHARACTERS + 1];

	if (!story->messenger || story->messenger->verbose || story->told_absence ||
	    !client->keen || client->ever_answered || !client->error.status ||
	    !connection->awaited || clock_ms() < from_ms + ABSENCE_MS || !isatty(STDERR_FILENO))
		return;
	story->told_absence = true;
	shorten_to(text, MESSAGE_CHARACTERS - strlen(words), client->error.text);
	complain_in_passing("%s", strcat(text, words));
}

/* If we are late ourselves, perhaps because we were stopped, the reply may have come. */
enum client_event client_step(struct client *client)
{
	const bool was_due = clock_ms() >= due_ms(client);
	enum client_event event;

	client->traffic.more = false;
	event = step(client);
	tell_absence(client);
	if (was_due && clock_ms() >= due_ms(client))
		return fail_connection(client, STATUS_UNAVAILABLE, "reach", "no reply in time");
	return event;
}

int64_t client_wait(const struct client *client, struct pollfd *slot)
{
	int64_t wake = connection_wait(&client->connection, slot);

	if (client->traffic.more)
		return 0;
	if (is_idle(client))
		return NEVER_MS;
	return earliest(wake, may_send(client) ? client->traffic.again_ms : due_ms(client));
}

bool client_subscribe(struct client *client, const char *channel)
{
	struct traffic *traffic = &client->traffic;

	for (int i = 0; i < client->channel_count; i++)
		if (strcmp(client->channels[i], channel) == 0)
			return false;
	if (client->channel_count == CLIENT_CHANNELS)
		client->channel_count--;
	if (traffic->subscribed > client->channel_count)
		traffic->subscribed = client->channel_count;
	snprintf(client->channels[client->channel_count++], CHANNEL_MAX_BYTES, "%s", channel);
	if (is_open(client))
		send_subscriptions(client);
	return true;
}

bool client_hears_all(const struct client *client)
{
	return client->traffic.subscribed == client->channel_count;
}

void client_request(struct client *client, const struct request *request)
{
	connection_allow(&client->connection);
	client->request = *request;
	client->phase = REQUEST_WAITING;
	client->retried = false;
	client->traffic.again_ms = 0;
}

void client_cancel(struct client *client)
{
	if (client->phase >= REQUEST_SENT)
		start_over(client);
	connection_allow(&client->connection);
	client->phase = REQUEST_NONE;
}

bool client_is_still(const struct client *client)
{
	return has_greeted(client) && !client_has_request(client) &&
	       client->traffic.owed_count == 0 && connection_is_silent(&client->connection);
}

/* ---- Waiting for one thing ---- */

enum goal {
	TO_GREET,
	TO_BE_ANSWERED,
	TO_HEAR, /* a message, or that the connection is lost, or nothing until then */
};

static bool is_reached(const struct client *client, enum goal goal, enum client_event event)
{
	switch (goal) {
	case TO_GREET:
		return has_greeted(client);
	case TO_BE_ANSWERED:
		return event == CLIENT_REPLY;
	case TO_HEAR:
		break;
	}
	return event != CLIENT_NOTHING && event != CLIENT_REFUSED;
}

/* The next connection may work, after one that broke. */
static bool is_over(const struct client *client, enum client_event event, bool patient)
{
	const bool goes_on = client->error.status == STATUS_UNAVAILABLE &&
			     (patient || client->connection.trouble == TROUBLE_BROKE);

	return event == CLIENT_REFUSED || (event == CLIENT_FAILED && !goes_on);
}

static int await(struct client *client, enum goal goal, int64_t until_ms, bool patient,
		 struct error *err)
{
	struct pollfd slot;

	for (;;) {
		enum client_event event = client_step(client);

		if (is_reached(client, goal, event))
			return 0;
		if (is_over(client, event, patient)) {
			*err = client->error;
			return -1;
		}
		if (event != CLIENT_NOTHING)
			continue;
		const int64_t wake = earliest(client_wait(client, &slot), until_ms);

		if (clock_ms() >= until_ms) {
			client_tell_late(client, err);
			return goal == TO_HEAR ? 0 : -1;
		}
		const int64_t left = earliest(wake - clock_ms(), INT_MAX);

		poll(&slot, 1, left > 0 ? (int)left : 0);
	}
}

/* A server that goes away is an error to report: SIGPIPE must not end the command. */
static int await_without_sigpipe(struct client *client, enum goal goal, int64_t until_ms,
				 bool patient, struct error *err)
{
	const struct timespec at_once = {0};
	sigset_t pipe, before;
	int result;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, &before);
	result = await(client, goal, until_ms, patient, err);
	if (!sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err)
{
	int result;

	client_request(client, request);
	/* a call does not wait for the pause after another one that failed */
	client->connection.retry_ms = 0;
	result = await_without_sigpipe(client, TO_BE_ANSWERED, until_ms, patient, err);
	/* a reply that comes too late must not answer the next request */
	if (result < 0)
		client_cancel(client);
	return result;
}

int client_connect(struct client *client, int64_t until_ms, struct error *err)
{
	client->eager = true;
	return await_without_sigpipe(client, TO_GREET, until_ms, false, err);
}

void client_finish(struct client *client, int64_t until_ms)
{
	struct error ignored;

	if (client_has_request(client))
		await_without_sigpipe(client, TO_BE_ANSWERED, until_ms, false, &ignored);
	client_cancel(client);
}

int client_listen(struct client *client, int64_t until_ms, struct error *err)
{
	return await_without_sigpipe(client, TO_HEAR, until_ms, false, err);
}

/* ---- Telling what the client is asked to do ---- */

void connection_trace_ask(const struct client *client, const char *question, const char *about)
{
	const struct messenger *messenger = client->connection.story.messenger;

	if (messenger)
		message_step(messenger, "asking %s%s%s", question, *about ? " " : "", about);
}

void connection_trace_answer(const struct client *client)
{
	const struct messenger *messenger = client->connection.story.messenger;
	char took[DURATION_MAX_BYTES];

	if (messenger)
		message_step(messenger, "the server has answered after %s",
			     duration_show(took, clock_ms() - client->sent_ms));
}
