/* Leaving is a request of its own, which also undoes a grant that is under way. */
#include "lock/wait_leave.h"

#include "base/duration.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/wait_result.h"
#include "lock/wire.h"
#include "redis/client.h"

/* How long a waiter that leaves waits for the answer; and if the server has never answered. */
#define LEAVE_MS 2000
#define LEAVE_UNHEARD_MS 500

/* The longest way to a server that is only told. */
#define LEAVE_UNANSWERED_MS 100

/* Whether the server is away, or has never answered. Then that is why the waiter has no lock, and
 * *err says so: an outage is not told as a busy lock. */
static bool is_cut_off(const struct waiting *w, struct error *err)
{
	const struct client *client = w->client;

	if (client->ever_answered && client->connection.attempts == 0)
		return false;
	/* the connection for this one of several locks may be too new */
	if (!client->error.status && w->wait->held.count > 0)
		return false;
	client_tell_late(client, err);
	return true;
}

int wait_timed_out(const struct waiting *w, struct error *err)
{
	char text[DURATION_MAX_BYTES];

	if (is_cut_off(w, err))
		return -1;
	if (w->client->phase == REQUEST_CONFIRMING)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: too few replicas confirmed it",
			    w->lock->keys.shown);
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: timed out after %s",
		    w->lock->keys.shown, duration_show_fraction(text, w->wait->options->wait_ms));
}

/* After other failures, as a reply that makes no sense, there is nothing to leave. */
static bool is_worth_leaving(const struct error *err)
{
	return err->status == STATUS_NOT_OBTAINED || err->status == STATUS_UNAVAILABLE ||
	       err->status == STATUS_REFUSED || err->status == STATUS_TIMED_OUT ||
	       err->status == STATUS_USAGE;
}

/* The server has been silent for as long as the user allows. It may go on later, and grant the lock
 * to a process that is no more: it is told, but its answer is not waited for. */
static bool is_silent(const struct client *client, const struct error *err)
{
	return !client->ever_answered && err->status == STATUS_UNAVAILABLE;
}

void wait_leave(struct waiting *w, struct error *err)
{
	struct client *client = w->client;
	const int64_t until_ms = clock_ms() + (client->ever_answered ? LEAVE_MS : LEAVE_UNHEARD_MS);
	struct request request;
	struct holder holder;
	struct error why;

	if (!client->sent_ms || w->traceless || !is_worth_leaving(err))
		return;
	message_step(w->wait->messenger, "leaving the queue");
	/* a connection that carries nothing any more must leave time for another */
	client->timeout_ms = earliest(client->timeout_ms, LEAVE_MS / 2);
	connection_set_timeout(&client->connection, client->timeout_ms);
	client_cancel(client);
	wire_leave(w->lock, &request);
	if (is_silent(client, err)) {
		client_tell(client, &request, clock_ms() + LEAVE_UNANSWERED_MS);
		return;
	}
	if (client_call(client, &request, until_ms, client->ever_answered, &why) == 0) {
		if (err->status == STATUS_NOT_OBTAINED && !w->holder_is_said &&
		    lock_read_leave(w->lock, client->reply, &holder))
			wait_result_add_holder(err, &holder);
		return;
	}
	message_step(w->wait->messenger, "%s", why.text);
	/* a server that cannot serve, or serves us no more, is no busy lock */
	if (clock_ms() >= w->until_ms)
		*err = why;
}
