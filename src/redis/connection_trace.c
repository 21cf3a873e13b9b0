#include "redis/connection_trace.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "redis/client.h"
#include "redis/server_url.h"

/* Of several servers, which one; or of a name, which port. */
static void tell_connection(const struct steps *steps, const struct link *link)
{
	const bool is_one = link->server->kind == SERVER_LOCAL || link->server->kind == SERVER_UNIX;
	char took[DURATION_MAX_BYTES];

	duration_show(took, link->connected_ms - link->begun_ms);
	if (is_one)
		tell_step(steps->teller, "connected to %s after %s", server_shown(link->server),
			  took);
	else
		tell_step(steps->teller, "connected to %s:%u after %s", link->endpoint.host,
			  link->endpoint.port, took);
}

/* The same trouble may come back many times a second. */
static void tell_trouble(struct steps *steps, const struct error *error)
{
	if (!error->status || strcmp(error->text, steps->trouble) == 0)
		return;
	snprintf(steps->trouble, sizeof(steps->trouble), "%s", error->text);
	tell_step(steps->teller, "%s", error->text);
}

void steps_skip(struct steps *steps, const struct client *client)
{
	steps->connections = client->link.connections;
	steps->launches = client->link.launches;
}

void steps_tell(struct steps *steps, const struct client *client)
{
	const struct link *link = &client->link;

	if (!steps->teller->verbose)
		return;
	if (link->launches != steps->launches)
		tell_step(steps->teller, "no private server runs; starting one");
	steps->launches = link->launches;
	tell_trouble(steps, &client->error);
	if (link->connections == steps->connections)
		return;
	tell_connection(steps, link);
	steps->connections = link->connections;
	steps->trouble[0] = '\0';
}
