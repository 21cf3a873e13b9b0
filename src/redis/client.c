/* Takes what the server says, and finds out what it answers: the request or a subscription. */
#include "redis/client.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "redis/client_fail.h"
#include "redis/client_send.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/server_error.h"

/* So many replies are taken in one step: the caller has other things to wait for. */
#define REPLIES_AT_ONCE 100

void client_init(struct client *client, const struct server *server, int64_t timeout_ms)
{
	memset(client, 0, sizeof(*client));
	client->timeout_ms = timeout_ms;
	connection_init(&client->connection, server, timeout_ms);
}

void client_close(struct client *client)
{
	client_drop_reply(client);
	connection_close(&client->connection);
}

/* ---- What comes in ---- */

static bool is_text(const redisReply *reply, const char *text)
{
	return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

static void confirmed(struct client *client)
{
	client->confirmations--;
	if (client->before_reply > 0)
		client->before_reply--;
}

/* An error does not say what it answers: a waiter that becomes the first may have subscribed to
 * another channel while a request was under way. */
static bool is_of_subscription(const struct client *client)
{
	return client->phase >= REQUEST_SENT ? client->before_reply > 0 : client->confirmations > 0;
}

static int find_channel(const struct client *client, const redisReply *name)
{
	int i = client->channel_count - 1;

	while (i >= 0 && !is_text(name, client->channels[i]))
		i--;
	return i;
}

/* The beginning of a message that is too long must not pass for a message. */
static void keep_message(struct client *client, const redisReply *text)
{
	const bool fits = text->len < sizeof(client->message) && strlen(text->str) == text->len;

	snprintf(client->message, sizeof(client->message), "%s", fits ? text->str : "");
}

static enum client_event take_push(struct client *client, redisReply *push)
{
	if (client->tracks && push->elements == 2 && is_text(push->element[0], "invalidate")) {
		client->reply = push->element[1];
		push->element[1] = NULL;
		return CLIENT_CHANGED;
	}
	if (push->elements != 3)
		return CLIENT_NOTHING;
	if (is_text(push->element[0], "subscribe") || is_text(push->element[0], "ssubscribe"))
		confirmed(client);
	if (is_text(push->element[0], "sunsubscribe"))
		/* the slot has moved: a waiter waits at its new place */
		return client_break(client, STATUS_UNAVAILABLE, "use",
				    "the lock has moved to another node");
	if ((!is_text(push->element[0], "message") && !is_text(push->element[0], "smessage")) ||
	    push->element[2]->type != REDIS_REPLY_STRING)
		return CLIENT_NOTHING;
	client->heard_on = find_channel(client, push->element[1]);
	keep_message(client, push->element[2]);
	client->again_ms = 0; /* the server serves again, or serves others */
	return CLIENT_MESSAGE;
}

/* A server that is busy with a script refuses one more channel. A waiter that went away and came
 * back would miss its turn meanwhile; so it stays, and subscribes with its next request.
 *
 * Redis 8.6 refuses every channel when its memory is full. But it serves a renewal, and a request
 * that writes nothing: the answer to the request itself says whether it was refused. */
static bool is_put_off(struct client *client, const char *text)
{
	if (server_error_is(text, "OOM"))
		client->subscribed = 0;
	else if (client->confirmations == 1 && client->subscribed >= 2 &&
		 server_error_is(text, "BUSY"))
		client->subscribed--;
	else
		return false;
	confirmed(client);
	return true;
}

static enum client_event take_error(struct client *client, const char *text)
{
	const bool of_subscription = is_of_subscription(client);
	enum client_event event;

	if (of_subscription && is_put_off(client, text))
		return CLIENT_NOTHING;
	if (server_error_is(text, "MOVED") || server_error_is(text, "ASK")) {
		if (!connection_redirect(&client->connection, text))
			return client_break(client, STATUS_UNAVAILABLE, "use",
					    "the nodes of the cluster redirect again and again");
		/* nothing was done there; but if a subscription was refused, the slot may have come
		 * before the server read the request behind it */
		if (!of_subscription)
			client_unsend(client);
		client_forget_connection(client);
		return CLIENT_NOTHING;
	}
	if (server_error_is(text, "NOSCRIPT") && !of_subscription && client->request.script &&
	    client->phase == REQUEST_SENT) {
		client_send_request(client, true);
		return CLIENT_NOTHING;
	}
	event = client_refused(client, text, of_subscription);
	if (of_subscription && event == CLIENT_REFUSED) {
		/* the request that was sent behind it may have been granted */
		client->strays++;
		client->channel_count = 0;
		client_start_over(client);
	}
	return event;
}

static enum client_event answered(struct client *client)
{
	connection_is_well(&client->connection);
	client->phase = REQUEST_NONE;
	client->returning = false;
	client->ever_answered = true;
	client->error.status = STATUS_OK;
	return CLIENT_REPLY;
}

static bool needs_replicas(const struct client *client)
{
	return client->request.replicas > 0 &&
	       strcmp(reply_text(client->reply, 0), client->request.durable) == 0;
}

static enum client_event take_answer(struct client *client, redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return take_error(client, reply->str);
	if (client->unasked > 0) {
		client->unasked--;
		return CLIENT_NOTHING;
	}
	/* a server that answers before the request has left would make us pile up requests */
	if (client->phase < REQUEST_SENT || connection_is_sending(&client->connection))
		return client_break(client, STATUS_BUG, "understand",
				    "it sent a reply without a request");
	if (client->phase == REQUEST_CONFIRMING) {
		client->replicas = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
		return answered(client);
	}
	if (client->channel_count > 0 && client->connection.handshake.shards && !client->by_shard) {
		/* the handshake has just said what kind of server this is; no copy is under way */
		client_unsend(client);
		client->retried = true;
		client_start_over(client);
		return CLIENT_NOTHING;
	}
	client->reply = reply;
	if (!needs_replicas(client))
		return answered(client);
	client->phase = REQUEST_CONFIRMING;
	client->ever_answered = true; /* there is something to come back to */
	client_send_wait(client);
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

/* Only the greeting tells whether the server is the cluster that a list is for, and whether it has
 * the database; so requests wait for it. */
static bool is_known(const struct client *client)
{
	const struct server *server = client->connection.server;

	return !server_is_list(server) && !server->db;
}

static void opened(struct client *client)
{
	client_forget_connection(client); /* the one before may have ended in its handshake */
	/* a process that goes on for a dead one does not know what the dead one was told */
	client->returning = client->ever_answered || client->strays > 0;
	if (!client_has_request(client)) /* else they go with the request */
		client_send_subscriptions(client);
}

static bool is_open(const struct client *client)
{
	return client->connection.stage == CONNECTION_OPEN &&
	       !client->connection.handshake.to_sentinel;
}

void client_tell_late(const struct client *client, struct error *err)
{
	if (client->error.status)
		*err = client->error;
	else if (client->connection.local_folder >= 0 &&
		 client->connection.stage == CONNECTION_DOWN)
		local_server_failure(client->connection.local_folder, err);
	else
		server_fail(client->connection.server, err, STATUS_UNAVAILABLE, "reach",
			    connection_lateness(&client->connection));
}

bool client_has_greeted(const struct client *client)
{
	return is_open(client) && client->connection.handshake.due == 0;
}

static bool is_wanted(const struct client *client)
{
	return client_has_request(client) || client->channel_count > 0 || client->eager;
}

static bool may_send(const struct client *client)
{
	return client->phase == REQUEST_WAITING &&
	       (is_known(client) ? is_open(client) : client_has_greeted(client));
}

/* Until the handshake is answered, the connection watches the time: another seed may do. */
static int64_t due_ms(const struct client *client)
{
	return client->phase >= REQUEST_SENT && client_has_greeted(client) ? client->due_ms
									   : NEVER_MS;
}

static enum client_event step(struct client *client)
{
	enum client_event event = CLIENT_NOTHING;
	redisReply *reply;

	if (client->phase != REQUEST_CONFIRMING)
		client_drop_reply(client);
	if (client->connection.stage == CONNECTION_DOWN && !is_wanted(client))
		return CLIENT_NOTHING;
	for (int replies = 0; event == CLIENT_NOTHING && replies < REPLIES_AT_ONCE; replies++) {
		if (may_send(client) && clock_ms() >= client->again_ms)
			client_send_request(client, false);
		switch (connection_step(&client->connection, &reply)) {
		case CONNECTION_NOTHING:
			return CLIENT_NOTHING;
		case CONNECTION_OPENED:
			opened(client);
			break;
		case CONNECTION_REPLY:
			event = take(client, reply);
			break;
		case CONNECTION_FAILED:
			return client_lost(client);
		}
	}
	client->more = true;
	return event;
}

/* If we are late ourselves, perhaps because we were stopped, the reply may have come. */
enum client_event client_step(struct client *client)
{
	const bool was_due = clock_ms() >= due_ms(client);
	enum client_event event;

	client->more = false;
	event = step(client);
	if (was_due && clock_ms() >= due_ms(client))
		return client_break(client, STATUS_UNAVAILABLE, "reach", "no reply in time");
	return event;
}

int64_t client_wait(const struct client *client, struct pollfd *slot)
{
	int64_t wake = connection_wait(&client->connection, slot);

	if (client->more)
		return 0;
	if (client->connection.stage == CONNECTION_DOWN && !is_wanted(client))
		return NEVER_MS;
	if (may_send(client))
		return earliest(wake, client->again_ms);
	return earliest(wake, due_ms(client));
}

bool client_subscribe(struct client *client, const char *channel)
{
	for (int i = 0; i < client->channel_count; i++)
		if (strcmp(client->channels[i], channel) == 0)
			return false;
	if (client->channel_count == CLIENT_CHANNELS)
		client->channel_count--;
	if (client->subscribed > client->channel_count)
		client->subscribed = client->channel_count;
	snprintf(client->channels[client->channel_count++], CHANNEL_MAX_BYTES, "%s", channel);
	if (is_open(client))
		client_send_subscriptions(client);
	return true;
}

bool client_hears_all(const struct client *client)
{
	return client->subscribed == client->channel_count;
}

void client_request(struct client *client, const struct request *request)
{
	connection_allow(&client->connection);
	client->request = *request;
	client->phase = REQUEST_WAITING;
	client->retried = false;
	client->again_ms = 0;
}

void client_cancel(struct client *client)
{
	if (client->phase >= REQUEST_SENT)
		client_start_over(client);
	connection_allow(&client->connection);
	client->phase = REQUEST_NONE;
}

bool client_has_request(const struct client *client)
{
	return client->phase != REQUEST_NONE;
}

bool client_is_still(const struct client *client)
{
	return client_has_greeted(client) && !client_has_request(client) &&
	       client->confirmations == 0 && client->unasked == 0 &&
	       connection_is_silent(&client->connection);
}

void client_open(struct client *client)
{
	client->eager = true;
}
