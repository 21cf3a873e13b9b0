/* The loop of a wait: the server's answers and messages, the waiter's time, signals. */
#include "lock/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/handover.h"
#include "lock/progress.h"
#include "lock/wait_leave.h"
#include "lock/wait_report.h"
#include "lock/wait_result.h"
#include "lock/wait_show.h"
#include "lock/wait_standby.h"
#include "lock/waiter_view.h"
#include "lock/wire.h"
#include "redis/client_call.h"
#include "redis/connection_trace.h"

/* A message may send us no farther ahead, so that sums of times do not overflow. */
#define WATCH_MAX_MS (INT64_C(1) << 50)

/* After so many events of the server we look at signals and at the end of --wait. */
#define EVENTS_AT_ONCE 100

/* After so long the first in the queue listens for plain Redisson locks, too. */
#define LISTEN_MS 20

/* We ask again after a late grant. After so many, the server is too far away for the lease. */
#define LATE_GRANTS 3

/* So soon a waiter asks again that the server has refused a channel: who does not listen counts as
 * gone, and others go before it. */
#define DEAF_MS 1000

/* The server is served before these: a grant that has come counts. A grant that is under way when
 * one of these ends the wait is undone by leaving. */
enum {
	SLOT_SIGNALS,
	SLOT_PID,
	SLOT_CLIENT,
	SLOT_HELD, /* one for each lock that is held already, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_HELD + HOLDS_MAX + 1,
};

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

static void ask(struct waiting *w)
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
	w->viewing = false;
	w->place_due = false;
}

/* Whether a request for the lock is under way, and not just one for a view. */
static bool is_asking(const struct waiting *w)
{
	return client_has_request(w->client) && !w->viewing;
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
	if (!w->told_queued)
		message_step(w->wait->messenger, "waiting for lock %s", w->lock->keys.shown);
	if (!w->told_queued && !w->wait->options->quiet)
		progress_start(&w->progress);
	if (!w->told_queued)
		wait_report_begin(w);
	w->told_queued = true;
	w->place_due = w->wait->messenger->verbose && w->view_ms != NEVER_MS;
	w->sign_ms =
		clock_ms() + (client_hears_all(w->client) ? reply->ask_in_ms
							  : earliest(reply->ask_in_ms, DEAF_MS));
	tell_missing_ttl(w, reply->ttl_ms);
	w->first = w->may_be_next = reply->first;
	if (w->first)
		hear_outsiders(w);
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
	ask(w);
	return 0;
}

static int asked(struct waiting *w, struct error *err)
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

static int64_t ask_again_ms(const struct waiting *w)
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
static void heard(struct waiting *w)
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
	if (clock_ms() >= ask_again_ms(w))
		ask(w);
}

/* If we never reached the server, the wait fails at once. Else the server went away: the client
 * keeps trying, and sends our request as soon as the server is back. */
static int failed(struct waiting *w, bool is_final, struct error *err)
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
		ask(w);
	return 0;
}

static bool is_over(const struct waiting *w)
{
	return w->granted || w->is_done;
}

static int take_events(struct waiting *w, struct error *err)
{
	for (int events = 0; events < EVENTS_AT_ONCE; events++) {
		const enum client_event event = client_step(w->client);
		int result = 0;

		if (event != CLIENT_NOTHING && w->wait->messenger->verbose)
			progress_clear(&w->progress);
		connection_trace_tell(&w->steps, w->client);
		switch (event) {
		case CLIENT_NOTHING:
		case CLIENT_CHANGED:
			return 0;
		case CLIENT_REPLY:
			if (w->viewing) {
				wait_show_answer(w);
				wait_report_answer(w);
			} else {
				result = asked(w, err);
			}
			break;
		case CLIENT_MESSAGE:
			heard(w);
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			result = failed(w, event == CLIENT_REFUSED, err);
			break;
		}
		if (result < 0 || is_over(w))
			return result;
	}
	return 0;
}

/* Returns the one that ends us, or 0. */
static int take_signals(struct waiting *w)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(w->wait->signals, &info))
		if (info.ssi_signo == SIGTSTP)
			progress_stop(&w->progress);
		else if (signal_fd_is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	return 0;
}

/* The lock is not wanted any more, whether the server is there or away, now or while we leave. */
static int process_ended(struct waiting *w, struct error *err)
{
	w->until_ms = NEVER_MS;
	return wait_result_not_obtained(err, w->lock, "the process of --while-pid has ended");
}

/* Renews the locks that we have already. Returns -1, and how the wait ends, if one of them is lost,
 * or somebody asks for it. */
static int keep_held(struct waiting *w, enum wait_event *end, struct error *err)
{
	const struct member *lost;
	const struct hold *asked;

	if (w->wait->messenger->verbose && (w->held_woke || clock_ms() >= w->held_ms))
		progress_clear(&w->progress);
	w->held_woke = false;
	lost = hold_set_step(&w->wait->held);
	asked = hold_set_asked(&w->wait->held);
	if (!lost && !asked)
		return 0;
	w->holder_is_said = true;
	if (!lost)
		return wait_result_asked(err, asked);
	*end = WAIT_LOST;
	return wait_result_lost(err, &lost->hold, w->lock);
}

/* Returns -1 when the wait is to end. */
static int pause_waiting(struct waiting *w, int *signo, struct error *err)
{
	const struct hold_set *held = &w->wait->held;
	struct pollfd slots[SLOTS_IN_ALL] = {
		[SLOT_SIGNALS] = {.fd = w->wait->signals->fd, .events = POLLIN},
		[SLOT_PID] = {.fd = w->wait->pidfd, .events = POLLIN},
	};
	int64_t wake = client_wait(w->client, &slots[SLOT_CLIENT]);

	w->held_ms = hold_set_wait(held, &slots[SLOT_HELD]);
	wake = earliest(wake, w->held_ms);
	wake = earliest(wake, earliest(ask_again_ms(w), w->until_ms));
	wake = earliest(wake, earliest(w->progress.draw_ms, wait_report_wake_ms(w)));
	if (deadline_poll(w->wait->loop, slots, (nfds_t)SLOT_HELD + (nfds_t)held->count + 1, wake,
			  err) < 0)
		return -1;
	for (int i = 0; i < held->count; i++)
		w->held_woke |= slots[SLOT_HELD + i].revents != 0;
	if (slots[SLOT_SIGNALS].revents && (*signo = take_signals(w))) {
		w->holder_is_said = true;
		return wait_result_stopped(err, w->lock, *signo);
	}
	if (slots[SLOT_SIGNALS].revents)
		progress_hurry(&w->progress); /* the terminal has another size, or is ours again */
	return slots[SLOT_PID].revents ? process_ended(w, err) : 0;
}

void wait_begin(struct waiting *w, const struct wait *wait, struct lock *lock,
		struct client *client)
{
	char channel[CHANNEL_MAX_BYTES];

	*w = (struct waiting){.wait = wait,
			      .lock = lock,
			      .client = client,
			      .until_ms = NEVER_MS,
			      .report_ms = NEVER_MS,
			      .steps = {.messenger = wait->messenger}};
	lock->wanted_ms = clock_ms();
	progress_init(&w->progress);
	if (wait->options->wait_ms > 0)
		/* the present millisecond has begun already */
		w->until_ms = (wait->from_ms ? wait->from_ms : lock->wanted_ms) +
			      wait->options->wait_ms + 1;
	wire_channel(&lock->keys, lock->id, channel);
	client_subscribe(client, channel);
	ask(w);
	/* perhaps: while the server works on the request, there is time to get ready */
	w->may_be_next = true;
}

/* Returns -1 when the wait is to end. */
static int do_what_is_due(struct waiting *w, struct error *err)
{
	if (clock_ms() >= w->until_ms)
		return wait_timed_out(w, err);
	if (clock_ms() >= w->progress.draw_ms)
		wait_show_redraw(w);
	if (w->place_due && !client_has_request(w->client))
		wait_show_request(w);
	wait_report_due(w);
	return 0;
}

enum wait_event wait_next(struct waiting *w, int *signo, struct error *err)
{
	enum wait_event end = WAIT_FAILED;

	*signo = 0;
	while (take_events(w, err) == 0 && !is_over(w)) {
		if (keep_held(w, &end, err) < 0)
			break;
		if (wait_standby_ends(w))
			return WAIT_STAND_DOWN;
		if (do_what_is_due(w, err) < 0)
			break;
		if (clock_ms() >= ask_again_ms(w)) {
			ask(w);
		} else if (wait_standby_begins(w)) {
			return WAIT_STAND_BY;
		} else if (pause_waiting(w, signo, err) < 0) {
			break;
		}
	}
	progress_close(&w->progress);
	if (is_over(w))
		return w->granted ? WAIT_GRANTED : WAIT_DONE;
	wait_leave(w, err);
	return end;
}
