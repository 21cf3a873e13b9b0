/* fairlock renew: gives a held lock a fresh lease. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "lock/wire.h"
#include "redis/client_call.h"
#include "redis/connection_trace.h"
#include "redis/script.h"

static int renew_as(struct client *client, struct lock *lock, const char *owner,
		    const struct invocation *invocation, struct renew_reply *reply,
		    struct error *err)
{
	const struct options *options = invocation->options;
	struct connection_trace steps = {.messenger = invocation->messenger,
					 .connections = client->connection.connections};
	struct request request;
	int result;

	message_step(invocation->messenger, "renewing lock %s as %s", lock->keys.name, owner);

	wire_renew_as(lock, &request, owner);
	result =
		client_call(client, &request, clock_ms() + options->connect_timeout_ms, false, err);
	connection_trace_tell(&steps, client);
	if (result < 0)
		return -1;
	return lock_renewed(lock, client, reply, err);
}

static int run_renew(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	char *words[] = {NULL};
	struct lock lock;
	struct client client;
	struct renew_reply reply = {.outcome = RENEW_LOST};
	char took[DURATION_MAX_BYTES], left[DURATION_MAX_BYTES];
	int result = 0;

	if (lock_init(&lock,
		      &(struct lock_options){.name = invocation->argv[0],
					     .kind = LOCK_ACQUIRE,
					     .lease_ms = options->lease_ms,
					     .max_queue = -1,
					     .owner = options->owner,
					     .words = words},
		      err) < 0)
		return -1;
	if (lock.inherited_count == 0)
		return fail(
			err, STATUS_USAGE,
			"cannot renew lock %s: say who you are: --owner ID, as acquire printed it",
			lock.keys.name);
	client_init(&client, invocation->server, options->connect_timeout_ms);
	for (int i = 0; result == 0 && reply.outcome == RENEW_LOST && i < lock.inherited_count; i++)
		result = renew_as(&client, &lock, lock.inherited[i], invocation, &reply, err);
	client_close(&client);
	if (result == 0 && reply.outcome == RENEW_LOST)
		return fail(err, STATUS_NOT_HELD,
			    "cannot renew lock %s: not held by this owner (any more)",
			    lock.keys.name);
	if (result == 0)
		message_step(invocation->messenger, "renewed lock %s in %s, its lease ends in %s",
			     lock.keys.name, duration_show(took, clock_ms() - client.sent_ms),
			     duration_show(left, reply.ttl_ms));
	*status = STATUS_OK;
	return result;
}

const struct command renew_command = {
	.name = "renew",
	.operands = "NAME",
	.summary = "give a held lock a fresh lease",
	.examples =
		"  fairlock renew --owner \"$owner\" deploy           acquire printed the ID\n"
		"  fairlock renew --owner \"$owner\" deploy || exit   exit if the lock is lost\n"
		"  fairlock renew -l 10m --owner \"$owner\" deploy    a lease of 10 minutes\n",
	.bit = COMMAND_RENEW,
	.least = 1,
	.most = 1,
	.run = run_renew,
};
