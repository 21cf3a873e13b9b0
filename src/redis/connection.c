/* The traffic over a connection once its socket is there: the greeting, commands, replies. */
#include "redis/connection.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "redis/connection_begin.h"
#include "redis/connection_end.h"
#include "redis/reply_limits.h"
#include "redis/server.h"
#include "redis/server_error.h"
#include "redis/tls.h"

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

void connection_begin_at(struct connection *connection, const struct connection *last)
{
	if (last->handshake.is_cluster)
		connection->named = last->endpoint;
}

void connection_allow(struct connection *connection)
{
	if (connection->until_ms)
		connection->until_ms = clock_ms() + connection->timeout_ms;
	connection->give_up_ms = 0;
}

void connection_set_timeout(struct connection *connection, int64_t timeout_ms)
{
	const int64_t latest_ms = clock_ms() + timeout_ms;

	connection->timeout_ms = timeout_ms;
	connection->until_ms = earliest(connection->until_ms, latest_ms);
	connection->due_ms = earliest(connection->due_ms, latest_ms);
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
	connection->until_ms = connection->give_up_ms = 0;
	connection->broke = false;
	connection->error.status = STATUS_OK;
}

void connection_hear(struct connection *connection, const char *text, const char *needed)
{
	snprintf(connection->said, sizeof(connection->said), "%s%s%s", text,
		 needed ? "; needed:" : "", needed ? needed : "");
	connection->refusals++;
}

void connection_send(struct connection *connection, int argc, const char **argv)
{
	redisAppendCommandArgv(connection->redis, argc, argv, NULL);
}

/* ---- The handshake ---- */

static enum connection_event take_greeting(struct connection *connection, const redisReply *reply)
{
	struct handshake *handshake = &connection->handshake;

	if (reply->type == REDIS_REPLY_ERROR)
		connection_hear(connection, reply->str, NULL);
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
		return connection_attempt_failed(connection);
	case HANDSHAKE_REFUSED:
		connection_lost(connection);
		connection->refused = true;
		return CONNECTION_FAILED;
	}
	return CONNECTION_NOTHING;
}

/* ---- What goes over it ---- */

/* A server that speaks only TLS ends the connection, most often without a word. A server that has
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
	return connection_attempt_failed_for(connection, cause);
}

/* Before the greeting is over, another seed may do: this end may be no server for locks at all. */
static enum connection_event failed_with(struct connection *connection, enum status status,
					 const char *verb, const char *cause)
{
	server_fail(connection->server, &connection->error, status, verb, cause);
	return connection->handshake.due > 0 ? connection_attempt_failed(connection)
					     : connection_lost(connection);
}

/* Before the first answer the cause may be that the other end speaks TLS, or that we do. */
static enum connection_event broken(struct connection *connection)
{
	const char *cause = connection->redis->errstr;

	tls_explain(connection->redis);
	if (connection->redis->err == TLS_REFUSED)
		return failed_with(connection, STATUS_REFUSED, "reach", cause);
	if (connection->redis->err != REDIS_ERR_PROTOCOL &&
	    !reply_limits_exceeded(connection->bounds)) {
		connection->broke = true;
		return connection->handshake.due > 0
			       ? greeting_broke(connection)
			       : connection_fail(connection, STATUS_UNAVAILABLE, "reach", cause);
	}
	if (connection->handshake.due > 0 && strstr(cause, "\\x15"))
		return failed_with(connection, STATUS_UNAVAILABLE, "reach",
				   "it speaks TLS (rediss://)");
	if (reply_limits_exceeded(connection->bounds))
		cause = "it sent a reply that is too large";
	else
		cause = connection->connections == 0 ? "it is no Redis or Valkey server"
						     : "it sent something that is no reply";
	return failed_with(connection, STATUS_BUG, "understand", cause);
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

static enum connection_event converse(struct connection *connection, redisReply **reply)
{
	const bool is_late = connection->handshake.due > 0 && clock_ms() >= connection->due_ms;
	redisReply *next = NULL;
	enum connection_event event;

	if (redisBufferWrite(connection->redis, NULL) == REDIS_OK
		    ? next_reply(connection, &next) < 0
		    : !hear_last_words(connection, &next))
		return broken(connection);
	/* a reply that came while we were late ourselves is in time */
	if (is_late && (!next || next->type == REDIS_REPLY_PUSH)) {
		freeReplyObject(next);
		return connection_attempt_late(connection);
	}
	if (!next && connection->redis->reader->len > BUFFER_MAX_BYTES)
		return connection_fail(connection, STATUS_BUG, "understand",
				       "it sent a reply that does not end");
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

bool connection_is_sending(const struct connection *connection)
{
	return connection->stage == CONNECTION_OPEN && sdslen(connection->redis->obuf) > 0;
}

enum connection_event connection_step(struct connection *connection, struct redisReply **reply)
{
	enum connection_event event;
	enum connection_stage stage;

	*reply = NULL;
	do {
		stage = connection->stage;
		event = stage == CONNECTION_OPEN ? converse(connection, reply)
						 : connection_advance(connection);
	} while (event == CONNECTION_NOTHING && connection->stage > stage);
	return event;
}

int64_t connection_wait(const struct connection *connection, struct pollfd *slot)
{
	*slot = (struct pollfd){.fd = connection->fd, .events = POLLIN};
	switch (connection->stage) {
	case CONNECTION_DOWN:
		return connection->retry_ms;
	case CONNECTION_LOOKING_UP:
		break;
	case CONNECTION_CONNECTING:
		slot->events = POLLOUT;
		break;
	case CONNECTION_SECURING:
		slot->events = connection->events;
		break;
	case CONNECTION_OPEN:
		if (connection_is_sending(connection))
			slot->events |= POLLOUT;
		if (connection->handshake.due == 0)
			return NEVER_MS;
		break;
	}
	return connection->due_ms;
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
	connection->bounds = NULL;
	connection->fd = -1;
	connection_drop(connection);
}
