/* Compares the counters of a connection with those that were told last. */
#include "redis/connection_trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/shorten.h"
#include "redis/client.h"
#include "redis/server.h"

#define WORDS_MAX_BYTES 700

/* For so long a server may be away before people are told. */
#define ABSENCE_MS 1000

/* Where there may be several servers, the endpoint says which one it is. */
static void tell_connection(struct connection_trace *steps, const struct connection *connection)
{
	const bool is_one =
		connection->server->kind == SERVER_LOCAL || connection->server->kind == SERVER_UNIX;
	char took[DURATION_MAX_BYTES];

	if (connection->connections == steps->connections)
		return;
	steps->connections = connection->connections;
	steps->trouble[0] = '\0';
	duration_show(took, connection->connected_ms - connection->begun_ms);
	if (is_one)
		message_step(steps->messenger, "connected to %s after %s",
			     server_shown(connection->server), took);
	else
		message_step(steps->messenger, "connected to %s:%u after %s",
			     connection->endpoint.host, connection->endpoint.port, took);
}

/* The same trouble may come back many times a second. */
static void tell_trouble(struct connection_trace *steps, const struct error *error)
{
	if (!error->status || strcmp(error->text, steps->trouble) == 0)
		return;
	snprintf(steps->trouble, sizeof(steps->trouble), "%s", error->text);
	message_step(steps->messenger, "%s", error->text);
}

/* The words of a server that refuses us may be longer than a line takes. */
static void tell_words(struct connection_trace *steps, const struct connection *connection)
{
	const char *words = connection->said;
	char part[WORDS_MAX_BYTES + 1];

	if (connection->refusals == steps->refusals)
		return;
	steps->refusals = connection->refusals;
	for (; *words; words += strlen(part)) {
		snprintf(part, sizeof(part), "%s", words);
		message_step(steps->messenger, "the server says: %s", part);
	}
}

static bool is_told(const struct client *client)
{
	return client->steps && client->steps->messenger->verbose;
}

void connection_trace_ask(const struct client *client, const char *question, const char *about)
{
	if (is_told(client))
		message_step(client->steps->messenger, "asking %s%s%s", question, *about ? " " : "",
			     about);
}

void connection_trace_answer(const struct client *client)
{
	char took[DURATION_MAX_BYTES];

	if (is_told(client))
		message_step(client->steps->messenger, "the server has answered after %s",
			     duration_show(took, clock_ms() - client->sent_ms));
}

void connection_trace_skip(struct connection_trace *steps, const struct client *client)
{
	steps->connections = client->connection.connections;
	steps->launches = client->connection.launches;
	steps->refusals = client->connection.refusals;
}

static void tell_absence(struct connection_trace *steps, const struct client *client)
{
	const struct connection *connection = &client->connection;
	const int64_t from_ms = connection->give_up_ms - connection->timeout_ms;
	static const char words[] = "; trying again";
	char text[4 * MESSAGE_CHARACTERS + 1];

	if (steps->told_absence || !client->keen || client->ever_answered ||
	    !client->error.status || !connection->give_up_ms || clock_ms() < from_ms + ABSENCE_MS ||
	    !isatty(STDERR_FILENO))
		return;
	steps->told_absence = true;
	shorten_to(text, MESSAGE_CHARACTERS - strlen(words), client->error.text);
	complain_in_passing("%s", strcat(text, words));
}

void connection_trace_tell(struct connection_trace *steps, const struct client *client)
{
	const struct connection *connection = &client->connection;

	if (!steps->messenger->verbose) {
		tell_absence(steps, client);
		return;
	}
	if (connection->launches != steps->launches)
		message_step(steps->messenger, "no private server runs; starting one");
	steps->launches = connection->launches;
	/* a server that refuses the first request does so in the step that connects */
	if (connection->refusals != steps->refusals)
		tell_connection(steps, connection);
	tell_trouble(steps, &client->error);
	tell_words(steps, connection);
	tell_connection(steps, connection);
}
