#include "lock/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/handover.h"
#include "lock/progress.h"
#include "lock/wait_result.h"
#include "lock/waiter_view.h"
#include "lock/wire.h"
#include "redis/client_call.h"
#include "redis/connection_trace.h"

/* How far ahead a message may send us: nobody needs more, and the clock does not overflow. */
#define WATCH_MAX_MS (INT64_C(1) << 50)

/* So much is taken from the server at once; signals and the end of --wait come between. */
#define EVENTS_AT_ONCE 100

/* Whoever leaves tells the server so, but waits no longer for its answer. */
#define LEAVE_MS 2000

/* A server that has answered nothing within the connect timeout gets less. */
#define LEAVE_UNHEARD_MS 500

/* A line on a terminal is no reason to ask more often. */
#define VIEW_MS 1000
#define VIEW_IN_CROWD_MS 5000
#define CROWD 50

/* The first in the queue listens for plain Redisson locks, too, if its turn has not come so soon.
 */
#define LISTEN_MS 20

/* A grant that comes late is not used, and we ask again. After so many of them the way to the
 * server takes too long for the lease. */
#define LATE_GRANTS 3

enum {
	SLOT_SIGNALS,
	SLOT_PID,
	SLOT_CLIENT,
	SLOT_TIMER,
	SLOTS,
};

/* One wait, from the first question to the grant or to leaving. */
struct waiting {
	const struct wait *wait;
	struct lock *lock;
	struct client *client;
	int64_t until_ms; /* the end of --wait */
	int64_t sign_ms;  /* when to ask again if nobody tells us anything */
	int64_t watch_ms; /* when to ask again because somebody told us to */
	struct pace pace; /* of the questions: anybody who may publish could demand more */
	bool granted;
	int late_grants;
	bool traceless;       /* the server knows nothing of us */
	bool first;           /* in the queue, as far as we know */
	bool hears_outsiders; /* on the channel of plain Redisson locks */
	bool to_call;         /* the deputy is to be called */
	bool called;          /* it was, and not dismissed */
	unsigned called_on;   /* the connection that was there then */
	bool told_queued;
	bool told_no_ttl;
	bool place_due; /* --verbose: our place in the queue is to be asked for and told */
	int64_t told_place;
	bool viewing;    /* the request under way is for the line only */
	int64_t view_ms; /* when to make the next of these; NEVER_MS: we may not */
	struct waiter_view view;
	struct line line;
	struct connection_trace steps;
};

static bool may_queue(const struct waiting *w)
{
	return !w->wait->options->no_wait && w->wait->options->wait_ms != 0;
}

/* From here on a plain Redisson lock that is given back is our turn, too. */
static void hear_outsiders(struct waiting *w)
{
	client_subscribe(w->client, w->lock->keys.channel);
	w->hears_outsiders = true;
}

static void ask(struct waiting *w)
{
	struct request request;

	message_step(w->wait->messenger, "asking for lock %s as %s", w->lock->keys.name,
		     w->lock->id);
	if (w->first)
		hear_outsiders(w);
	wire_ask(w->lock, &request, !may_queue(w));
	client_request(w->client, &request);
	w->sign_ms = w->watch_ms = NEVER_MS;
	pace_take(&w->pace);
	w->traceless = false;
	w->viewing = false;
	w->place_due = false;
}

/* What a look at the lock would tell is not worth waiting for: our own question comes first. */
static bool is_asking(const struct waiting *w)
{
	return w->client->pending && !w->viewing;
}

/* A lock that never ends is somebody's mistake; whoever waits for it should know. */
static void mind_missing_ttl(struct waiting *w, int64_t ttl_ms)
{
	if (ttl_ms == -1 && !w->told_no_ttl) {
		line_clear(&w->line);
		message(w->wait->messenger, LOG_NOTICE,
			"lock %s has no time to live: it is held until somebody deletes it",
			w->lock->keys.name);
	}
	w->told_no_ttl = ttl_ms == -1;
}

/* While the server makes up its mind for the first time, or when it has all that it is to know. */
static bool may_call(const struct waiting *w)
{
	if (!w->to_call)
		return false;
	if (w->told_queued)
		return client_is_still(w->client);
	/* a connection of the deputy's own is worth its time only where there is time */
	return client_is_silent(w->client) && connection_can_be_shared(&w->client->connection);
}

static void call_deputy(struct waiting *w)
{
	w->to_call = false;
	w->called = w->wait->deputy;
	w->called_on = w->client->connection.opened;
	if (w->called)
		w->wait->deputy->call(w->wait->deputy->context);
}

static void dismiss_deputy(struct waiting *w)
{
	w->called = false;
	w->wait->deputy->dismiss(w->wait->deputy->context);
}

static void queued(struct waiting *w, const struct ask_reply *reply)
{
	if (!w->told_queued)
		message_step(w->wait->messenger, "waiting for lock %s", w->lock->keys.name);
	if (!w->told_queued && !w->wait->options->quiet)
		line_start(&w->line);
	w->told_queued = true;
	w->place_due = w->wait->messenger->verbose && w->view_ms != NEVER_MS;
	w->sign_ms = clock_ms() + reply->ask_in_ms;
	mind_missing_ttl(w, reply->ttl_ms);
	w->first = w->to_call = reply->first;
	if (w->first)
		hear_outsiders(w);
	else if (w->called)
		dismiss_deputy(w);
}

static void got_it(struct waiting *w)
{
	w->granted = true;
	wait_result_tell_grant(w->wait->messenger, w->lock);
}

/* We may have been stopped while the answer was under way, for longer than the lease: nobody starts
 * anything on a lease that is as good as over. The next question renews it, or finds our old place
 * in the queue. */
static int granted(struct waiting *w, struct error *err)
{
	if (lock_is_fresh(w->lock)) {
		got_it(w);
		return 0;
	}
	message_step(w->wait->messenger, "the grant of lock %s came late", w->lock->keys.name);
	if (++w->late_grants == LATE_GRANTS)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: each grant came late; a longer --lease helps",
			    w->lock->keys.name);
	ask(w);
	return 0;
}

static int asked(struct waiting *w, struct error *err)
{
	struct ask_reply reply;

	if (lock_asked(w->lock, w->client, &reply, err) < 0)
		return -1;
	w->traceless =
		reply.outcome == ASK_BUSY || reply.outcome == ASK_FULL || reply.outcome == ASK_RAN;
	if (reply.outcome == ASK_GRANTED)
		return granted(w, err);
	if (reply.outcome == ASK_QUEUED)
		queued(w, &reply);
	else if (reply.outcome == ASK_RAN && w->late_grants > 0)
		return fail(err, STATUS_NOT_HELD,
			    "lost lock %s before its command began, which counts for --once-per",
			    w->lock->keys.name);
	else
		return wait_result_refused(err, w->lock, &reply, w->wait->options->once_per_ms);
	return 0;
}

static int64_t ask_again_ms(const struct waiting *w)
{
	return w->viewing ? NEVER_MS : earliest(w->sign_ms, w->watch_ms);
}

/* When to ask again. A question that waits for its time already is not put off by another message.
 */
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
 * "second N": see in N ms whether the one before us took its turn. Anything else, from whomever, is
 * a reason to ask. */
static void heard(struct waiting *w)
{
	const char *message = w->client->message;
	int64_t in_ms = 0;

	message_step(w->wait->messenger, "heard: %s", message);
	if (!w->client->pending && handover_take(w->lock, w->client)) {
		got_it(w);
		return;
	}
	if (sscanf(message, "first %" SCNd64, &in_ms) == 1 && in_ms > 0) {
		w->first = w->to_call = true;
		/* the key is there until its last millisecond is over */
		in_ms = in_ms < WATCH_MAX_MS ? in_ms + 1 : WATCH_MAX_MS;
		if (!w->hears_outsiders)
			in_ms = earliest(in_ms, LISTEN_MS);
	} else if (sscanf(message, "second %" SCNd64, &in_ms) != 1) {
		in_ms = 0;
	}
	if (in_ms > WATCH_MAX_MS)
		in_ms = WATCH_MAX_MS;
	if (is_asking(w))
		return; /* the answer under way is newer */
	watch_in(w, in_ms > 0 ? in_ms : 0);
	if (clock_ms() >= ask_again_ms(w))
		ask(w);
}

/* The server went away. Whoever never reached it is told at once; a waiter keeps trying, and
 * presents itself as soon as it is back. */
static int failed(struct waiting *w, struct error *err)
{
	struct client *client = w->client;

	/* it was the look that was refused: not the connection, which leaves the request pending,
	 * nor the subscription, which takes the channels with it */
	if (client->final && w->viewing && !client->pending && client->channel_count > 0) {
		w->viewing = w->place_due = false;
		w->view_ms = NEVER_MS;
		client->error.status = STATUS_OK;
		return 0;
	}
	if (client->final || !client->ever_answered) {
		*err = client->error;
		return -1;
	}
	if (!is_asking(w))
		ask(w);
	return 0;
}

/* ---- The line ---- */

static const char *trouble(const struct waiting *w)
{
	return w->client->error.status ? w->client->error.text : NULL;
}

static void draw(struct waiting *w)
{
	line_draw(&w->line, w->lock->keys.name, &w->view, trouble(w));
}

static void tell_place(struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	char holder[256];

	w->place_due = false;
	if (!view->is_known || view->place == w->told_place)
		return;
	w->told_place = view->place;
	owner_show(holder, sizeof(holder), view->by);
	message_step(w->wait->messenger, "place %" PRId64 " of %" PRId64 "%s%s", view->place,
		     view->waiters, *view->owner ? ", held by " : "",
		     *view->by ? holder : view->owner);
}

static void viewed(struct waiting *w)
{
	w->viewing = false;
	waiter_view_read(&w->view, w->client);
	if (w->place_due)
		tell_place(w);
	w->view_ms = w->client->sent_ms + (w->view.waiters > CROWD ? VIEW_IN_CROWD_MS : VIEW_MS);
	draw(w);
}

static void look(struct waiting *w)
{
	struct request request;

	waiter_view_ask(&w->view, w->lock, &request);
	client_request(w->client, &request);
	w->viewing = true;
	line_put_off(&w->line);
}

/* The line is due. What it says is asked for while somebody looks and there is nothing else to ask;
 * the answer draws it. */
static void mind_line(struct waiting *w)
{
	if (!line_is_seen(&w->line) || w->client->pending || clock_ms() < w->view_ms)
		draw(w);
	else
		look(w);
}

static int take_events(struct waiting *w, struct error *err)
{
	for (int events = 0; events < EVENTS_AT_ONCE; events++) {
		const enum client_event event = client_step(w->client);
		int result = 0;

		if (event != CLIENT_NOTHING && w->wait->messenger->verbose)
			line_clear(&w->line);
		connection_trace_tell(&w->steps, w->client);
		switch (event) {
		case CLIENT_NOTHING:
			return 0;
		case CLIENT_REPLY:
			if (w->viewing)
				viewed(w);
			else
				result = asked(w, err);
			break;
		case CLIENT_MESSAGE:
			heard(w);
			break;
		case CLIENT_FAILED:
			result = failed(w, err);
			break;
		}
		if (result < 0 || w->granted)
			return result;
	}
	return 0;
}

/* The time for waiting is over; if the server was away, or its replicas, that is why. */
static int timed_out(const struct waiting *w, struct error *err)
{
	if (w->client->confirming)
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: too few replicas know of it", w->lock->keys.name);
	if (w->client->connection.attempts > 0) {
		*err = w->client->error;
		return -1;
	}
	return wait_result_not_obtained(err, w->lock, "timed out");
}

/* Returns the one that ends us, or 0. */
static int take_signals(struct waiting *w)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(w->wait->signals, &info))
		if (info.ssi_signo == SIGTSTP)
			line_stop(&w->line);
		else if (signal_fd_is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	return 0;
}

/* Waits for the next thing to happen. Returns -1 when the wait is to end. */
static int pause_waiting(struct waiting *w, int *signo, struct error *err)
{
	struct pollfd slots[SLOTS] = {
		[SLOT_SIGNALS] = {.fd = w->wait->signals->fd, .events = POLLIN},
		[SLOT_PID] = {.fd = w->wait->pidfd, .events = POLLIN},
	};
	int64_t wake = client_wait(w->client, &slots[SLOT_CLIENT]);

	if (may_call(w))
		call_deputy(w);
	wake = earliest(wake, earliest(ask_again_ms(w), w->until_ms));
	wake = earliest(wake, w->line.draw_ms);
	if (deadline_poll(w->wait->loop, slots, SLOTS, wake, err) < 0)
		return -1;
	if (slots[SLOT_SIGNALS].revents && (*signo = take_signals(w)))
		return wait_result_stopped(err, w->lock, *signo);
	if (slots[SLOT_SIGNALS].revents)
		line_hurry(&w->line); /* another size, or in the foreground again */
	if (slots[SLOT_PID].revents)
		return wait_result_not_obtained(err, w->lock,
						"the process that it was for has ended");
	return 0;
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

int wait_for_lock(const struct wait *wait, struct lock *lock, struct client *client, int *signo,
		  struct error *err)
{
	struct waiting w = {.wait = wait,
			    .lock = lock,
			    .client = client,
			    .until_ms = NEVER_MS,
			    .steps = {.messenger = wait->messenger}};
	char channel[CHANNEL_MAX_BYTES];
	int result;

	*signo = 0;
	lock->wanted_ms = clock_ms();
	line_init(&w.line);
	if (wait->options->wait_ms > 0)
		/* the millisecond that it is has begun already */
		w.until_ms = lock->wanted_ms + wait->options->wait_ms + 1;
	wire_channel(&lock->keys, lock->id, channel);
	client_subscribe(client, channel);
	ask(&w);
	/* Perhaps: and while the server makes up its mind, there is time to get ready. */
	w.to_call = true;
	for (;;) {
		result = take_events(&w, err);
		if (w.granted)
			break;
		if (w.called && (client->connection.stage != CONNECTION_OPEN ||
				 client->connection.opened != w.called_on))
			dismiss_deputy(&w);
		if (result == 0 && clock_ms() >= w.until_ms)
			result = timed_out(&w, err);
		if (result == 0 && clock_ms() >= w.line.draw_ms)
			mind_line(&w);
		if (result == 0 && w.place_due && !client->pending)
			look(&w);
		if (result == 0 && clock_ms() >= ask_again_ms(&w))
			ask(&w);
		else if (result == 0)
			result = pause_waiting(&w, signo, err);
		if (result < 0 || w.granted)
			break;
	}
	line_close(&w.line);
	if (w.granted)
		return 0;
	if (client->ever_sent && !w.traceless && is_worth_leaving(err))
		leave(&w, err);
	return -1;
}
