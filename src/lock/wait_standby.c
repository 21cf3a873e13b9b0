/* They stand on the connections that are there: a process that is made then can go on with these.
 */
#include "lock/wait_standby.h"

/* There is time while the server works on our first request, and while no request is under way. */
static bool is_time(const struct waiting *w)
{
	if (!w->may_be_next || !hold_set_is_silent(&w->wait->held))
		return false;
	if (w->told_queued)
		return client_is_still(w->client);
	/* a guard that needs a connection of its own pays only once we are queued */
	return connection_is_silent(&w->client->connection) &&
	       connection_can_be_shared(&w->client->connection);
}

static unsigned opened(const struct waiting *w)
{
	return w->client->connection.opened + hold_set_opened(&w->wait->held);
}

bool wait_standby_begins(struct waiting *w)
{
	if (!is_time(w))
		return false;
	w->may_be_next = false;
	w->stands_by = true;
	w->stands_on = opened(w);
	return true;
}

bool wait_standby_ends(struct waiting *w)
{
	const bool is_behind = w->told_queued && !w->first;

	if (!w->stands_by || (!is_behind && w->client->connection.stage == CONNECTION_OPEN &&
			      opened(w) == w->stands_on))
		return false;
	w->stands_by = false;
	return true;
}
