/* A script that says nothing of itself may write: from version 7 on, a server that takes no writes
 * (OOM, READONLY, MISCONF, NOREPLICAS) refuses to run it. So one that changes nothing tells. */
#include "lock/grants.h"

#include "base/clock.h"
#include "redis/client.h"

static int ask(struct client *client, const struct request *request, struct error *why)
{
	return client_call(client, request, clock_ms() + client->timeout_ms, false, why);
}

enum grants grants_ask(struct client *client, struct error *why)
{
	const struct request script = {.argv = {"EVAL", "#!lua\nreturn 1", "0"}, .argc = 3};
	/* before version 7; there is no list to insert into */
	const struct request insert = {
		.argv = {"LINSERT", "redisson_lock_queue:{fairlock-doctor}", "BEFORE", "", ""},
		.argc = 5};
	int result = ask(client, &script, why);

	if (result < 0 && why->status == STATUS_BUG && !client->connection.handshake.is_cluster)
		result = ask(client, &insert, why);
	if (result == 0)
		return GRANTS_LOCKS;
	return why->status == STATUS_UNAVAILABLE ? GRANTS_NONE : GRANTS_NOT_KNOWN;
}
