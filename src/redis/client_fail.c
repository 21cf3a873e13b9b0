/* Decides whether a failure may pass, and tells what was denied. */
#include "redis/client_fail.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/shorten.h"
#include "redis/connection.h"
#include "redis/script.h"
#include "redis/server.h"
#include "redis/server_error.h"

/* Of so many attempts, one looks for the way to the server anew. */
#define STAYS_MAX 16

/* So long a name can be repeated in a message. */
#define NAME_SHORT_BYTES 20

void client_drop_reply(struct client *client)
{
	if (client->reply)
		freeReplyObject(client->reply);
	client->reply = NULL;
}

void client_unsend(struct client *client)
{
	client_drop_reply(client);
	if (client->phase >= REQUEST_SENT)
		client->phase = REQUEST_WAITING;
}

void client_forget_connection(struct client *client)
{
	if (client->phase >= REQUEST_SENT) {
		client->retried = true;
		client->strays++;
	}
	client_unsend(client);
	client->subscribed = 0;
	client->confirmations = 0;
	client->before_reply = 0;
	client->unasked = 0;
	client->again_ms = 0;
}

void client_start_over(struct client *client)
{
	client_forget_connection(client);
	connection_drop(&client->connection);
}

/* The first request may come while a replica becomes the master, or while a slot moves. A
 * connection that was made and broke says little, too: the next one may work. In neither case is
 * the server down. A keen client waits also for a server that is down: it may be restarting. */
static bool may_pass(const struct client *client)
{
	const struct connection *connection = &client->connection;

	return !client->ever_answered && !connection->refused &&
	       client->error.status == STATUS_UNAVAILABLE &&
	       (connection->broke || (client->keen && connection->away) ||
		connection->server->kind == SERVER_SENTINEL || connection->handshake.is_cluster);
}

enum client_event client_lost(struct client *client)
{
	client_forget_connection(client);
	client->error = client->connection.error;
	if (may_pass(client) && connection_await(&client->connection))
		return CLIENT_NOTHING;
	/* a password that is being changed is refused for a while */
	return client->connection.refused && !client->ever_answered ? CLIENT_REFUSED
								    : CLIENT_FAILED;
}

enum client_event client_break(struct client *client, enum status status, const char *verb,
			       const char *cause)
{
	connection_fail(&client->connection, status, verb, cause);
	return client_lost(client);
}

/* The names that a request needs, as a list; "" if the server has denied none of them. */
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

/* A server does not say which key or channel it denied: names those that the request needs. */
static void tell_denied(struct client *client, const char *text, const char *names)
{
	const bool is_key = strstr(text, " key") != NULL;
	const char *name = is_key ? client->request.argv[0] : client->channels[0];
	const char *tail = is_key && *names ? strchr(client->request.argv[1], ':') : NULL;
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];

	if (!*names)
		return;
	if (!is_key)
		snprintf(cause, sizeof(cause), "it denies channel %s" SERVER_ERROR_HINT,
			 shorten(shown, name));
	else if (tail && strlen(tail) < NAME_SHORT_BYTES)
		snprintf(cause, sizeof(cause),
			 "it denies one of the keys %.*s, redisson_lock_*%.*s, fairlock*%.*s",
			 NAME_SHORT_BYTES, name, NAME_SHORT_BYTES, tail, NAME_SHORT_BYTES, tail);
	else
		snprintf(cause, sizeof(cause), "it denies a key of lock %s" SERVER_ERROR_HINT,
			 shorten(shown, name));
	server_fail(client->connection.server, &client->error, STATUS_REFUSED, "use", cause);
}

/* A server that cannot serve now is asked again over the same connection: a waiter that went away
 * and came back would miss its turn meanwhile. But now and then the client looks for the server
 * anew, because its name may belong to another one by now; at once where there are several. */
static bool may_stay(const struct client *client, const char *text, bool of_subscription)
{
	const struct server *server = client->connection.server;

	/* the server was restarted under the first request */
	if (client->connection.broke && !client->ever_answered)
		return false;
	return server_error_is_own(text) && !of_subscription &&
	       !client->connection.handshake.is_cluster && server->kind != SERVER_SENTINEL &&
	       server->seed_count < 2 && client->connection.attempts % STAYS_MAX != STAYS_MAX - 1;
}

static enum client_event stay(struct client *client, const char *cause)
{
	server_fail(client->connection.server, &client->error, STATUS_UNAVAILABLE, "use", cause);
	client_unsend(client);
	client->retried = true; /* it may have been carried out in part */
	client->again_ms = clock_ms() + connection_back_off(&client->connection);
	return CLIENT_FAILED;
}

static bool may_load(const struct client *client)
{
	return client->connection.server->kind == SERVER_LOCAL ||
	       (client->keen && !client->ever_answered);
}

static enum client_event refused_for_now(struct client *client, const char *text,
					 bool of_subscription)
{
	const struct server *server = client->connection.server;
	char cause[CAUSE_MAX_BYTES];

	server_error_cause(cause, server, text);
	if (server_error_is(text, "LOADING") && may_load(client) &&
	    connection_await(&client->connection)) {
		server_fail(server, &client->connection.error, STATUS_UNAVAILABLE, "use", cause);
		client->error = client->connection.error;
		client_forget_connection(client);
		return CLIENT_NOTHING;
	}
	return may_stay(client, text, of_subscription)
		       ? stay(client, cause)
		       : client_break(client, STATUS_UNAVAILABLE, "use", cause);
}

enum client_event client_refused(struct client *client, const char *text, bool of_subscription)
{
	const enum status status = server_error_status(text);
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES], names[1024] = "";

	if (status == STATUS_REFUSED)
		list_names(client, text, names, sizeof(names));
	connection_hear(&client->connection, text, *names ? names : NULL);
	if (status == STATUS_UNAVAILABLE)
		return refused_for_now(client, text, of_subscription);
	if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     shorten(shown, client->request.argv[0]));
	else
		server_fail(client->connection.server, &client->error, status, "use",
			    server_error_cause(cause, client->connection.server, text));
	tell_denied(client, text, names);
	client->phase = REQUEST_NONE;
	return CLIENT_REFUSED;
}
