/* fairlock renew: gives a held lock a fresh lease. */
#include "base/clock.h"
#include "commands/owner_call.h"

static int run_renew(const struct invocation *invocation, int *status, struct error *err)
{
	struct owner_call call;
	struct request request;
	struct renew_reply reply = {.outcome = RENEW_LOST};
	char took[DURATION_MAX_BYTES], left[DURATION_MAX_BYTES];
	int result = owner_call_init(&call, invocation, "renew", err);

	if (result < 0)
		return -1;
	for (int i = 0; result == 0 && reply.outcome == RENEW_LOST && i < call.lock.inherited_count;
	     i++) {
		message_step(invocation->messenger, "renewing lock %s as %s", call.lock.keys.shown,
			     call.lock.inherited[i]);
		wire_renew_as(&call.lock, &request, call.lock.inherited[i]);
		result = client_ask(&call.client, &request, NEVER_MS, err);
		if (result == 0)
			result = lock_read_renewal(&call.lock, &call.client, &reply, err);
	}
	client_close(&call.client);
	if (result == 0 && reply.outcome == RENEW_LOST)
		return fail(
			err, STATUS_NOT_HELD,
			"cannot renew lock %s: this owner does not hold it now; see fairlock status",
			call.lock.keys.shown);
	if (result == 0 && reply.outcome == RENEW_NOT_BY_HAND)
		return fail(
			err, STATUS_USAGE,
			"cannot renew lock %s: a lease over 1d is for a lock that was taken by hand",
			call.lock.keys.shown);
	if (result == 0)
		message_step(invocation->messenger, "renewed lock %s in %s, its lease ends in %s",
			     call.lock.keys.shown,
			     duration_show(took, clock_ms() - call.client.sent_ms),
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
	.run = run_renew,
};
