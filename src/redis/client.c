/* Sends what is to be sent, finds out what each reply answers, and decides whether a failure may
 * pass. */
#include "redis/client.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/text.h"
#include "redis/local_server.h"
#include "redis/reply.h"
#include "redis/script.h"
#include "redis/server.h"
#include "redis/server_error.h"

/* So many replies are taken in one step: the caller has other things to wait for. */
#define REPLIES_AT_ONCE 100

/* Of so many attempts, one looks for the way to the server anew. */
#define STAYS_MAX 16

/* So long a name can be repeated in a message. */
#define NAME_SHORT_BYTES 20

/* For so long a server may be away before people are told. */
#define ABSENCE_MS 1000

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
}

void client_close(struct client *client)
{
	drop_reply(client);
	connection_close(&client->connection);
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
	connection_is_well(&client->connection);
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
	TO_SEND, /* the system has all of the request */
};

static bool is_reached(const struct client *client, enum goal goal, enum client_event event)
{
	switch (goal) {
	case TO_GREET:
		return has_greeted(client);
	case TO_BE_ANSWERED:
		return event == CLIENT_REPLY;
	case TO_HEAR:
		return event != CLIENT_NOTHING && event != CLIENT_REFUSED;
	case TO_SEND:
		break;
	}
	return event == CLIENT_REPLY ||
	       (client->phase >= REQUEST_SENT && !connection_is_sending(&client->connection));
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

void client_tell(struct client *client, const struct request *request, int64_t until_ms)
{
	struct error ignored;

	client_request(client, request);
	client->connection.retry_ms = 0;
	await_without_sigpipe(client, TO_SEND, until_ms, false, &ignored);
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
