#include "lock/wait_leave.h"

#include "base/message.h"
#include "cli/options.h"
#include "lock/wait_result.h"
#include "lock/wire.h"
#include "redis/client_call.h"

/* A waiter that leaves tells the server so, and waits no longer than this for the answer. */
#define LEAVE_MS 2000

/* A server that has answered nothing within the connect timeout gets less. */
#define LEAVE_UNHEARD_MS 500

/* The time for waiting is over; if the server was away, or its replicas, that is why. */
int wait_timed_out(const struct waiting *w, struct error *err)
{
	if (w->client->phase == REQUEST_CONFIRMING)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: too few replicas know of it", w->lock->keys.name);
	if (w->client->connection.attempts > 0) {
		*err = w->client->error;
		return -1;
	}
	return wait_result_not_obtained(err, w->lock, "timed out");
}

/* Tells the server that we are gone, also undoing a grant whose reply is under way. A waiter may
 * have had nothing to ask for a while: if the time for waiting is over, and the server turns out to
 * be away, that is why. */
static void leave(struct waiting *w, struct error *err)
{
	const int64_t until_ms =
		clock_ms() + (w->client->ever_answered ? LEAVE_MS : LEAVE_UNHEARD_MS);
	struct request request;
	struct error why;

	message_step(w->wait->messenger, "leaving the queue");
	/* a connection that carries nothing any more must leave time for another */
	w->client->timeout_ms = earliest(w->client->timeout_ms, LEAVE_MS / 2);
	w->client->connection.timeout_ms = w->client->timeout_ms;
	client_cancel(w->client);
	wire_leave(w->lock, &request);
	if (client_call(w->client, &request, until_ms, w->client->ever_answered, &why) == 0)
		return;
	message_step(w->wait->messenger, "%s", why.text);
	if (why.status == STATUS_UNAVAILABLE && clock_ms() >= w->until_ms)
		*err = why;
}

/* A server that makes no sense, or a name that is something else: there is nothing to leave. */
static bool is_worth_leaving(const struct error *err)
{
	return err->status == STATUS_NOT_OBTAINED || err->status == STATUS_UNAVAILABLE ||
	       err->status == STATUS_REFUSED;
}

void wait_leave(struct waiting *w, struct error *err)
{
	if (w->client->sent_ms && !w->traceless && is_worth_leaving(err))
		leave(w, err);
}
