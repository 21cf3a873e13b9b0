/* Decides which server is tried next after a failure, and when. */
#include "redis/connection_end.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/reply_limits.h"
#include "redis/server.h"

#define BACKOFF_MIN_MS INT64_C(10)
#define LOCAL_START_RETRY_MS 3

static void close_socket(struct connection *connection)
{
	if (connection->redis)
		redisFree(connection->redis); /* and its socket */
	else if (connection->fd >= 0)
		close(connection->fd);
	reply_limits_free(connection->bounds);
	connection->redis = NULL;
	connection->bounds = NULL;
	connection->fd = -1;
	connection->handshake.due = 0;
	connection->stage = CONNECTION_DOWN;
}

void connection_close(struct connection *connection)
{
	close_socket(connection);
	if (connection->local_folder >= 0)
		close(connection->local_folder);
	connection->local_folder = -1;
}

void connection_leave(const struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	if (connection->local_folder >= 0)
		close(connection->local_folder);
}

void connection_drop(struct connection *connection)
{
	close_socket(connection);
	connection->addresses = (struct addresses){0};
	connection->retry_ms = 0;
}

/* Half of the delay is random, so that many waiters do not come back in step. */
int64_t connection_back_off(struct connection *connection)
{
	const unsigned doublings = connection->attempts < 16 ? connection->attempts : 16;
	const int64_t half = earliest(BACKOFF_MIN_MS << doublings, connection->back_off_max_ms) / 2;
	uint32_t dice = 0;

	(void)!getrandom(&dice, sizeof(dice), GRND_NONBLOCK);
	connection->attempts++;
	return half + (int64_t)(dice % (uint64_t)(half + 1));
}

/* The next attempts have the whole timeout, unless the caller counts them among those that have
 * failed (connection_await). A server that was reached and then broke the connection was away for
 * no time yet. */
static void end_attempts(struct connection *connection)
{
	connection->lost_ms = connection->until_ms && !connection->broke
				      ? connection->until_ms
				      : clock_ms() + connection->timeout_ms;
	connection->until_ms = 0;
}

/* After a working connection breaks, the endpoint that was named is tried once more, then it is
 * forgotten. If a sentinel named it, another sentinel is asked: this one may be the only one that
 * does not know better. */
enum connection_event connection_lost(struct connection *connection)
{
	if (connection->on_named && connection->server->kind == SERVER_SENTINEL)
		connection->seed = (connection->seed + 1) % connection->server->seed_count;
	if (!connection->is_well || connection->asking ||
	    connection->server->kind == SERVER_SENTINEL)
		connection->named.port = 0;
	connection_drop(connection);
	connection->tried = 0;
	connection->redirections = 0;
	connection->is_well = false;
	connection->refused = false;
	end_attempts(connection);
	connection->retry_ms = clock_ms() + connection_back_off(connection);
	return CONNECTION_FAILED;
}

enum connection_event connection_fail(struct connection *connection, enum status status,
				      const char *verb, const char *cause)
{
	server_fail(connection->server, &connection->error, status, verb, cause);
	return connection_lost(connection);
}

enum connection_event connection_attempt_failed(struct connection *connection)
{
	if (!connect_has_more(&connection->addresses) &&
	    (connection->on_named || connection->tried >= connection->server->seed_count))
		return connection_lost(connection);
	close_socket(connection);
	connection->retry_ms = 0;
	return CONNECTION_NOTHING;
}

/* If no address can be connected to, the error is that of the first one: the others may be of a
 * kind that is not in use here. */
enum connection_event connection_attempt_failed_for(struct connection *connection,
						    const char *cause)
{
	if (connection->addresses.next <= 1 || connection->redis) {
		connection->away = true;
		server_fail(connection->server, &connection->error, STATUS_UNAVAILABLE, "reach",
			    cause);
	}
	return connection_attempt_failed(connection);
}

const char *connection_lateness(const struct connection *connection)
{
	switch (connection->stage) {
	case CONNECTION_LOOKING_UP:
		return "its name was not found in time";
	case CONNECTION_CONNECTING:
		return strerror(ETIMEDOUT);
	case CONNECTION_SECURING:
		return "no answer to the TLS handshake in time (does it speak TLS?)";
	case CONNECTION_DOWN:
	case CONNECTION_OPEN:
		break;
	}
	return "no reply in time";
}

enum connection_event connection_attempt_late(struct connection *connection)
{
	return connection->give_up_ms && connection->error.status
		       ? connection_attempt_failed(connection)
		       : connection_attempt_failed_for(connection, connection_lateness(connection));
}

bool connection_await(struct connection *connection)
{
	const int64_t now = clock_ms();
	int64_t pause_ms;

	if (!connection->give_up_ms)
		connection->give_up_ms = connection->until_ms  ? connection->until_ms
					 : connection->lost_ms ? connection->lost_ms
							       : now + connection->timeout_ms;
	if (now >= connection->give_up_ms) {
		connection->give_up_ms = 0;
		return false;
	}
	connection_drop(connection);
	connection->until_ms = connection->give_up_ms;
	pause_ms = connection->server->kind == SERVER_LOCAL ? LOCAL_START_RETRY_MS
							    : connection_back_off(connection);
	/* the attempt behind the pause needs time, too, but a pause there is */
	connection->retry_ms =
		now +
		earliest(pause_ms, earliest((connection->give_up_ms - now) / 2 + BACKOFF_MIN_MS,
					    BACK_OFF_MAX_MS));
	return true;
}
