/* First the connection: each stage goes on as far as it can without waiting. An address that fails
 * leads to the next, a seed to the next seed, and a round of all of them to a pause. Then the
 * requests: they are sent, each reply finds what it answers, and a failure may pass. */
#include "redis/client.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
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

/* The peer is gone when no probe has been answered for the time of TCP_USER_TIMEOUT. */
#define KEEPALIVE_IDLE_S 10
#define KEEPALIVE_INTERVAL_S 5

/* People are told when a server has been away for this long. */
#define ABSENCE_MS 1000

/* ==== The connection ==== */

/* connection->error becomes "cannot VERB the server: CAUSE". */
static void note(struct connection *connection, enum status status, const char *verb,
		 const char *cause)
{
	fail_about(&connection->error, status, verb, server_shown(connection->server), cause);
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
	connection->wake_ms = earliest(connection->wake_ms, latest_ms);
}

/* The next round begins with the seed at the other end. */
static void keep_seed(struct connection *connection)
{
	struct route *route = &connection->route;

	if (!route->on_named && route->tried > 0)
		route->seed = (route->seed + route->tried - 1) % connection->server->seed_count;
}

/* ---- What people are told ---- */

/* The server has greeted us. Where there may be several, the endpoint says which one it is. */
static void tell_connection(struct connection *connection)
{
	const bool is_one = connection->server->seed_count == 0;
	struct connection_story *story = &connection->story;
	char took[DURATION_MAX_BYTES], port[8] = "";

	duration_show(took, clock_ms() - story->begun_ms);
	story->begun_ms = 0;
	story->has_greeted = true;
	if (!is_one)
		snprintf(port, sizeof(port), ":%u", connection->endpoint.port);
	message_step(connection->story.messenger, "connected to %s%s after %s",
		     is_one ? server_shown(connection->server) : connection->endpoint.host, port,
		     took);
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

static void connection_drop(struct connection *connection)
{
	close_socket(connection);
	connection->addresses = (struct addresses){0};
	connection->wake_ms = 0;
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
static enum client_event round_lost(struct connection *connection)
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
	connection->wake_ms = clock_ms() + connection_back_off(connection);
	return CLIENT_FAILED;
}

static bool has_addresses(const struct connection *connection)
{
	return connection->addresses.next < connection->addresses.count;
}

/* This attempt failed, connection->error says why: the next address or seed follows at once, if
 * there is one in this round. */
static enum client_event attempt_failed(struct connection *connection)
{
	if (!has_addresses(connection) &&
	    (connection->route.on_named ||
	     connection->route.tried >= connection->server->seed_count))
		return round_lost(connection);
	close_socket(connection);
	connection->wake_ms = 0;
	return CLIENT_NOTHING;
}

/* Before the greeting is over, another seed may do: this end may be no server for locks at all. */
static enum client_event connection_fail(struct connection *connection, enum status status,
					 const char *verb, const char *cause)
{
	note(connection, status, verb, cause);
	return connection->handshake.due > 0 ? attempt_failed(connection) : round_lost(connection);
}

/* If no address can be connected to, the error is that of the first one: the others may be of a
 * kind that is not in use here. */
static enum client_event unreachable(struct connection *connection, const char *cause)
{
	if (connection->addresses.next <= 1 || connection->redis) {
		if (connection->trouble != TROUBLE_BROKE)
			connection->trouble = TROUBLE_AWAY;
		note(connection, STATUS_UNAVAILABLE, "reach", cause);
	}
	return attempt_failed(connection);
}

static const char *connection_lateness(const struct connection *connection)
{
	if (connection->stage == CONNECTION_LOOKING_UP)
		return "its name was not found in time";
	if (connection->stage == CONNECTION_CONNECTING)
		return strerror(ETIMEDOUT);
	return connection->stage == CONNECTION_SECURING
		       ? "no answer to the TLS handshake in time (does it speak TLS?)"
		       : "no reply in time";
}

/* An attempt took too long. The last one before connection_await gives up may have had no time:
 * then the error stays that of the attempts before. */
static enum client_event late(struct connection *connection)
{
	return connection->awaited && connection->error.status
		       ? attempt_failed(connection)
		       : unreachable(connection, connection_lateness(connection));
}

/* Nothing has come yet. */
static enum client_event keep_waiting(struct connection *connection)
{
	return clock_ms() < connection->wake_ms ? CLIENT_NOTHING : late(connection);
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
	connection->wake_ms =
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
	int64_t port;

	if (number_parse(text, strlen(text), &port) < 0 || port < 1 || port > UINT16_MAX)
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

/* Whether an error is of this kind: its first word, as "MOVED". */
static bool is_error(const char *text, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

static bool connection_redirect(struct connection *connection, const char *text)
{
	struct route *route = &connection->route;

	if (route->redirections >= REDIRECTIONS_MAX ||
	    !read_redirection(text, &connection->endpoint, &route->named))
		return false;
	route->redirections++;
	route->asks_next = is_error(text, "ASK");
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

static enum client_event greeting_refused(struct connection *connection, enum status status,
					  const char *cause)
{
	note(connection, status, "use", cause);
	round_lost(connection);
	return CLIENT_REFUSED;
}

static const char *field_of(const redisReply *hello, const char *name)
{
	const char *text = reply_field(hello, name);

	return text ? text : "";
}

/* A sentinel or a replica is no place for locks: if there may be another server, that one is tried.
 * Of two ordinary servers, each would have a holder of its own. */
static enum client_event take_hello(struct connection *connection, const redisReply *hello)
{
	const struct server *server = connection->server;
	struct handshake *handshake = &connection->handshake;

	handshake->is_cluster = strcmp(field_of(hello, "mode"), "cluster") == 0;
	handshake->shards = handshake->is_cluster && atoi(field_of(hello, "version")) >= 7;
	if (strcmp(field_of(hello, "mode"), "sentinel") == 0)
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach",
				       "it is a sentinel; use redis+sentinel://HOST:PORT/MASTER");
	if (server_is_list(server) && !handshake->is_cluster)
		return greeting_refused(
			connection, STATUS_CONFIG,
			"a list of hosts is for a cluster; for a master with replicas write "
			"redis+sentinel://");
	if (strcmp(field_of(hello, "role"), "replica") == 0 && server->kind == SERVER_SENTINEL)
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", "it is a replica");
	return CLIENT_NOTHING;
}

static enum client_event take_from_server(struct connection *connection, const redisReply *reply)
{
	struct server_error error;

	if (reply->type == REDIS_REPLY_MAP)
		return take_hello(connection, reply);
	if (reply->type != REDIS_REPLY_ERROR)
		return CLIENT_NOTHING;
	server_error_read(&error, connection->server, reply->str);
	return error.status == STATUS_UNAVAILABLE
		       ? connection_fail(connection, error.status, "use", error.cause)
		       : greeting_refused(connection, error.status, error.cause);
}

/* The password for sentinels has settings of its own. */
static enum client_event sentinel_refused(struct connection *connection, const char *text)
{
	const struct server *server = connection->server;
	const bool wants_password = is_error(text, "NOAUTH");
	char shown[SHORT_MAX_BYTES];
	struct server_error error;

	server_error_read(&error, server, text);
	if (strstr(text, "unknown command"))
		strcpy(error.cause, "it is no sentinel");
	else if (wants_password && server->sentinel_password)
		snprintf(error.cause, sizeof(error.cause),
			 "it refuses this user, or the password from %s", server->sentinel_from);
	else if (wants_password && !server->password)
		strcpy(error.cause, "it wants a password: --sentinel-password-file");
	fail(&connection->error, error.status == STATUS_REFUSED ? error.status : STATUS_UNAVAILABLE,
	     "cannot ask sentinel %s:%u: %s",
	     shorten_middle(shown, SHORT_CHARACTERS, connection->endpoint.host),
	     connection->endpoint.port, error.cause);
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

static enum client_event take_from_sentinel(struct connection *connection, const redisReply *reply)
{
	char name[SHORT_MAX_BYTES], shown[SHORT_MAX_BYTES];
	struct endpoint master;

	if (connection->handshake.due > 0)
		return CLIENT_NOTHING;
	if (reply->type == REDIS_REPLY_ERROR)
		return sentinel_refused(connection, reply->str);
	if (read_master(reply, &master)) {
		keep_seed(connection);
		connection->route.named = master;
		connection_drop(connection);
		return CLIENT_NOTHING;
	}
	fail(&connection->error, STATUS_UNAVAILABLE,
	     "cannot find master %s: sentinel %s:%u knows no such master",
	     shorten(name, connection->server->master),
	     shorten_middle(shown, SHORT_CHARACTERS, connection->endpoint.host),
	     connection->endpoint.port);
	return attempt_failed(connection);
}

static enum client_event take_greeting(struct connection *connection, const redisReply *reply)
{
	struct handshake *handshake = &connection->handshake;
	enum client_event event;

	if (reply->type == REDIS_REPLY_ERROR)
		message_step(connection->story.messenger, "the server says: %s", reply->str);
	handshake->due--;
	event = handshake->to_sentinel ? take_from_sentinel(connection, reply)
				       : take_from_server(connection, reply);
	if (event == CLIENT_NOTHING && connection->stage == CONNECTION_OPEN && handshake->due == 0)
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
	connection->wake_ms = now + (share > least ? share : least);
}

static enum client_event greet_peer(struct connection *connection)
{
	connection->opened++;
	enter(connection, CONNECTION_OPEN);
	if (connection->handshake.to_sentinel)
		greet_sentinel(connection);
	else
		greet_server(connection);
	return CLIENT_NOTHING;
}

static enum client_event await_tls(struct connection *connection)
{
	struct error why;
	const int result = tls_shake_hands(connection->redis, &why);

	if (result == 0)
		return greet_peer(connection);
	connection->handshake.tls_awaits = (short)result;
	if (result > 0)
		return keep_waiting(connection);
	if (connection->redis->err == REDIS_ERR_EOF)
		connection->trouble = TROUBLE_BROKE;
	note(connection, why.status, "reach", why.text);
	return attempt_failed(connection);
}

static enum client_event connected(struct connection *connection)
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

static enum client_event await_socket(struct connection *connection)
{
	struct pollfd slot = {.fd = connection->fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int cause = 0;

	if (poll(&slot, 1, 0) == 0)
		return keep_waiting(connection);
	if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &cause, &length) < 0)
		cause = errno;
	return cause ? unreachable(connection, strerror(cause)) : connected(connection);
}

/* ---- The way to a socket ---- */

/* No connection, as errno says. Without a descriptor that is no trouble of the server's, and final;
 * but a process that was connected tries again, whatever the cause. */
static enum client_event no_connection(struct connection *connection)
{
	const bool is_final = (errno == EMFILE || errno == ENFILE) && connection->opened == 0;

	return is_final ? connection_fail(connection, STATUS_OS, "reach", strerror(errno))
			: unreachable(connection, strerror(errno));
}

/* The private server does not listen: starts it. */
static enum client_event start_local(struct connection *connection)
{
	if (local_server_start(connection->local_folder, &connection->error) < 0)
		return round_lost(connection);
	if (!connection->awaited)
		message_step(connection->story.messenger, "no private server runs; starting one");
	if (connection_await(connection))
		return CLIENT_NOTHING;
	local_server_failure(connection->local_folder, &connection->error);
	return round_lost(connection);
}

static enum client_event open_unix(struct connection *connection)
{
	const bool is_local = connection->server->kind == SERVER_LOCAL;

	if (is_local && connection->local_folder < 0)
		connection->local_folder = local_server_open(&connection->error);
	if (is_local && connection->local_folder < 0)
		return round_lost(connection);
	connection->fd = is_local ? local_server_connect(connection->local_folder)
				  : connect_unix(connection->server->path);
	if (connection->fd >= 0)
		return connected(connection);
	if (errno == EMFILE || errno == ENFILE)
		return no_connection(connection);
	/* else it does not run, or is too busy to answer */
	if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(errno));
	return is_local && !connection->starts_none ? start_local(connection)
						    : unreachable(connection, strerror(errno));
}

static void set_option(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

/* A peer may vanish without a word. The client itself notices that when it waits for a reply; but a
 * holder with a long lease may have nothing to ask for hours. */
static void set_options(int fd, int64_t timeout_ms)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)earliest(timeout_ms, INT_MAX));
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
}

static enum client_event try_next_address(struct connection *connection)
{
	const struct address *address = &connection->addresses.list[connection->addresses.next++];
	const struct sockaddr *name = (const struct sockaddr *)&address->name;

	connection->fd = socket(name->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		return no_connection(connection);
	set_options(connection->fd, connection->timeout_ms);
	if (connect(connection->fd, name, address->length) < 0 && errno != EINPROGRESS)
		return unreachable(connection, strerror(errno));
	enter(connection, CONNECTION_CONNECTING);
	return CLIENT_NOTHING;
}

/* ---- Looking a name up ---- */

/* A resolver has no deadline, and a lease has one. So each look-up is a thread of its own, which
 * writes the answer of getaddrinfo into a pipe. It is left to itself when its answer is not wanted
 * any more. It owns its query. */
struct query {
	struct endpoint endpoint;
	int answer_fd;
};

struct answer {
	const char *why; /* there is none */
	struct addresses addresses;
};

/* Returns what getaddrinfo returned. */
static int add_addresses(struct addresses *addresses, const char *host, uint16_t port, int flags)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	struct addrinfo *found = NULL;
	char service[8];
	int code;

	snprintf(service, sizeof(service), "%u", port);
	code = getaddrinfo(host, service, &hints, &found);
	for (const struct addrinfo *at = found; at && addresses->count < ADDRESSES_MAX;
	     at = at->ai_next) {
		struct address *address = &addresses->list[addresses->count++];

		memcpy(&address->name, at->ai_addr, at->ai_addrlen);
		address->length = at->ai_addrlen;
	}
	if (found)
		freeaddrinfo(found);
	return code;
}

/* An IP address needs no resolver. localhost is this host, whatever a resolver thinks (RFC 6761).
 * Returns false when the name must be looked up. */
static bool find_known(struct addresses *addresses, const struct endpoint *endpoint)
{
	static const int flags = AI_NUMERICHOST | AI_NUMERICSERV;

	*addresses = (struct addresses){0};
	if (strcmp(endpoint->host, "localhost") != 0)
		return add_addresses(addresses, endpoint->host, endpoint->port, flags) == 0;
	add_addresses(addresses, "127.0.0.1", endpoint->port, flags);
	add_addresses(addresses, "::1", endpoint->port, flags);
	return true;
}

static void *look_up(void *argument)
{
	struct query *query = argument;
	struct answer answer = {0};
	int code;

	pthread_detach(pthread_self());
	code = add_addresses(&answer.addresses, query->endpoint.host, query->endpoint.port,
			     AI_ADDRCONFIG);
	answer.why = code == 0            ? "its name has no address"
		     : code == EAI_SYSTEM ? strerror(errno)
		     : code == EAI_AGAIN
			     ? "temporary failure in name resolution" /* musl: "Try again" */
			     : gai_strerror(code);
	/* fails if the look-up was dropped */
	(void)!write(query->answer_fd, &answer, sizeof(answer));
	close(query->answer_fd);
	free(query);
	return NULL;
}

/* Returns a descriptor that becomes readable when there is an answer, or -1 with errno. No signal
 * is for the thread: the process takes its signals elsewhere. */
static int start_look_up(const struct endpoint *endpoint)
{
	struct query *query = malloc(sizeof(*query));
	pthread_t thread;
	sigset_t all, before;
	int ends[2];

	if (!query || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(query);
		return -1;
	}
	*query = (struct query){*endpoint, ends[1]};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&thread, NULL, look_up, query);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno == 0)
		return ends[0];
	close(ends[0]);
	close(ends[1]);
	free(query);
	return -1;
}

static enum client_event await_name(struct connection *connection)
{
	struct answer answer;
	const ssize_t length = read(connection->fd, &answer, sizeof(answer));

	if (length < 0 && errno == EAGAIN)
		return keep_waiting(connection);
	close_socket(connection);
	if (length != sizeof(answer))
		return unreachable(connection, "the look-up of its name failed");
	connection->addresses = answer.addresses;
	return answer.addresses.count > 0 ? try_next_address(connection)
					  : unreachable(connection, answer.why);
}

/* The endpoint that was named goes first, then the seeds, from the one that was fine last. */
static enum client_event open_tcp(struct connection *connection)
{
	const struct server *server = connection->server;
	struct route *route = &connection->route;

	if (has_addresses(connection))
		return try_next_address(connection);
	route->on_named = route->named.port != 0;
	connection->handshake.to_sentinel = !route->on_named && server->kind == SERVER_SENTINEL;
	connection->endpoint =
		route->on_named
			? route->named
			: server->seeds[(route->seed + route->tried++) % server->seed_count];
	if (find_known(&connection->addresses, &connection->endpoint))
		return try_next_address(connection);
	connection->fd = start_look_up(&connection->endpoint);
	if (connection->fd < 0)
		return no_connection(connection);
	enter(connection, CONNECTION_LOOKING_UP);
	return CLIENT_NOTHING;
}

static enum client_event begin(struct connection *connection)
{
	const int64_t now = clock_ms();
	struct route *route = &connection->route;

	if (now < connection->wake_ms)
		return CLIENT_NOTHING;
	/* a process that was stopped, or had nothing to ask, begins anew */
	if (!connection->until_ms || (now >= connection->until_ms && !connection->awaited))
		connection->until_ms = now + connection->timeout_ms;
	if (!connection->story.begun_ms)
		connection->story.begun_ms = now;
	route->is_well = false;
	route->asking = route->asks_next;
	route->asks_next = false;
	return connection->server->kind < SERVER_TCP ? open_unix(connection) : open_tcp(connection);
}

/* ---- What goes over it ---- */

/* Before the first answer the cause may be that the other end speaks TLS, or that we do. */
static enum client_event broken(struct connection *connection)
{
	const struct server *server = connection->server;
	const bool is_greeting = connection->handshake.due > 0;
	const char *words = connection->redis->errstr;
	char cause[192];

	tls_explain(connection->redis);
	if (connection->redis->err == TLS_REFUSED)
		return connection_fail(connection, STATUS_REFUSED, "reach", words);
	if (is_greeting && strstr(words, "\\x15"))
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach",
				       "it speaks TLS (rediss://)");
	if (connection->redis->err == REDIS_ERR_PROTOCOL)
		return connection_fail(connection, STATUS_BUG, "understand",
				       connection->story.has_greeted
					       ? "it sent something that is no reply"
					       : "it is no Redis or Valkey server");
	connection->trouble = TROUBLE_BROKE;
	if (!is_greeting)
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", words);
	/* A server that speaks only TLS ends the connection, most often without a word. A server
	 * that has greeted us before has another reason. */
	snprintf(cause, sizeof(cause), "%.128s%s", words,
		 !connection->story.has_greeted && server->seed_count > 0 && !server->tls
			 ? " (does it want TLS, rediss://?)"
			 : "");
	return unreachable(connection, cause);
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

static bool is_too_large(const redisReader *reader)
{
	return reader->len > REPLY_MAX_BYTES || reader->ridx > REPLY_MAX_DEPTH;
}

/* *reply becomes the next reply or push that does not belong to the greeting. */
static enum client_event converse(struct connection *connection, redisReply **reply)
{
	enum client_event event = CLIENT_NOTHING;

	while (event == CLIENT_NOTHING && connection->stage == CONNECTION_OPEN) {
		const bool is_greeting = connection->handshake.due > 0;
		const bool is_late = is_greeting && clock_ms() >= connection->wake_ms;
		redisReply *next = NULL;

		redisBufferWrite(connection->redis, NULL);
		/* a server that has too many clients says so and closes, perhaps before we have
		 * said anything */
		if (is_greeting && !connection->server->tls)
			connection->redis->err = 0;
		if (connection->redis->err || next_reply(connection, &next) < 0)
			return broken(connection);
		/* a reply that came while we were late ourselves is in time */
		if (is_late && (!next || next->type == REDIS_REPLY_PUSH)) {
			freeReplyObject(next);
			return late(connection);
		}
		if (!next && is_too_large(connection->redis->reader))
			return connection_fail(connection, STATUS_BUG, "understand",
					       "it sent a reply that is too large");
		if (!next)
			return CLIENT_NOTHING;
		if (!is_greeting || next->type == REDIS_REPLY_PUSH) {
			*reply = next;
			return CLIENT_NOTHING;
		}
		event = take_greeting(connection, next);
		freeReplyObject(next);
	}
	return event;
}

static enum client_event go_on(struct connection *connection, redisReply **reply)
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

static int64_t connection_wait(const struct connection *connection, struct pollfd *slot)
{
	*slot = (struct pollfd){.fd = connection->fd, .events = POLLIN};
	if (connection->stage == CONNECTION_CONNECTING)
		slot->events = POLLOUT;
	if (connection->stage == CONNECTION_SECURING)
		slot->events = connection->handshake.tls_awaits;
	if (connection_is_sending(connection))
		slot->events |= POLLOUT;
	return connection->stage == CONNECTION_OPEN && connection->handshake.due == 0
		       ? NEVER_MS
		       : connection->wake_ms;
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

void connection_forget(struct connection *connection)
{
	connection->redis = NULL;
	connection->fd = -1;
	connection_drop(connection);
}

/* ==== Requests ==== */

void client_init(struct client *client, const struct server *server, struct messenger *messenger,
		 int64_t timeout_ms)
{
	*client = (struct client){
		.connection = {.server = server,
			       .story.messenger = messenger,
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
	if (client->connection.local_folder >= 0)
		close(client->connection.local_folder);
	client->connection.local_folder = -1;
}

bool client_has_request(const struct client *client)
{
	return client->phase != REQUEST_NONE;
}

/* ---- What goes out, and the replies that it brings ---- */

/* A subscription was confirmed, or refused. */
static void settle_channel(struct traffic *traffic)
{
	traffic->channels_due -= traffic->channels_due > 0;
	traffic->channels_first -= traffic->channels_first > 0;
}

/* Each command needs this before it at a node to which the slot is on its way. */
static void send_asking(struct client *client)
{
	if (!client->connection.route.asking)
		return;
	connection_send(&client->connection, 1, (const char *[]){"ASKING"});
	client->traffic.askings_due++;
}

/* Each channel has a command of its own: a server confirms each channel of a command, but refuses
 * the command with one error. */
static void subscribe(struct client *client, const char *channel)
{
	const char *argv[] = {client->traffic.by_shard ? "SSUBSCRIBE" : "SUBSCRIBE", channel};

	send_asking(client);
	connection_send(&client->connection, 2, argv);
	client->traffic.channels_due++;
	client->traffic.channels_first += client->phase < REQUEST_SENT;
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
	/* it is not the first connection, and has answered nothing yet; a process that goes on for
	 * a dead one does not know what the dead one was told */
	const bool returns =
		!client->connection.route.is_well && (client->ever_answered || client->strays > 0);
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
	if (request->again && (client->retried || returns))
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
	client->phase = whole_script ? REQUEST_SENT_WHOLE : REQUEST_SENT;
	client->replicas = 0;
	client->sent_ms = now;
	traffic->due_ms = now + client->connection.timeout_ms;
}

/* Asks how many replicas have all that this connection wrote. */
static void send_wait(struct client *client)
{
	const struct request *request = &client->request;
	char replicas[24], ms[24];

	snprintf(replicas, sizeof(replicas), "%" PRId64, request->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, request->replicas_ms);
	connection_send(&client->connection, 3, (const char *[]){"WAIT", replicas, ms});
	client->traffic.due_ms = clock_ms() + request->replicas_ms + client->connection.timeout_ms;
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

/* Copies the connection's error to the client, and tells it unless it was the last one told. */
static void tell_trouble(struct client *client)
{
	const struct error *error = &client->connection.error;

	if (!client->error.status || strcmp(error->text, client->error.text) != 0)
		message_step(client->connection.story.messenger, "%s", error->text);
	client->error = *error;
}

/* The connection, or the attempt to make one, is over; another one follows. */
static enum client_event lost(struct client *client, enum client_event event)
{
	/* a password that is being changed is refused for a while */
	const bool is_final = event == CLIENT_REFUSED && !client->ever_answered;

	forget_connection(client);
	tell_trouble(client);
	if (event != CLIENT_REFUSED && may_pass(client) && connection_await(&client->connection))
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

/* A server does not say which key or channel it denied. */
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
	note(&client->connection, STATUS_REFUSED, "use", cause);
}

/* A server that cannot serve now is asked again over the same connection: a waiter that went away
 * and came back would miss its turn meanwhile. But now and then the client looks for the server
 * anew, because its name may belong to another one by now; at once where there are several. */
static bool may_stay(const struct client *client, const struct server_error *error,
		     bool of_subscription)
{
	const struct connection *connection = &client->connection;

	/* the server was restarted under the first request */
	if (connection->trouble == TROUBLE_BROKE && !client->ever_answered)
		return false;
	return error->is_own && !of_subscription && !connection->handshake.is_cluster &&
	       connection->server->kind != SERVER_SENTINEL && connection->server->seed_count < 2 &&
	       connection->attempts % STAYS_MAX != STAYS_MAX - 1;
}

static enum client_event stay(struct client *client, const char *cause)
{
	note(&client->connection, STATUS_UNAVAILABLE, "use", cause);
	tell_trouble(client);
	unsend(client);
	client->retried = true; /* it may have been carried out in part */
	client->traffic.again_ms = clock_ms() + connection_back_off(&client->connection);
	return CLIENT_FAILED;
}

static enum client_event refused_for_now(struct client *client, const char *text,
					 const struct server_error *error, bool of_subscription)
{
	const bool may_load = client->connection.server->kind == SERVER_LOCAL ||
			      (client->keen && !client->ever_answered);

	if (is_error(text, "LOADING") && may_load && connection_await(&client->connection)) {
		note(&client->connection, error->status, "use", error->cause);
		tell_trouble(client);
		forget_connection(client);
		return CLIENT_NOTHING;
	}
	return may_stay(client, error, of_subscription)
		       ? stay(client, error->cause)
		       : fail_connection(client, error->status, "use", error->cause);
}

/* The server answered with an error: CLIENT_FAILED if it is unavailable, and asked again later,
 * else CLIENT_REFUSED. of_subscription: it does not answer the request. */
static enum client_event refused(struct client *client, const char *text, bool of_subscription)
{
	const bool of_key = strstr(text, " key") && client->request.script;
	const bool of_channel = strstr(text, " channel") && client->channel_count > 0;
	enum client_event event = CLIENT_REFUSED;
	struct server_error error;
	char shown[SHORT_MAX_BYTES];

	server_error_read(&error, client->connection.server, text);
	if (error.status == STATUS_UNAVAILABLE)
		event = refused_for_now(client, text, &error, of_subscription);
	else if (error.status == STATUS_REFUSED && (of_key || of_channel))
		tell_denied(client, of_key);
	else if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->connection.error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     shorten(shown, client->request.argv[0]));
	else
		note(&client->connection, error.status, "use", error.cause);
	if (event == CLIENT_REFUSED) {
		tell_trouble(client);
		client->phase = REQUEST_NONE;
	}
	message_step(client->connection.story.messenger, "the server says: %s", text);
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
		settle_channel(&client->traffic);
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

	if (is_error(text, "OOM"))
		traffic->subscribed = 0;
	else if (traffic->channels_due == 1 && traffic->subscribed >= 2 && is_error(text, "BUSY"))
		traffic->subscribed--;
	else
		return false;
	settle_channel(traffic);
	return true;
}

/* An error does not say what it answers: a waiter that becomes the first may have subscribed to
 * another channel while a request was under way. */
static enum client_event take_error(struct client *client, const char *text)
{
	const bool of_subscription = client->traffic.channels_first > 0;
	enum client_event event;

	if (of_subscription && is_put_off(client, text))
		return CLIENT_NOTHING;
	if (!of_subscription)
		client->traffic.channels_first = client->traffic.channels_due;
	if (is_error(text, "MOVED") || is_error(text, "ASK")) {
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
	if (is_error(text, "NOSCRIPT") && !of_subscription && client->request.script &&
	    client->phase == REQUEST_SENT) {
		unsend(client);
		send_request(client, true);
		return CLIENT_NOTHING;
	}
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
	client->ever_answered = true;
	client->error.status = STATUS_OK;
	return CLIENT_REPLY;
}

static enum client_event take_answer(struct client *client, redisReply *reply)
{
	const struct request *request = &client->request;

	if (reply->type == REDIS_REPLY_ERROR)
		return take_error(client, reply->str);
	if (client->traffic.askings_due > 0) {
		client->traffic.askings_due--;
		return CLIENT_NOTHING;
	}
	/* a server that answers before the request has left would make us pile up requests */
	if (client->phase < REQUEST_SENT || connection_is_sending(&client->connection))
		return fail_connection(client, STATUS_BUG, "understand",
				       "it sent a reply without a request");
	client->traffic.channels_first = client->traffic.channels_due;
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

/* ---- Life ---- */

/* The one before may have ended in its handshake. */
static void opened(struct client *client)
{
	forget_connection(client);
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
		fail_about(err, STATUS_UNAVAILABLE, "reach", server_shown(connection->server),
			   connection_lateness(connection));
}

static bool has_greeted(const struct client *client)
{
	return is_open(client) && client->connection.handshake.due == 0;
}

static bool is_idle(const struct client *client)
{
	return client->connection.stage == CONNECTION_DOWN && !client_has_request(client) &&
	       client->channel_count == 0;
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
	struct connection *connection = &client->connection;
	enum client_event event = CLIENT_NOTHING;

	if (client->phase != REQUEST_CONFIRMING)
		drop_reply(client);
	if (is_idle(client))
		return CLIENT_NOTHING;
	for (int replies = 0; event == CLIENT_NOTHING && replies < REPLIES_AT_ONCE; replies++) {
		const enum connection_stage before = connection->stage;
		redisReply *reply = NULL;

		if (may_send(client) && clock_ms() >= client->traffic.again_ms)
			send_request(client, false);
		event = go_on(connection, &reply);
		if (event != CLIENT_NOTHING)
			return lost(client, event);
		if (reply) {
			event = reply->type == REDIS_REPLY_PUSH ? take_push(client, reply)
								: take_answer(client, reply);
			if (reply != client->reply)
				freeReplyObject(reply);
		} else if (connection->stage <= before) {
			return CLIENT_NOTHING;
		} else if (is_open(client)) {
			opened(client);
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

	if (!connection->story.messenger || connection->story.messenger->verbose ||
	    story->told_absence || !client->keen || client->ever_answered ||
	    !client->error.status || !connection->awaited || clock_ms() < from_ms + ABSENCE_MS ||
	    !isatty(STDERR_FILENO))
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
	for (int i = 0; i < client->channel_count; i++)
		if (strcmp(client->channels[i], channel) == 0)
			return false;
	if (client->channel_count == CLIENT_CHANNELS) {
		client->channel_count--;
		memmove(client->channels[1], client->channels[2],
			sizeof(client->channels) - 2 * sizeof(client->channels[0]));
		client->traffic.subscribed -= client->traffic.subscribed > 1;
	}
	snprintf(client->channels[client->channel_count++], CHANNEL_MAX_BYTES, "%s", channel);
	if (is_open(client))
		send_subscriptions(client);
	return true;
}

void client_request(struct client *client, const struct request *request)
{
	connection_allow(&client->connection);
	client->request = *request;
	client->phase = REQUEST_WAITING;
	client->retried = false;
	client->traffic.again_ms = 0;
}

bool client_is_still(const struct client *client)
{
	return has_greeted(client) && !client_has_request(client) &&
	       client->traffic.channels_due == 0 && connection_is_silent(&client->connection);
}

/* ---- Waiting for one thing ---- */

#define TO_BE_ANSWERED (1u << CLIENT_REPLY)
#define TO_HEAR (1u << CLIENT_MESSAGE | 1u << CLIENT_FAILED)

/* The next connection may work, after one that broke. */
static bool is_over(const struct client *client, enum client_event event, bool patient)
{
	const bool goes_on = client->error.status == STATUS_UNAVAILABLE &&
			     (patient || client->connection.trouble == TROUBLE_BROKE);

	return event == CLIENT_REFUSED || (event == CLIENT_FAILED && !goes_on);
}

/* A server that goes away is an error to report: SIGPIPE must not end the command. */
static enum client_event step_without_sigpipe(struct client *client)
{
	const struct timespec at_once = {0};
	enum client_event event;
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, &before);
	event = client_step(client);
	if (!sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return event;
}

/* Returns 0 when one of the events has come, a bit each. */
static int await(struct client *client, unsigned events, int64_t until_ms, bool patient,
		 struct error *err)
{
	struct pollfd slot;

	for (;;) {
		enum client_event event = step_without_sigpipe(client);

		if (events & 1u << event)
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
			return events & TO_HEAR ? 0 : -1;
		}
		const int64_t left = earliest(wake - clock_ms(), INT_MAX);

		poll(&slot, 1, left > 0 ? (int)left : 0);
	}
}

void client_cancel(struct client *client, int64_t until_ms)
{
	struct error ignored;

	if (client_has_request(client) && clock_ms() < until_ms)
		await(client, TO_BE_ANSWERED, until_ms, false, &ignored);
	if (client->phase >= REQUEST_SENT)
		start_over(client);
	connection_allow(&client->connection);
	client->phase = REQUEST_NONE;
}

int client_call(struct client *client, const struct request *request, int64_t until_ms,
		bool patient, struct error *err)
{
	const struct messenger *messenger = client->connection.story.messenger;
	char took[DURATION_MAX_BYTES];
	int result;

	if (request->question)
		message_step(messenger, "asking %s%s%s", request->question,
			     request->about ? " " : "", request->about ? request->about : "");
	client_request(client, request);
	/* a call does not wait for the pause after another one that failed */
	if (client->connection.stage == CONNECTION_DOWN)
		client->connection.wake_ms = 0;
	result = await(client, TO_BE_ANSWERED, until_ms, patient, err);
	/* a reply that comes too late must not answer the next request */
	if (result < 0)
		client_cancel(client, 0);
	else if (request->question)
		message_step(messenger, "the server has answered after %s",
			     duration_show(took, clock_ms() - client->sent_ms));
	return result;
}

int client_ask(struct client *client, const struct request *request, int64_t until_ms,
	       struct error *err)
{
	const int64_t latest_ms = clock_ms() + client->connection.timeout_ms;

	return client_call(client, request, earliest(latest_ms, until_ms), false, err);
}

int client_listen(struct client *client, int64_t until_ms, struct error *err)
{
	return await(client, TO_HEAR, until_ms, false, err);
}
