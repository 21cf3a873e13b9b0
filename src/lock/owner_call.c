/* Each call may wait as long as --connect-timeout, and tells the steps of its connection. */
#include "lock/owner_call.h"

#include "base/clock.h"
#include "cli/options.h"
#include "redis/client_call.h"

bool owner_call_needs_owner(const struct options *options)
{
	return !options->stop && !options->force && !options->forget_run;
}

int owner_call_init(struct owner_call *call, const struct invocation *invocation, const char *verb,
		    struct error *err)
{
	const struct options *options = invocation->options;
	char fairlock[] = "fairlock", release[] = "release", stop[] = "--stop", force[] = "--force";
	char *words[] = {fairlock, release, options->stop ? stop : force, NULL};
	const struct lock_options wanted = {.name = invocation->argv[0],
					    .kind = LOCK_ACQUIRE,
					    .lease_ms = options->lease_ms,
					    .max_queue = -1,
					    .owner = options->owner,
					    .words = words};

	call->invocation = invocation;
	if (lock_init(&call->lock, &wanted, err) < 0)
		return -1;
	if (owner_call_needs_owner(options) && call->lock.inherited_count == 0)
		return fail(err, STATUS_USAGE,
			    "cannot %s lock %s: say who you are: --owner ID, as acquire printed it",
			    verb, call->lock.keys.shown);
	client_init(&call->client, invocation->server, options->connect_timeout_ms);
	call->steps = (struct connection_trace){.messenger = invocation->messenger};
	call->client.steps = &call->steps;
	call->client.keen = true;
	return 0;
}

int owner_call_make(struct owner_call *call, const struct request *request, struct error *err)
{
	const int64_t until_ms = clock_ms() + call->invocation->options->connect_timeout_ms;

	return client_call(&call->client, request, until_ms, false, err);
}
