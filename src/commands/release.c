/* fairlock release: gives back what acquire took, asks the holder to stop, or breaks a lock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "cli/options.h"
#include "commands/release_stop.h"
#include "commands/release_words.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "lock/owner_call.h"
#include "redis/reply.h"

/* The reply lives in call->client. */
static int release_as(struct owner_call *call, const char *owner, enum release_outcome *outcome,
		      struct error *err)
{
	const struct options *options = call->invocation->options;
	const char *name = call->lock.keys.shown;
	struct request request;
	char token[NUMBER_MAX_BYTES] = "", only[OWNER_MAX_BYTES];

	if (options->forget_run)
		message_step(call->invocation->messenger, "forgetting the last run of lock %s",
			     name);
	else if (!options->force)
		message_step(call->invocation->messenger, "giving lock %s back as %s", name, owner);
	else
		message_step(call->invocation->messenger, "breaking lock %s", name);
	if (options->token >= 0)
		snprintf(token, sizeof(token), "%" PRId64, options->token);
	if (options->forget_run)
		wire_forget(&call->lock, &request);
	else if (options->force)
		wire_force(&call->lock, &request, token, release_only(only, options));
	else
		wire_release_as(&call->lock, &request, owner);
	if (owner_call_make(call, &request, err) < 0)
		return -1;
	return lock_read_release(call->client.reply, outcome, err);
}

static void say_forgotten(const struct lock *lock, long long ago_ms)
{
	const char *name = lock->keys.shown;
	char ago[DURATION_MAX_BYTES];

	if (ago_ms < 0)
		printf("lock %s had no last start\n", name);
	else
		printf("forgot the last start of lock %s, %s ago\n", name,
		       duration_show(ago, ago_ms));
}

static int report(const struct lock *lock, const struct options *options,
		  enum release_outcome outcome, const struct redisReply *reply, struct error *err)
{
	switch (outcome) {
	case RELEASED:
	case RELEASE_KEPT:
		return 0;
	case RELEASE_FORCED:
		for (size_t i = 1; !options->quiet && i + 1 < reply_count(reply); i += 2)
			release_say_whose(lock, reply_text(reply, i), reply_text(reply, i + 1));
		return 0;
	case RELEASE_FREE:
		if (!options->quiet)
			release_say_free(lock);
		return 0;
	case RELEASE_FORGOT:
		if (!options->quiet)
			say_forgotten(lock, reply_number(reply, 1));
		return 0;
	case RELEASE_NOT_ACQUIRED:
		return fail(err, STATUS_NOT_HELD,
			    "cannot release lock %s: wrap holds it until its command ends",
			    lock->keys.shown);
	case RELEASE_NOT_HELD:
		return fail(err, STATUS_NOT_HELD, "cannot release lock %s: %s", lock->keys.shown,
			    options->force
				    ? "no holder has this token; see status -o +TOKEN"
				    : "this owner does not hold it now; see fairlock status");
	}
	return 0;
}

static int release(struct owner_call *call, struct error *err)
{
	const struct options *options = call->invocation->options;
	const bool needs_owner = owner_call_needs_owner(options);
	const int tries = needs_owner ? call->lock.inherited_count : 1;
	enum release_outcome outcome = RELEASE_NOT_HELD;
	char took[DURATION_MAX_BYTES];

	for (int i = 0; outcome == RELEASE_NOT_HELD && i < tries; i++)
		if (release_as(call, needs_owner ? call->lock.inherited[i] : "", &outcome, err) < 0)
			return -1;
	if (report(&call->lock, options, outcome, call->client.reply, err) < 0)
		return -1;
	if (**call->by_hand && !options->quiet)
		release_say_whose(&call->lock, *call->by_hand, call->by);
	message_step(call->invocation->messenger, "the server has answered after %s",
		     duration_show(took, clock_ms() - call->client.sent_ms));
	return 0;
}

static int run_release(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	struct owner_call call;
	bool is_known = true;
	int result;

	*status = STATUS_OK;
	if (owner_call_init(&call, invocation, "release", err) < 0)
		return -1;
	result = owner_call_needs_owner(options)
			 ? 0
			 : lock_list_check(&call.client, &call.lock.keys, &is_known, err);
	if (result == 0 && is_known)
		result = options->stop ? release_stop(&call, status, err) : release(&call, err);
	else if (result == 0 && options->token >= 0) /* of a holder that there is not */
		result = report(&call.lock, options, RELEASE_NOT_HELD, NULL, err);
	client_close(&call.client);
	return result;
}

const struct command release_command = {
	.name = "release",
	.operands = "NAME",
	.summary = "give the lock back, or take it from its holder",
	.examples = "  fairlock release --owner \"$owner\" deploy    acquire printed the ID\n"
		    "  fairlock release --stop --wait 1m deploy    ask its holder to stop\n"
		    "  fairlock release --force deploy             break the lock\n",
	.bit = COMMAND_RELEASE,
	.least = 1,
	.most = 1,
	.run = run_release,
};
