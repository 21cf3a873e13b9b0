/* Each stage goes on as far as it can without waiting; an address that fails leads to the next. */
#include "redis/connection_begin.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "redis/connection_end.h"
#include "redis/local_server.h"
#include "redis/reply_limits.h"
#include "redis/resolve.h"
#include "redis/server.h"
#include "redis/tls.h"

/* Nothing has come yet. An attempt that has taken too long fails. */
static enum connection_event keep_waiting(struct connection *connection)
{
	return clock_ms() < connection->due_ms ? CONNECTION_NOTHING
					       : connection_attempt_late(connection);
}

/* An attempt has this time at least, also if this process was stopped meanwhile. */
#define ATTEMPT_MIN_MS 50

/* Whether something else may be tried if this attempt fails. The endpoint that was named may have
 * been replaced: then another round finds that out. */
static bool has_others(const struct connection *connection)
{
	return connection->on_named || connect_has_more(&connection->addresses) ||
	       connection->tried < connection->server->seed_count;
}

/* In every second round the first attempt may take all the time: its server may be slow, and not
 * dead. */
static bool may_take_all(const struct connection *connection)
{
	return connection->attempts % 2 == 1 && connection->tried <= 1 &&
	       connection->addresses.next <= 1;
}

/* While other addresses are left, one gets half of the time that is left. */
static void share_time(struct connection *connection)
{
	const int64_t now = clock_ms(), rest = connection->until_ms - now;
	const int64_t share = has_others(connection) && !may_take_all(connection) ? rest / 2 : rest;
	const int64_t least = earliest(ATTEMPT_MIN_MS, connection->timeout_ms);

	connection->due_ms = now + (share > least ? share : least);
}

static enum connection_event opened(struct connection *connection)
{
	connection->stage = CONNECTION_OPEN;
	connection->opened++;
	share_time(connection);
	handshake_send(&connection->handshake, connection->redis);
	return connection->handshake.to_sentinel ? CONNECTION_NOTHING : CONNECTION_OPENED;
}

static enum connection_event await_tls(struct connection *connection)
{
	struct error why;

	switch (tls_shake_hands(connection->redis, &connection->events, &why)) {
	case 0:
		return opened(connection);
	case 1:
		return keep_waiting(connection);
	default:
		connection->broke |= connection->redis->err == REDIS_ERR_EOF;
		server_fail(connection->server, &connection->error, why.status, "reach", why.text);
		return connection_attempt_failed(connection);
	}
}

/* Returns false when there is no memory; what was made goes with the socket. */
static bool make_context(struct connection *connection)
{
	redisOptions options = {.type = REDIS_CONN_USERFD,
				.endpoint.fd = connection->fd,
				.options = REDIS_OPT_NONBLOCK};

	connection->redis = redisConnectWithOptions(&options);
	if (connection->redis && !connection->redis->err)
		connection->bounds = reply_limits_set(connection->redis->reader);
	return connection->bounds;
}

static enum connection_event connected(struct connection *connection)
{
	connection->addresses.next = connection->addresses.count; /* no other address is needed */
	connection->away = false;
	if (!make_context(connection))
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(ENOMEM));
	if (!connection->server->tls)
		return opened(connection);
	if (tls_start(connection->redis, connection->server, connection->endpoint.host,
		      &connection->error) < 0)
		return connection_lost(connection);
	share_time(connection);
	connection->stage = CONNECTION_SECURING;
	return await_tls(connection);
}

static enum connection_event await_socket(struct connection *connection)
{
	switch (connect_result(connection->fd)) {
	case 0:
		return connected(connection);
	case 1:
		return keep_waiting(connection);
	default:
		return connection_attempt_failed_for(connection, strerror(errno));
	}
}

/* ---- The way to a socket ---- */

/* Why connect_unix failed: the server does not run, or is too busy to answer. */
static bool is_not_there(int cause)
{
	return cause == ENOENT || cause == ECONNREFUSED || cause == EAGAIN;
}

/* The private server does not listen: starts it. */
static enum connection_event start_local(struct connection *connection)
{
	if (!is_not_there(errno))
		return connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(errno));
	if (local_server_start(connection->local_folder, &connection->error) < 0)
		return connection_lost(connection);
	if (!connection->give_up_ms)
		connection->launches++;
	if (connection_await(connection))
		return CONNECTION_NOTHING;
	local_server_failure(connection->local_folder, &connection->error);
	return connection_lost(connection);
}

static enum connection_event open_local(struct connection *connection)
{
	if (connection->local_folder < 0)
		connection->local_folder = local_server_open(&connection->error);
	if (connection->local_folder < 0)
		return connection_lost(connection);
	connection->fd = local_server_connect(connection->local_folder);
	return connection->fd < 0 ? start_local(connection) : connected(connection);
}

static enum connection_event open_unix(struct connection *connection)
{
	connection->fd = connect_unix(connection->server->path);
	if (connection->fd >= 0)
		return connected(connection);
	return is_not_there(errno)
		       ? connection_attempt_failed_for(connection, strerror(errno))
		       : connection_fail(connection, STATUS_UNAVAILABLE, "reach", strerror(errno));
}

static enum connection_event try_next_address(struct connection *connection)
{
	connection->fd = connect_next(&connection->addresses, connection->timeout_ms);
	if (connection->fd < 0)
		return connection_attempt_failed_for(connection, strerror(errno));
	share_time(connection);
	connection->stage = CONNECTION_CONNECTING;
	return CONNECTION_NOTHING;
}

/* The endpoint that was named goes first, then the seeds, from the one that was fine last. */
static void choose_endpoint(struct connection *connection)
{
	const struct server *server = connection->server;

	connection->on_named = connection->named.port != 0;
	connection->handshake.to_sentinel =
		!connection->on_named && server->kind == SERVER_SENTINEL;
	connection->endpoint = connection->on_named
				       ? connection->named
				       : server->seeds[(connection->seed + connection->tried++) %
						       server->seed_count];
}

static enum connection_event open_tcp(struct connection *connection)
{
	if (connect_has_more(&connection->addresses))
		return try_next_address(connection);
	choose_endpoint(connection);
	if (connect_known(&connection->addresses, &connection->endpoint))
		return try_next_address(connection);
	connection->fd = resolve_start(&connection->endpoint);
	if (connection->fd < 0)
		return connection_attempt_failed_for(connection, strerror(errno));
	share_time(connection);
	connection->stage = CONNECTION_LOOKING_UP;
	return CONNECTION_NOTHING;
}

static enum connection_event begin(struct connection *connection)
{
	const int64_t now = clock_ms();

	if (now < connection->retry_ms)
		return CONNECTION_NOTHING;
	/* a process that was stopped, or had nothing to ask, begins anew */
	if (!connection->until_ms || (now >= connection->until_ms && !connection->give_up_ms))
		connection->until_ms = now + connection->timeout_ms;
	connection->lost_ms = 0;
	if (connection->connected_ms >= connection->begun_ms)
		connection->begun_ms = now;
	connection->is_well = false;
	connection->asking = connection->asks_next;
	connection->asks_next = false;
	switch (connection->server->kind) {
	case SERVER_LOCAL:
		return open_local(connection);
	case SERVER_UNIX:
		return open_unix(connection);
	case SERVER_TCP:
	case SERVER_SENTINEL:
		return open_tcp(connection);
	}
	return CONNECTION_NOTHING;
}

static enum connection_event await_name(struct connection *connection)
{
	struct pollfd slot = {.fd = connection->fd, .events = POLLIN};
	const char *cause;
	int fd = connection->fd;

	if (poll(&slot, 1, 0) == 0)
		return keep_waiting(connection);
	connection->fd = -1;
	if (resolve_finish(fd, &connection->addresses, &cause) < 0)
		return connection_attempt_failed_for(connection, cause);
	return try_next_address(connection);
}

enum connection_event connection_advance(struct connection *connection)
{
	switch (connection->stage) {
	case CONNECTION_DOWN:
		return begin(connection);
	case CONNECTION_LOOKING_UP:
		return await_name(connection);
	case CONNECTION_CONNECTING:
		return await_socket(connection);
	case CONNECTION_SECURING:
		return await_tls(connection);
	case CONNECTION_OPEN:
		break;
	}
	return CONNECTION_NOTHING;
}
