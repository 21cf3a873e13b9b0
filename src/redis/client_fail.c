#include "redis/client_fail.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "redis/connection.h"
#include "redis/script.h"
#include "redis/server.h"
#include "redis/server_error.h"

/* A server that cannot serve now is asked over the same connection, but not for ever. */
#define STAYS_MAX 16

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

/* A request that was under way on a lost connection goes out again over the next one. */
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

/* Nothing has gone wrong, the connection is at the wrong place, or of the wrong kind. */
void client_start_over(struct client *client)
{
	client_forget_connection(client);
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
enum client_event client_lost(struct client *client)
{
	client_forget_connection(client);
	client->error = client->connection.error;
	if (may_pass(client) && connection_await(&client->connection))
		return CLIENT_NOTHING;
	return client->connection.refused ? CLIENT_REFUSED : CLIENT_FAILED;
}

enum client_event client_break(struct client *client, enum status status, const char *verb,
			       const char *cause)
{
	connection_fail(&client->connection, status, verb, cause);
	return client_lost(client);
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
	client_unsend(client);
	client->retried = true; /* it may have been done in part */
	client->again_ms = clock_ms() + connection_back_off(&client->connection);
	return CLIENT_FAILED;
}

/* The server answered with an error: an unavailable one is asked again later, any other answer is
 * final. */
enum client_event client_refused(struct client *client, const char *text, bool of_subscription)
{
	const enum status status = server_error_status(text);
	const char *shown = server_shown(client->connection.server);

	if (status == STATUS_UNAVAILABLE) {
		if (server_error_is(text, "LOADING") &&
		    client->connection.server->kind == SERVER_LOCAL &&
		    connection_await(&client->connection)) {
			client_forget_connection(client);
			return CLIENT_NOTHING;
		}
		return may_stay(client, text, of_subscription)
			       ? stay(client, text)
			       : client_break(client, STATUS_UNAVAILABLE, "use", text);
	}
	if (strstr(text, "WRONGTYPE") && client->request.script)
		fail(&client->error, STATUS_CONFIG,
		     "cannot use the name %s: it is in use by something that is no lock",
		     client->request.argv[0]);
	else
		fail(&client->error, status, "cannot use %s: the server says: %s", shown, text);
	if (status == STATUS_REFUSED)
		add_denied(client, text);
	client->phase = REQUEST_NONE;
	return CLIENT_REFUSED;
}
