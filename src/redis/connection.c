/* Each stage goes on as far as it can without waiting. An address that fails leads to the next, a
 * seed to the next seed, and a round of all of them to a pause. */
#include "redis/connection.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/message.h"
#include "base/text.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/server_error.h"
#include "redis/tls.h"

/* A few bytes can announce more elements than there is memory, or be nested until the stack is
 * full. The longest reply of use is a queue: six elements, and less than a kilobyte, for each
 * waiter. */
#define REPLY_MAX_BYTES (64u << 20)
#define REPLY_MAX_ELEMENTS (1 << 20)
#define REPLY_MAX_DEPTH 8

#define REDIRECTIONS_MAX 8
#define BACKOFF_MIN_MS INT64_C(10)
#define LOCAL_START_RETRY_MS 3

/* An attempt has this time at least, also if this process was stopped meanwhile. */
#define ATTEMPT_MIN_MS 50

void connection_init(struct connection *connection, const struct server *server, int64_t timeout_ms)
{
	*connection = (struct connection){
		.server = server,
		.timeout_ms = timeout_ms,
		.back_off_max_ms = BACK_OFF_MAX_MS,
		.fd = -1,
		.local_folder = -1,
	};
}

void connection_begin_at(struct connection *connection, const struct connection *last)
{
	if (last->handshake.is_cluster)
		connection->route.named = last->endpoint;
}

void connection_allow(struct connection *connection)
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

bool connection_redirect(struct connection *connection, const char *text)
{
	struct route *route = &connection->route;

	if (route->redirections >= REDIRECTIONS_MAX ||
	    !server_error_redirects(text, &connection->endpoint, &route->named))
		return false;
	route->redirections++;
	route->asks_next = server_error_is(text, "ASK");
	connection->handshake.is_cluster = true;
	connection_drop(connection);
	return true;
}

void connection_is_well(struct connection *connection)
{
	keep_seed(connection);
	connection->route.tried = 0;
	connection->route.is_well = true;
	connection->route.redirections = 0;
	connection->attempts = 0;
	connection->trouble = TROUBLE_NONE;
	connection->error.status = STATUS_OK;
	connection_give_up(connection);
}

/* ---- What people are told ---- */

void connection_tell_words(const struct connection *connection, const char *text,
			   const char *needed)
{
	if (connection->story.messenger)
		message_step(connection->story.messenger, "the server says: %s%s%s", text,
			     *needed ? "; needed:" : "", needed);
}

void connection_tell_trouble(struct connection *connection, const struct error *error)
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

void connection_send(struct connection *connection, int argc, const char **argv)
{
	redisAppendCommandArgv(connection->redis, argc, argv, NULL);
}

bool connection_is_sending(const struct connection *connection)
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

void connection_close(struct connection *connection)
{
	close_socket(connection);
	connection_leave(connection);
	connection->local_folder = -1;
}

void connection_drop(struct connection *connection)
{
	close_socket(connection);
	connection->addresses = (struct addresses){0};
	connection->retry_ms = 0;
}

/* Half of the delay is random, so that many waiters do not come back in step. */
int64_t connection_back_off(struct connection *connection)
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
static enum connection_event lost(struct connection *connection)
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

enum connection_event connection_fail(struct connection *connection, enum status status,
				      const char *verb, const char *cause)
{
	server_fail(connection->server, &connection->error, status, verb, cause);
	return lost(connection);
}

/* This attempt failed, connection->error says why: the next address or seed follows at once, if
 * there is one in this round. */
static enum connection_event attempt_failed(struct connection *connection)
{
	if (!connect_has_more(&connection->addresses) &&
	    (connection->route.on_named ||
	     connection->route.tried >= connection->server->seed_count))
		return lost(connection);
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

const char *connection_lateness(const struct connection *connection)
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
bool connection_await(struct connection *connection)
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

void connection_give_up(struct connection *connection)
{
	connection->until_ms = 0;
	connection->awaited = false;
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
	return password_read(read_file_open(file), text) ? known : text;
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
	return connection->handshake.due > 0 ? attempt_failed(connection) : lost(connection);
}

static enum connection_event refused(struct connection *connection, enum status status,
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
		return refused(connection, STATUS_CONFIG,
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
					    : refused(connection, status, cause);
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
	return endpoint_set_port(master, reply_text(reply, 1));
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
	const struct addresses *addresses = &connection->addresses;
	const int64_t now = clock_ms(), rest = connection->until_ms - now;
	const int64_t least = earliest(ATTEMPT_MIN_MS, connection->timeout_ms);
	const bool has_others = route->on_named || connect_has_more(addresses) ||
				route->tried < connection->server->seed_count;
	const bool may_take_all =
		connection->attempts % 2 == 1 && route->tried <= 1 && addresses->next <= 1;
	const int64_t share = has_others && !may_take_all ? rest / 2 : rest;

	connection->stage = stage;
	connection->due_ms = now + (share > least ? share : least);
}

static enum connection_event opened(struct connection *connection)
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
		return opened(connection);
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
		return opened(connection);
	if (tls_start(connection->redis, connection->server, connection->endpoint.host,
		      &connection->error) < 0)
		return lost(connection);
	enter(connection, CONNECTION_SECURING);
	return await_tls(connection);
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
		return lost(connection);
	if (!connection->awaited && connection->story.messenger)
		message_step(connection->story.messenger, "no private server runs; starting one");
	if (connection_await(connection))
		return CONNECTION_NOTHING;
	local_server_failure(connection->local_folder, &connection->error);
	return lost(connection);
}

static enum connection_event open_local(struct connection *connection)
{
	if (connection->local_folder < 0)
		connection->local_folder = local_server_open(&connection->error);
	if (connection->local_folder < 0)
		return lost(connection);
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
	if (connect_has_more(&connection->addresses))
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

enum connection_event connection_step(struct connection *connection, struct redisReply **reply)
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

int64_t connection_wait(const struct connection *connection, struct pollfd *slot)
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
