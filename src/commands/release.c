/* fairlock release: gives back what acquire took, or breaks a lock by force. */
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

/* One release as the given owner; the reply lives in client. */
static int release_as(struct client *client, const struct lock *lock, const char *owner,
		      const struct invocation *invocation, struct release_reply *reply,
		      struct error *err)
{
	const struct options *options = invocation->options;
	struct connection_trace steps = {.messenger = invocation->messenger,
					 .connections = client->connection.connections};
	struct request request;
	int result;
	char token[24] = "";

	if (*owner)
		message_step(invocation->messenger, "giving lock %s back as %s", lock->keys.name,
			     owner);
	else
		message_step(invocation->messenger, "breaking lock %s", lock->keys.name);
	if (options->token >= 0)
		snprintf(token, sizeof(token), "%" PRId64, options->token);
	wire_release_as(lock, &request, owner, options->force, token);
	result =
		client_call(client, &request, clock_ms() + options->connect_timeout_ms, false, err);
	connection_trace_tell(&steps, client);
	if (result < 0)
		return -1;
	return lock_released(client->reply, reply, err);
}

static void say_whose(const struct lock *lock, const struct release_reply *reply)
{
	char holder[300], owner[OWNER_MAX_BYTES];

	owner_show(holder, sizeof(holder), reply->by);
	snprintf(owner, sizeof(owner), "%s", reply->owner);
	tame(holder);
	tame(owner);
	if (*reply->by)
		printf("lock %s was held by %s as %s\n", lock->keys.name, holder, owner);
	else
		printf("lock %s was held by %s\n", lock->keys.name, owner);
}

static int report(const struct lock *lock, const struct options *options,
		  const struct release_reply *reply, struct error *err)
{
	switch (reply->outcome) {
	case RELEASED:
	case RELEASE_KEPT:
		return 0;
	case RELEASE_FORCED:
		if (!options->quiet)
			say_whose(lock, reply);
		return 0;
	case RELEASE_FREE:
		if (!options->quiet)
			printf("lock %s was free\n", lock->keys.name);
		return 0;
	case RELEASE_NOT_ACQUIRED:
		return fail(err, STATUS_NOT_HELD,
			    "cannot release lock %s: wrap holds it until its command ends",
			    lock->keys.name);
	case RELEASE_NOT_HELD:
		if (options->force)
			return fail(err, STATUS_NOT_HELD,
				    "cannot release lock %s: the token is not its holder's",
				    lock->keys.name);
		return fail(err, STATUS_NOT_HELD,
			    "cannot release lock %s: not held by this owner (any more)",
			    lock->keys.name);
	}
	return 0;
}

static int run_release(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	char *words[] = {NULL};
	struct lock lock;
	struct client client;
	struct release_reply reply = {.outcome = RELEASE_NOT_HELD};
	char took[DURATION_MAX_BYTES];
	int result = 0;

	if (lock_init(&lock,
		      &(struct lock_options){.name = invocation->argv[0],
					     .kind = LOCK_ACQUIRE,
					     .max_queue = -1,
					     .owner = options->owner,
					     .words = words},
		      err) < 0)
		return -1;
	if (!options->force && lock.inherited_count == 0)
		return fail(
			err, STATUS_USAGE,
			"cannot release lock %s: say who you are: --owner ID, as acquire printed it",
			lock.keys.name);
	client_init(&client, invocation->server, options->connect_timeout_ms);
	if (options->force)
		result = release_as(&client, &lock, "", invocation, &reply, err);
	for (int i = 0; !options->force && result == 0 && i < lock.inherited_count; i++) {
		result = release_as(&client, &lock, lock.inherited[i], invocation, &reply, err);
		if (reply.outcome != RELEASE_NOT_HELD)
			break;
	}
	if (result == 0)
		result = report(&lock, options, &reply, err);
	if (result == 0)
		message_step(invocation->messenger, "the server has answered after %s",
			     duration_show(took, clock_ms() - client.sent_ms));
	client_close(&client);
	*status = STATUS_OK;
	return result;
}

const struct command release_command = {
	.name = "release",
	.operands = "NAME",
	.summary = "give the lock back",
	.examples = "  fairlock release --owner \"$owner\" deploy    acquire printed the ID\n"
		    "  fairlock release --force deploy             break the lock\n"
		    "  fairlock release --force --token 5 deploy   if the holder has this token\n",
	.bit = COMMAND_RELEASE,
	.least = 1,
	.most = 1,
	.run = run_release,
};
