/* A waiter sends its requests, and acts on the server's answers and messages. */
#include "lock/wait_ask.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/handover.h"
#include "lock/wait_above.h"
#include "lock/wait_report.h"
#include "lock/wait_result.h"
#include "lock/wire.h"

/* A message may send us no farther ahead, so that sums of times do not overflow. */
#define WATCH_MAX_MS (INT64_C(1) << 50)

/* After so long the first in the queue listens for plain Redisson locks, too. */
#define LISTEN_MS 20

/* We ask again after a late grant. After so many, the server is too far away for the lease. */
#define LATE_GRANTS 3

/* A waiter asks again after so long if the server has refused it a channel. Until it listens it
 * counts as gone, and waiters behind it would go before it. */
#define DEAF_MS 1000

static bool may_queue(const struct waiting *w)
{
	return !w->wait->options->no_wait && w->wait->options->wait_ms != 0;
}

/* From here on the release of a plain Redisson lock wakes us, too. */
static void hear_outsiders(struct waiting *w)
{
	client_subscribe(w->client, w->lock->keys.channel);
	w->hears_outsiders = true;
}

void wait_ask(struct waiting *w)
{
	struct request request;

	message_step(w->wait->messenger, "asking for lock %s as %s", w->lock->keys.shown,
		     w->lock->id);
	if (w->first)
		hear_outsiders(w);
	wire_ask(w->lock, &request, !may_queue(w));
	client_request(w->client, &request);
	w->sign_ms = w->watch_ms = NEVER_MS;
	pace_take(&w->pace);
	w->traceless = false;
	w->viewing = w->place_due = false;
}

/* Whether a request for the lock is under way, and not just one for a view. */
static bool is_asking(const struct waiting *w)
{
	return client_has_request(w->client) && !w->viewing;
}

/* Redisson's unlock speaks to the head of its list, where one id stands for several of us. It may
 * have spoken before we listen there, so we ask once more. Returns false if we do listen. */
static bool hear_marker(struct waiting *w, const char *ticket)
{
	char id[OWNER_MAX_BYTES], channel[CHANNEL_MAX_BYTES];

	if (!*ticket)
		return false;
	snprintf(id, sizeof(id), "fairlock:%s", ticket);
	wire_channel(&w->lock->keys, id, channel);
	return client_subscribe(w->client, channel);
}

/* A lock that never ends is most likely a mistake: the user should know. */
static void tell_missing_ttl(struct waiting *w, int64_t ttl_ms)
{
	if (ttl_ms == -1 && !w->told_no_ttl) {
		progress_clear(&w->progress);
		message(w->wait->messenger, LOG_NOTICE,
			"lock %s has no time to live: only its holder or release --force can free it",
			w->lock->keys.shown);
	}
	w->told_no_ttl = ttl_ms == -1;
}

static void queued(struct waiting *w, const struct ask_reply *reply)
{
	if (!w->told_queued) {
		message_step(w->wait->messenger, "waiting for lock %s", w->lock->keys.shown);
		if (!w->wait->options->quiet)
			progress_start(&w->progress);
		wait_report_begin(w);
		wait_above_begin(w);
	}
	w->told_queued = true;
	w->place_due = w->wait->messenger->verbose && w->view_ms != NEVER_MS;
	w->sign_ms =
		clock_ms() + (client_hears_all(w->client) ? reply->ask_in_ms
							  : earliest(reply->ask_in_ms, DEAF_MS));
	tell_missing_ttl(w, reply->ttl_ms);
	w->first = w->may_be_next = reply->first;
	if (w->first)
		hear_outsiders(w);
	if (hear_marker(w, reply->marker))
		wait_ask(w);
}

static void got_it(struct waiting *w)
{
	w->granted = true;
	wait_result_tell_grant(w->wait->messenger, w->lock);
}

/* We may have been stopped while the answer was under way. COMMAND does not start on a lease that
 * is as good as over: the next request renews it, or finds our old place in the queue. */
static int granted(struct waiting *w, struct error *err)
{
	if (lock_is_fresh(w->lock)) {
		got_it(w);
		return 0;
	}
	message_step(w->wait->messenger, "the grant of lock %s came late", w->lock->keys.shown);
	if (++w->late_grants == LATE_GRANTS)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: each grant came too late; use a longer --lease",
			    w->lock->keys.shown);
	wait_ask(w);
	return 0;
}

int wait_asked(struct waiting *w, struct error *err)
{
	struct ask_reply reply;

	if (lock_read_answer(w->lock, w->client, &reply, err) < 0)
		return -1;
	w->traceless = reply.outcome == ASK_BUSY || reply.outcome == ASK_FULL ||
		       reply.outcome == ASK_RAN || reply.outcome == ASK_MISFIT;
	if (reply.outcome == ASK_GRANTED)
		return granted(w, err);
	if (reply.outcome == ASK_QUEUED) {
		queued(w, &reply);
		return 0;
	}
	if (reply.outcome == ASK_RAN_OK) {
		/* after a late grant, too: what ended with 0 was another's COMMAND */
		w->is_done = true;
		wait_result_tell_done(w->wait->messenger, w->lock, reply.ran_ms);
		return 0;
	}
	if (reply.outcome == ASK_RAN && w->late_grants > 0)
		return fail(
			err, STATUS_NOT_HELD,
			"lost lock %s before its command began; --once-per counts it as started",
			w->lock->keys.shown);
	w->holder_is_said = true;
	return wait_result_refused(err, w->lock, &reply, w->wait->options->once_per_ms);
}

int64_t wait_ask_again_ms(const struct waiting *w)
{
	return w->viewing ? NEVER_MS : earliest(w->sign_ms, w->watch_ms);
}

/* A message does not put off a request that waits for the pace already. */
static void watch_in(struct waiting *w, int64_t in_ms)
{
	const int64_t least_ms = pace_ms(&w->pace);

	if (w->watch_ms <= least_ms)
		return;
	w->watch_ms = clock_ms() + in_ms;
	if (w->watch_ms < least_ms)
		w->watch_ms = least_ms;
}

/* "granted ...": the lock is ours. "0": our turn. "first N": we are first, the lease ends in N ms.
 * "second N": see in N ms whether the one before us took its turn. Any other message: we ask. */
void wait_heard(struct waiting *w)
{
	const char *message = w->client->message;
	int64_t in_ms = 0;

	message_step(w->wait->messenger, "heard: %s", message);
	if (!client_has_request(w->client) && handover_accept(w->lock, w->client)) {
		got_it(w);
		return;
	}
	if (sscanf(message, "first %" SCNd64, &in_ms) == 1 && in_ms > 0) {
		w->first = w->may_be_next = true;
		/* the key is there until its last millisecond is over */
		in_ms = earliest(in_ms, WATCH_MAX_MS) + 1;
		if (!w->hears_outsiders)
			in_ms = earliest(in_ms, LISTEN_MS);
	} else if (sscanf(message, "second %" SCNd64, &in_ms) != 1) {
		in_ms = 0;
	}
	if (is_asking(w))
		return; /* the answer under way is newer */
	watch_in(w, in_ms > 0 ? earliest(in_ms, WATCH_MAX_MS) : 0);
	if (clock_ms() >= wait_ask_again_ms(w))
		wait_ask(w);
}

/* If we never reached the server, the wait fails at once. Else the server went away: the client
 * keeps trying, and sends our request as soon as the server is back. */
int wait_failed(struct waiting *w, bool is_final, struct error *err)
{
	struct client *client = w->client;

	/* the server refuses views: had it refused the connection, the request would be pending,
	 * and had it refused the subscription, the channels would be gone */
	if (is_final && w->viewing && !client_has_request(client) && client->channel_count > 0) {
		w->viewing = w->place_due = false;
		w->view_ms = NEVER_MS;
		client->error.status = STATUS_OK;
		return 0;
	}
	if (is_final || !client->ever_answered) {
		*err = client->error;
		return -1;
	}
	if (!is_asking(w))
		wait_ask(w);
	return 0;
}
