#include "redis/client.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "redis/script.h"
#include "redis/server_error.h"
#include "redis/server_url.h"

/* So much is taken from the server in one step: what else its caller waits for comes between. */
#define REPLIES_AT_ONCE 100

/* A server that cannot serve now is asked over the same connection, but not for ever. */
#define STAYS_MAX 16

void client_init(struct client *client, const struct server *server, int64_t timeout_ms)
{
	memset(client, 0, sizeof(*client));
	client->timeout_ms = timeout_ms;
	connection_init(&client->connection, server, timeout_ms);
}

static void drop_reply(struct client *client)
{
	if (client->reply)
		freeReplyObject(client->reply);
	client->reply = NULL;
	client->confirming = false;
}

void client_close(struct client *client)
{
	drop_reply(client);
	connection_close(&client->connection);
}

/* ---- What goes out ---- */

/* At a node that a slot is on its way to, each command needs this before it. */
static void send_asking(struct client *client)
{
	if (!client->connection.asking)
		return;
	connection_send(&client->connection, 1, (const char *[]){"ASKING"});
	client->unasked++;
}

static void send_subscriptions(struct client *client)
{
	const char *argv[1 + CLIENT_CHANNELS] = {client->by_shard ? "SSUBSCRIBE" : "SUBSCRIBE"};
	int argc = 1;

	for (; client->subscribed < client->channel_count; client->subscribed++)
		argv[argc++] = client->channels[client->subscribed];
	if (argc == 1)
		return;
	send_asking(client);
	connection_send(&client->connection, argc, argv);
	client->confirmations += argc - 1;
}

/* A server writes to its clients when it has read all that came at once, and begins with whom it
 * had something for last. That is who made the request, unless it has got an answer before: so it
 * asks for something else first, which changes nothing. */
static void be_answered_last(struct client *client)
{
	const char *command = client->by_shard ? "SSUBSCRIBE" : "SUBSCRIBE";

	if (client->subscribed == 0 || client->connection.asking)
		return;
	connection_send(&client->connection, 2, (const char *[]){command, client->channels[0]});
	client->confirmations++;
}

static void send_request(struct client *client, bool whole_script)
{
	const struct request *request = &client->request;
	const char *argv[REQUEST_ARGS + 3];
	int argc = 0;

	if (request->script) {
		argv[argc++] = whole_script ? "EVAL" : "EVALSHA";
		argv[argc++] = whole_script ? request->script->text : request->script->sha1;
		argv[argc++] = "5";
	}
	for (int i = 0; i < request->argc; i++)
		argv[argc++] = request->argv[i];
	if (request->again && (client->retried || client->returning))
		argv[argc - request->argc + request->again] = "1";
	if (request->strays) {
		snprintf(client->strays_text, sizeof(client->strays_text), "%d", client->strays);
		argv[argc - request->argc + request->strays] = client->strays_text;
	}
	if (request->tells)
		be_answered_last(client);
	send_asking(client);
	connection_send(&client->connection, argc, argv);
	client->whole_script = whole_script;
	client->replicas = 0;
	client->before_reply = client->confirmations;
	client->sent = true;
	client->ever_sent = true;
	client->sent_ms = clock_ms();
	client->due_ms = client->sent_ms + client->timeout_ms;
}

/* Once for all that this connection wrote: the reply is known, the replicas' word is not. */
static void send_wait(struct client *client)
{
	const struct request *request = &client->request;
	char replicas[24], ms[24];

	snprintf(replicas, sizeof(replicas), "%" PRId64, request->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, request->replicas_ms);
	connection_send(&client->connection, 3, (const char *[]){"WAIT", replicas, ms});
	client->due_ms = clock_ms() + request->replicas_ms + client->timeout_ms;
}

/* ---- Ends of a connection ---- */

/* What was under way on a connection that is no more goes out again over the next. */
static void forget_connection(struct client *client)
{
	drop_reply(client);
	client->subscribed = 0;
	client->confirmations = 0;
	client->before_reply = 0;
	client->unasked = 0;
	client->again_ms = 0;
	if (client->pending && client->sent) {
		client->retried = true;
		client->strays++;
	}
	client->sent = false;
}

/* Nothing has gone wrong, the connection is at the wrong place, or of the wrong kind. */
static void start_over(struct client *client)
{
	forget_connection(client);
	connection_drop(&client->connection);
}

/* The first request may come in the seconds in which a replica becomes the master, or a slot is
 * moved. A connection that was made and broke tells little, too: the next one may work. Neither is
 * a server that is down. */
static bool may_pass(const struct client *client)
{
	const struct connection *connection = &client->connection;

	return !client->ever_answered && !connection->refused &&
	       client->error.status == STATUS_UNAVAILABLE &&
	       (connection->broke || connection->server->kind == SERVER_SENTINEL ||
		connection->handshake.is_cluster);
}

/* The connection, or the attempt to make one, is over; another one follows. */
static enum client_event lost(struct client *client)
{
	forget_connection(client);
	client->error = client->connection.error;
	client->final = client->connection.refused;
	if (may_pass(client) && connection_await(&client->connection))
		return CLIENT_NOTHING;
	return CLIENT_FAILED;
}

static enum client_event lost_for(struct client *client, const char *cause)
{
	connection_fail(&client->connection, STATUS_UNAVAILABLE, "use", cause);
	return lost(client);
}

static enum client_event no_reply(struct client *client)
{
	connection_fail(&client->connection, STATUS_UNAVAILABLE, "reach", "no reply in time");
	return lost(client);
}

/* What came from the other end is not what a server says. */
static enum client_event nonsense(struct client *client, const char *what)
{
	connection_fail(&client->connection, STATUS_BUG, "understand", what);
	return lost(client);
}

/* A server does not say which key or channel it denied: these are what the request needs. */
static void add_denied(struct client *client, const char *text)
{
	const struct request *request = &client->request;
	char names[sizeof(client->error.text)] = "";
	size_t length = 0;

	if (strstr(text, " key") && request->script)
		for (int i = 0; i < 5 && length < sizeof(names); i++)
			length += (size_t)snprintf(names + length, sizeof(names) - length, " %s",
						   request->argv[i]);
	else if (strstr(text, " channel") && client->channel_count > 0)
		snprintf(names, sizeof(names), " %.500s", client->channels[0]);
	if (*names)
		fail(&client->error, STATUS_REFUSED,
		     "cannot use %s: the server says: %s; needed:%s",
		     server_shown(client->connection.server), text, names);
}

/* A server that cannot serve now is asked again over the same connection: a waiter who went away
 * and came back would miss its turn meanwhile. Now and then the way is looked for anew, for its
 * name may belong to another server by now; at once where there are others. */
static bool may_stay(const struct client *client, const char *text, bool of_subscription)
{
	const struct server *server = client->connection.server;

	/* this server was restarted under the first request, which is made again */
	if (client->connection.broke && !client->ever_answered)
		return false;
	return server_error_is_own(text) && !of_subscription &&
	       !client->connection.handshake.is_cluster && server->kind != SERVER_SENTINEL &&
	       server->seed_count < 2 && client->connection.attempts % STAYS_MAX != STAYS_MAX - 1;
}

static enum client_event stay(struct client *client, const char *text)
{
	fail(&client->error, STATUS_UNAVAILABLE, "cannot use %s: %s",
	     server_shown(client->connection.server), text);
	drop_reply(client);
	client->sent = false;
	client->retried = true; /* it may have been done in part */
	client->final = false;
	client->again_ms = clock_ms() + connection_back_off(&client->connection);
	return CLIENT_FAILED;
}

/* The server answered with an error: an unavailable one is asked again later, any other answer is
 * final. */
static enum client_event refused(struct client *client, const char *text, bool of_subscription)
{
	const enum status status = server_error_status(text);
	const char *shown = server_shown(client->connection.server);

	if (status == STATUS_UNAVAILABLE) {
		if (server_error_is(text, "LOADING") &&
		    client->connection.server->kind == SERVER_LOCAL &&
		    connection_await(&client->connection)) {
			forget_connection(client);
			return CLIENT_NOTHING;
		}
		return may_stay(client, text, of_subscription) ? stay(client, text)
							       : lost_for(client, text);
	}
	if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     client->request.argv[0]);
	else
		fail(&client->error, status, "cannot use %s: the server says: %s", shown, text);
	if (status == STATUS_REFUSED)
		add_denied(client, text);
	client->pending = false;
	client->sent = false;
	client->confirming = false;
	client->final = true;
	return CLIENT_FAILED;
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

/* An error says not what it answers: who becomes first may have subscribed to another channel while
 * a request was under way. */
static bool is_of_subscription(const struct client *client)
{
	return client->sent ? client->before_reply > 0 : client->confirmations > 0;
}

static int find_channel(const struct client *client, const redisReply *name)
{
	int i = client->channel_count - 1;

	while (i >= 0 && !is_text(name, client->channels[i]))
		i--;
	return i;
}

/* A message counts as a whole: the beginning of a longer one must not pass for it. */
static void keep_message(struct client *client, const redisReply *text)
{
	const bool fits = text->len < sizeof(client->message) && strlen(text->str) == text->len;

	snprintf(client->message, sizeof(client->message), "%s", fits ? text->str : "");
}

static enum client_event take_push(struct client *client, const redisReply *push)
{
	if (push->elements != 3)
		return CLIENT_NOTHING;
	if (is_text(push->element[0], "subscribe") || is_text(push->element[0], "ssubscribe"))
		confirmed(client);
	if (is_text(push->element[0], "sunsubscribe"))
		/* the slot has moved: whoever waits does so at its new place */
		return lost_for(client, "the lock has moved to another node");
	if (!is_text(push->element[0], "message") && !is_text(push->element[0], "smessage"))
		return CLIENT_NOTHING;
	if (push->element[2]->type != REDIS_REPLY_STRING)
		return CLIENT_NOTHING;
	client->heard_on = find_channel(client, push->element[1]);
	keep_message(client, push->element[2]);
	client->again_ms = 0; /* it serves again, or serves somebody */
	return CLIENT_MESSAGE;
}

static enum client_event take_error(struct client *client, const char *text)
{
	const bool of_subscription = is_of_subscription(client);
	enum client_event event;

	if (server_error_is(text, "MOVED") || server_error_is(text, "ASK")) {
		if (!connection_redirect(&client->connection, text))
			return lost_for(client, text);
		client->sent = false; /* nothing was done there */
		forget_connection(client);
		return CLIENT_NOTHING;
	}
	if (server_error_is(text, "NOSCRIPT") && !of_subscription && client->request.script &&
	    !client->whole_script) {
		send_request(client, true);
		return CLIENT_NOTHING;
	}
	event = refused(client, text, of_subscription);
	if (of_subscription && client->final) {
		/* the request behind it may have been granted */
		client->strays++;
		client->channel_count = 0;
		start_over(client);
	}
	return event;
}

static enum client_event answered(struct client *client)
{
	connection_is_well(&client->connection);
	client->pending = false;
	client->sent = false;
	client->confirming = false;
	client->retried = false;
	client->returning = false;
	client->ever_answered = true;
	client->error.status = STATUS_OK;
	return CLIENT_REPLY;
}

static bool needs_replicas(const struct client *client)
{
	const struct request *request = &client->request;

	return request->replicas > 0 && client->reply->type == REDIS_REPLY_ARRAY &&
	       client->reply->elements > 0 && is_text(client->reply->element[0], request->durable);
}

/* Keeps the reply to a request as client->reply. */
static enum client_event take_answer(struct client *client, redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return take_error(client, reply->str);
	if (client->unasked > 0) {
		client->unasked--;
		return CLIENT_NOTHING;
	}
	/* nor before the request has left: a server that answers without listening would make us
	 * pile up requests */
	if (!client->pending || !client->sent || connection_is_sending(&client->connection))
		return nonsense(client, "a reply that nobody asked for");
	if (client->confirming) {
		client->replicas = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
		return answered(client);
	}
	if (client->channel_count > 0 && client->connection.handshake.shards && !client->by_shard) {
		/* the handshake has just said what kind of server this is; this copy is no stray */
		client->sent = false;
		client->retried = true;
		start_over(client);
		return CLIENT_NOTHING;
	}
	client->reply = reply;
	if (!needs_replicas(client))
		return answered(client);
	client->confirming = true;
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

static void opened(struct client *client)
{
	forget_connection(client); /* the one before may have ended in its handshake */
	/* who goes on for a dead process does not know what that was told */
	client->returning = client->ever_answered || client->strays > 0;
	client->by_shard = client->connection.handshake.shards;
	send_subscriptions(client);
}

static bool is_open(const struct client *client)
{
	return client->connection.stage == CONNECTION_OPEN &&
	       !client->connection.handshake.to_sentinel;
}

bool client_has_greeted(const struct client *client)
{
	return is_open(client) && client->connection.handshake.due == 0;
}

static bool is_wanted(const struct client *client)
{
	return client->pending || client->channel_count > 0 || client->eager;
}

static bool may_send(const struct client *client)
{
	return is_open(client) && client->pending && !client->sent;
}

/* As long as the handshake is unanswered, the connection minds the time: another seed may do. */
static int64_t due_ms(const struct client *client)
{
	return client->sent && is_open(client) && client->connection.handshake.due == 0
		       ? client->due_ms
		       : NEVER_MS;
}

static enum client_event step(struct client *client)
{
	enum client_event event = CLIENT_NOTHING;
	redisReply *reply;

	if (!client->confirming)
		drop_reply(client);
	if (client->connection.stage == CONNECTION_DOWN && !is_wanted(client))
		return CLIENT_NOTHING;
	for (int replies = 0; event == CLIENT_NOTHING && replies < REPLIES_AT_ONCE; replies++) {
		if (may_send(client) && clock_ms() >= client->again_ms)
			send_request(client, false);
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
			return lost(client);
		}
	}
	client->more = true;
	return event;
}

/* Who was late itself, stopped perhaps, may find the reply there. */
enum client_event client_step(struct client *client)
{
	const bool was_due = clock_ms() >= due_ms(client);
	enum client_event event;

	client->more = false;
	event = step(client);
	return was_due && clock_ms() >= due_ms(client) ? no_reply(client) : event;
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

void client_subscribe(struct client *client, const char *channel)
{
	for (int i = 0; i < client->channel_count; i++)
		if (strcmp(client->channels[i], channel) == 0)
			return;
	if (client->channel_count == CLIENT_CHANNELS)
		return;
	snprintf(client->channels[client->channel_count++], CHANNEL_MAX_BYTES, "%s", channel);
	if (is_open(client))
		send_subscriptions(client);
}

void client_request(struct client *client, const struct request *request)
{
	client->request = *request;
	client->whole_script = false;
	client->pending = true;
	client->sent = false;
	client->retried = false;
	client->again_ms = 0;
}

void client_cancel(struct client *client)
{
	if (client->pending && client->sent)
		start_over(client);
	client->pending = false;
	client->sent = false;
	client->retried = false;
}

bool client_is_silent(const struct client *client)
{
	return connection_is_silent(&client->connection);
}

bool client_is_still(const struct client *client)
{
	return client_has_greeted(client) && !client->pending && !client->confirming &&
	       client->confirmations == 0 && client->unasked == 0 && client_is_silent(client);
}

void client_open(struct client *client)
{
	client->eager = true;
}
