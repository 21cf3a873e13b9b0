#include "redis/connection.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/local_server.h"
#include "redis/reply_limits.h"
#include "redis/resolve.h"
#include "redis/server_error.h"
#include "redis/server_url.h"
#include "redis/tls.h"

#define BACKOFF_MIN_MS INT64_C(10)
#define LOCAL_START_RETRY_MS 3
#define BUFFER_MAX_BYTES (64u << 20)
#define REDIRECTIONS_MAX 8

void connection_init(struct connection *connection, const struct server *server, int64_t timeout_ms)
{
	*connection = (struct connection){.server = server,
					  .timeout_ms = timeout_ms,
					  .back_off_max_ms = BACK_OFF_MAX_MS,
					  .fd = -1,
					  .local_folder = -1};
	handshake_init(&connection->handshake, server);
}

/* ---- Ends ---- */

static void close_socket(struct connection *connection)
{
	if (connection->redis)
		redisFree(connection->redis); /* and its socket */
	else if (connection->fd >= 0)
		close(connection->fd);
	reply_limits_free(connection->bounds);
	connection->redis = NULL;
	connection->bounds = NULL;
	connection->fd = -1;
	connection->handshake.due = 0;
	connection->stage = CONNECTION_DOWN;
}

void connection_close(struct connection *connection)
{
	close_socket(connection);
	if (connection->local_folder >= 0)
		close(connection->local_folder);
	connection->local_folder = -1;
}

void connection_leave(const struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	if (connection->local_folder >= 0)
		close(connection->local_folder);
}

void connection_drop(struct connection *connection)
{
	close_socket(connection);
	connection->dial = (struct connect){0};
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

static void back_off(struct connection *connection)
{
	connection->retry_ms = clock_ms() + connection_back_off(connection);
}

/* The round of attempts, or the connection, is over; another one follows. Who was named is asked
 * first after a mishap, but only once, and only where a connection that was fine has ended. A
 * sentinel that named somebody who is no good may be the only one that does not know better. */
static enum connection_event lost(struct connection *connection)
{
	if (connection->on_named && connection->server->kind == SERVER_SENTINEL)
		connection->seed = (connection->seed + 1) % connection->server->seed_count;
	if (!connection->is_well || connection->asking ||
	    connection->server->kind == SERVER_SENTINEL)
		connection->named.port = 0;
	connection_drop(connection);
	connection->tried = 0;
	connection->redirections = 0;
	connection->is_well = false;
	connection->refused = false;
	back_off(connection);
	return CONNECTION_FAILED;
}

void connection_fail(struct connection *connection, enum status status, const char *verb,
		     const char *cause)
{
	fail(&connection->error, status, "cannot %s %s: %s", verb, server_shown(connection->server),
	     cause);
	lost(connection);
}

static enum connection_event unreachable(struct connection *connection, const char *cause)
{
	fail(&connection->error, STATUS_UNAVAILABLE, "cannot reach %s: %s",
	     server_shown(connection->server), cause);
	return lost(connection);
}

/* This attempt failed, link->error says why: the next address or seed follows at once, if there is
 * one in this round. */
static enum connection_event attempt_failed(struct connection *connection)
{
	if (!connect_has_more(&connection->dial) &&
	    (connection->on_named || connection->tried >= connection->server->seed_count))
		return lost(connection);
	close_socket(connection);
	connection->retry_ms = 0;
	return CONNECTION_NOTHING;
}

/* Of several addresses where nobody listens, the first one is told: the others may be of a kind
 * that is not in use here. */
static enum connection_event attempt_failed_for(struct connection *connection, const char *cause)
{
	if (connection->dial.next <= 1 || connection->redis)
		fail(&connection->error, STATUS_UNAVAILABLE, "cannot reach %s: %s",
		     server_shown(connection->server), cause);
	return attempt_failed(connection);
}

bool connection_await(struct connection *connection)
{
	const int64_t now = clock_ms();

	if (!connection->give_up_ms)
		connection->give_up_ms = now + connection->timeout_ms;
	if (now >= connection->give_up_ms) {
		connection->give_up_ms = 0;
		return false;
	}
	connection_drop(connection);
	if (connection->server->kind == SERVER_LOCAL)
		connection->retry_ms = now + LOCAL_START_RETRY_MS;
	else
		back_off(connection);
	return true;
}

bool connection_redirect(struct connection *connection, const char *text)
{
	struct endpoint to;

	if (!server_error_redirects(text, &connection->endpoint, &to) ||
	    connection->redirections >= REDIRECTIONS_MAX)
		return false;
	connection->redirections++;
	connection->named = to;
	connection->asks_next = server_error_is(text, "ASK");
	connection->handshake.is_cluster = true;
	connection_drop(connection);
	return true;
}

void connection_is_well(struct connection *connection)
{
	if (!connection->on_named && connection->tried > 0)
		connection->seed =
			(connection->seed + connection->tried - 1) % connection->server->seed_count;
	connection->tried = 0;
	connection->is_well = true;
	connection->attempts = 0;
	connection->redirections = 0;
	connection->give_up_ms = 0;
	connection->broke = false;
	connection->error.status = STATUS_OK;
}

/* ---- From the socket to the greeting ---- */

static bool is_overdue(const struct connection *connection)
{
	return clock_ms() >= connection->due_ms;
}

void connection_send(struct connection *connection, int argc, const char **argv)
{
	redisAppendCommandArgv(connection->redis, argc, argv, NULL);
}

static enum connection_event opened(struct connection *connection)
{
	connection->stage = CONNECTION_OPEN;
	connection->opened++;
	connection->due_ms = clock_ms() + connection->timeout_ms;
	handshake_send(&connection->handshake, connection->redis);
	return connection->handshake.to_sentinel ? CONNECTION_NOTHING : CONNECTION_OPENED;
}

static enum connection_event shake_hands(struct connection *connection)
{
	struct error why;

	switch (tls_shake_hands(connection->redis, &connection->events, &why)) {
	case 0:
		return opened(connection);
	case 1:
		return is_overdue(connection)
			       ? attempt_failed_for(connection, "no answer to the TLS handshake "
								"in time (does it speak TLS?)")
			       : CONNECTION_NOTHING;
	default:
		connection->broke |= connection->redis->err == REDIS_ERR_EOF;
		fail(&connection->error, why.status, "cannot reach %s: %s",
		     server_shown(connection->server), why.text);
		return attempt_failed(connection);
	}
}

/* False when there is no memory: what there is of it goes with the socket. */
static bool have_hiredis(struct connection *connection)
{
	redisOptions options = {.type = REDIS_CONN_USERFD,
				.endpoint.fd = connection->fd,
				.options = REDIS_OPT_NONBLOCK};

	connection->bounds = NULL;
	connection->redis = redisConnectWithOptions(&options);
	if (connection->redis && !connection->redis->err)
		connection->bounds = reply_limits_set(connection->redis->reader);
	return connection->bounds;
}

static enum connection_event connected(struct connection *connection)
{
	connection->dial.next = connection->dial.count; /* no other address is needed */
	if (!have_hiredis(connection))
		return unreachable(connection, strerror(ENOMEM));
	if (!connection->server->tls)
		return opened(connection);
	if (tls_start(connection->redis, connection->server, connection->endpoint.host,
		      &connection->error) < 0)
		return lost(connection);
	connection->stage = CONNECTION_SECURING;
	return shake_hands(connection);
}

static enum connection_event mind_connect(struct connection *connection)
{
	switch (connect_result(connection->fd)) {
	case 0:
		return connected(connection);
	case 1:
		return is_overdue(connection) ? attempt_failed_for(connection, strerror(ETIMEDOUT))
					      : CONNECTION_NOTHING;
	default:
		return attempt_failed_for(connection, strerror(errno));
	}
}

/* ---- The way to a socket ---- */

/* Nobody listens on the private server's socket: starts it. */
static enum connection_event start_local(struct connection *connection)
{
	if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN)
		return unreachable(connection, strerror(errno));
	if (local_server_start(connection->local_folder, &connection->error) < 0)
		return lost(connection);
	if (!connection->give_up_ms)
		connection->launches++;
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
	return connection->fd < 0 ? unreachable(connection, strerror(errno))
				  : connected(connection);
}

static enum connection_event try_next_address(struct connection *connection)
{
	connection->fd = connect_next(&connection->dial, connection->timeout_ms);
	if (connection->fd < 0)
		return attempt_failed_for(connection, strerror(errno));
	connection->stage = CONNECTION_CONNECTING;
	return CONNECTION_NOTHING;
}

/* Whom to try now: the one that was named, else the seeds, beginning with the one that was fine
 * last. */
static void choose_endpoint(struct connection *connection)
{
	const struct server *server = connection->server;

	connection->on_named = connection->named.port != 0;
	connection->handshake.to_sentinel =
		!connection->on_named && server->kind == SERVER_SENTINEL;
	connection->endpoint = connection->on_named
				       ? connection->named
				       : server->seeds[(connection->seed + connection->tried++) %
						       server->seed_count];
}

static enum connection_event open_tcp(struct connection *connection)
{
	if (connect_has_more(&connection->dial))
		return try_next_address(connection);
	choose_endpoint(connection);
	if (connect_known(&connection->dial, &connection->endpoint))
		return try_next_address(connection);
	connection->fd = resolve_start(&connection->endpoint);
	if (connection->fd < 0)
		return attempt_failed_for(connection, strerror(errno));
	connection->stage = CONNECTION_LOOKING_UP;
	return CONNECTION_NOTHING;
}

static enum connection_event begin(struct connection *connection)
{
	if (clock_ms() < connection->retry_ms)
		return CONNECTION_NOTHING;
	connection->due_ms = clock_ms() + connection->timeout_ms;
	if (connection->connected_ms >= connection->begun_ms)
		connection->begun_ms = clock_ms();
	connection->is_well = false;
	connection->asking = connection->asks_next;
	connection->asks_next = false;
	switch (connection->server->kind) {
	case SERVER_LOCAL:
		return open_local(connection);
	case SERVER_UNIX:
		return open_unix(connection);
	case SERVER_TCP:
	case SERVER_SENTINEL:
		return open_tcp(connection);
	}
	return CONNECTION_NOTHING;
}

static enum connection_event mind_lookup(struct connection *connection)
{
	struct pollfd slot = {.fd = connection->fd, .events = POLLIN};
	const char *cause;
	int fd = connection->fd;

	if (poll(&slot, 1, 0) == 0)
		return is_overdue(connection)
			       ? attempt_failed_for(connection, "its name was not found in time")
			       : CONNECTION_NOTHING;
	connection->fd = -1;
	if (resolve_finish(fd, &connection->dial, &cause) < 0)
		return attempt_failed_for(connection, cause);
	return try_next_address(connection);
}

/* ---- The greeting ---- */

/* What the greeting's next reply means for the way. */
static enum connection_event take_greeting(struct connection *connection, const redisReply *reply)
{
	struct handshake *handshake = &connection->handshake;

	switch (handshake_take(handshake, reply, &connection->endpoint, &connection->error)) {
	case HANDSHAKE_GOES_ON:
		if (handshake->due == 0) {
			connection->connected_ms = clock_ms();
			connection->connections++;
		}
		break;
	case HANDSHAKE_NAMES:
		connection->named = handshake->master;
		connection->seed =
			(connection->seed + connection->tried - 1) % connection->server->seed_count;
		connection_drop(connection);
		break;
	case HANDSHAKE_AGAIN:
		connection->tried--;
		connection_drop(connection);
		break;
	case HANDSHAKE_FAILS:
		return attempt_failed(connection);
	case HANDSHAKE_REFUSED:
		lost(connection);
		connection->refused = true;
		return CONNECTION_FAILED;
	}
	return CONNECTION_NOTHING;
}

/* ---- What goes over it ---- */

/* A server that speaks only TLS ends the connection, most often without a word. One that has
 * greeted us before has another reason. */
static bool may_speak_tls(const struct connection *connection)
{
	return connection->connections == 0 && connection->server->seed_count > 0 &&
	       !connection->server->tls;
}

static enum connection_event greeting_broke(struct connection *connection)
{
	char cause[192];

	snprintf(cause, sizeof(cause), "%.128s%s", connection->redis->errstr,
		 may_speak_tls(connection) ? " (does it want TLS, rediss://?)" : "");
	return attempt_failed_for(connection, cause);
}

/* The connection broke. Before the first answer that may be the other end's idea of TLS. */
static enum connection_event broken(struct connection *connection)
{
	const char *cause = connection->redis->errstr;

	if (connection->redis->err == TLS_REFUSED) {
		fail(&connection->error, STATUS_REFUSED, "cannot reach %s: %s",
		     server_shown(connection->server), cause);
		return connection->handshake.due > 0 ? attempt_failed(connection)
						     : lost(connection);
	}
	if (connection->redis->err != REDIS_ERR_PROTOCOL &&
	    !reply_limits_exceeded(connection->bounds)) {
		connection->broke = true;
		return connection->handshake.due > 0 ? greeting_broke(connection)
						     : unreachable(connection, cause);
	}
	if (connection->handshake.due > 0 && strstr(cause, "\\x15"))
		return attempt_failed_for(connection, "it speaks TLS (rediss://)");
	fail(&connection->error, STATUS_BUG, "cannot understand %s: %s",
	     server_shown(connection->server),
	     reply_limits_exceeded(connection->bounds) ? "a reply that is too large" : cause);
	return lost(connection);
}

/* The next that the other end has said, or NULL. Returns -1 when the connection is broken. */
static int next_reply(struct connection *connection, redisReply **reply)
{
	void *next = NULL;

	for (int reads = 0; !next && reads < 2; reads++) {
		if (reads > 0 && redisBufferRead(connection->redis) != REDIS_OK)
			return -1;
		if (redisGetReplyFromReader(connection->redis, &next) != REDIS_OK)
			return -1;
	}
	*reply = next;
	return 0;
}

static int flush(struct connection *connection)
{
	int done = 0;

	return sdslen(connection->redis->obuf) == 0 ||
			       redisBufferWrite(connection->redis, &done) == REDIS_OK
		       ? 0
		       : -1;
}

/* A server that has too many clients says so and closes, perhaps before we have said anything. */
static bool hear_last_words(struct connection *connection, redisReply **reply)
{
	char words[256];
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

static enum connection_event converse(struct connection *connection, redisReply **reply)
{
	const bool is_late = connection->handshake.due > 0 && is_overdue(connection);
	redisReply *next = NULL;
	enum connection_event event = CONNECTION_NOTHING;

	if (flush(connection) < 0 ? !hear_last_words(connection, &next)
				  : next_reply(connection, &next) < 0)
		return broken(connection);
	/* what has come while we were late ourselves is in time */
	if (is_late && (!next || next->type == REDIS_REPLY_PUSH)) {
		freeReplyObject(next);
		return attempt_failed_for(connection, "no reply in time");
	}
	if (!next && connection->redis->reader->len > BUFFER_MAX_BYTES) {
		fail(&connection->error, STATUS_BUG,
		     "cannot understand %s: a reply that does not end",
		     server_shown(connection->server));
		return lost(connection);
	}
	if (!next)
		return CONNECTION_NOTHING;
	if (connection->handshake.due == 0 || next->type == REDIS_REPLY_PUSH) {
		*reply = next;
		return CONNECTION_REPLY;
	}
	event = take_greeting(connection, next);
	freeReplyObject(next);
	return event == CONNECTION_NOTHING && connection->stage == CONNECTION_OPEN
		       ? converse(connection, reply)
		       : event;
}

static enum connection_event advance(struct connection *connection, redisReply **reply)
{
	switch (connection->stage) {
	case CONNECTION_DOWN:
		return begin(connection);
	case CONNECTION_LOOKING_UP:
		return mind_lookup(connection);
	case CONNECTION_CONNECTING:
		return mind_connect(connection);
	case CONNECTION_SECURING:
		return shake_hands(connection);
	case CONNECTION_OPEN:
		return converse(connection, reply);
	}
	return CONNECTION_NOTHING;
}

/* ---- Another process goes on with it ---- */

bool connection_is_sending(const struct connection *connection)
{
	return connection->stage == CONNECTION_OPEN && sdslen(connection->redis->obuf) > 0;
}

bool connection_is_silent(const struct connection *connection)
{
	const redisReader *reader;

	if (connection->stage != CONNECTION_OPEN || connection_is_sending(connection))
		return false;
	reader = connection->redis->reader;
	/* it may have looked for a reply that has not begun */
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
	connection->bounds = NULL;
	connection->fd = -1;
	connection_drop(connection);
}

enum connection_event connection_step(struct connection *connection, struct redisReply **reply)
{
	enum connection_event event;
	enum connection_stage stage;

	*reply = NULL;
	do {
		stage = connection->stage;
		event = advance(connection, reply);
	} while (event == CONNECTION_NOTHING && connection->stage > stage);
	return event;
}

int64_t connection_wait(const struct connection *connection, struct pollfd *slot)
{
	*slot = (struct pollfd){.fd = connection->fd};
	switch (connection->stage) {
	case CONNECTION_DOWN:
		return connection->retry_ms;
	case CONNECTION_LOOKING_UP:
		slot->events = POLLIN;
		return connection->due_ms;
	case CONNECTION_CONNECTING:
		slot->events = POLLOUT;
		return connection->due_ms;
	case CONNECTION_SECURING:
		slot->events = connection->events;
		return connection->due_ms;
	case CONNECTION_OPEN:
		slot->events = POLLIN;
		if (connection_is_sending(connection))
			slot->events |= POLLOUT;
		return connection->handshake.due > 0 ? connection->due_ms : NEVER_MS;
	}
	return NEVER_MS;
}
