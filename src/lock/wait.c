/* A wait: the loop over the server's events, the waiter's time and signals; what the user sees
 * meanwhile; how a waiter goes without the lock, and what it says then. */
#include "lock/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/signal_fd.h"
#include "base/signal_names.h"
#include "cli/options.h"
#include "lock/hold.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "lock/progress.h"
#include "redis/client_call.h"
#include "redis/connection_trace.h"

/* ---- The sentences of a wait that is over ---- */

/* There is room for so many beside the longest name of a lock. */
#define NEWER_CHARACTERS 60

/* The owner of the enclosing wrap may be any id, up to 79 characters. */
static void tell_nesting(struct messenger *messenger, const struct lock *lock, const char *waited)
{
	const size_t taken = strlen("went into lock , which  holds, after , token ") +
			     count_characters(lock->keys.shown) + strlen(waited) +
			     strlen(lock->token);
	char owner[OWNER_SHOWN_BYTES];

	message_event(messenger, LOG_INFO, "went into lock %s, which %s holds, after %s, token %s",
		      lock->keys.shown, shorten_to(owner, MESSAGE_CHARACTERS - taken, lock->owner),
		      waited, lock->token);
}

static void wait_result_tell_grant(struct messenger *messenger, const struct lock *lock)
{
	char waited[DURATION_MAX_BYTES];

	duration_show(waited, clock_ms() - lock->wanted_ms);
	if (strcmp(lock->owner, lock->id) == 0)
		message_event(messenger, LOG_INFO, "got lock %s after %s, token %s",
			      lock->keys.shown, waited, lock->token);
	else
		tell_nesting(messenger, lock, waited);
}

static void wait_result_tell_done(struct messenger *messenger, const struct lock *lock,
				  int64_t ago_ms)
{
	char ago[DURATION_MAX_BYTES];

	message_event(messenger, LOG_INFO, "lock %s was not needed: a command ended with 0 %s ago",
		      lock->keys.shown, duration_show(ago, ago_ms));
}

static int wait_result_not_obtained(struct error *err, const struct lock *lock, const char *why)
{
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: %s", lock->keys.shown, why);
}

int wait_result_stopped(struct error *err, const struct lock *lock, int signo)
{
	char name[SIGNAL_MAX_BYTES];

	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: stopped by signal %s",
		    lock->keys.shown, signal_show(name, signo));
}

int wait_result_lost(struct error *err, const struct hold *hold, const struct lock *awaited)
{
	const char *name = hold->lock->keys.shown;
	const char *when = awaited ? " while waiting for lock " : " before its command began";
	const char *other = awaited ? awaited->keys.shown : "";
	const size_t taken = strlen("lost lock : ") + strlen(when) + count_characters(name) +
			     count_characters(other);
	char why[OWNER_SHOWN_BYTES];

	return fail(err, STATUS_NOT_OBTAINED, "lost lock %s%s%s: %s", name, when, other,
		    shorten_to(why, MESSAGE_CHARACTERS - taken, hold_lost_why(hold)));
}

int wait_result_asked(struct error *err, const struct hold *hold)
{
	const char *name = hold->lock->keys.shown;
	const size_t taken = strlen("cannot keep lock : ") + count_characters(name);
	char why[OWNER_SHOWN_BYTES], cut[OWNER_SHOWN_BYTES];

	hold_asked_why(why, MESSAGE_CHARACTERS - taken, hold);
	return fail(err, STATUS_TIMED_OUT, "cannot keep lock %s: %s", name,
		    shorten_to(cut, MESSAGE_CHARACTERS - taken, why));
}

static void wait_result_add_holder(struct error *err, const struct holder *holder)
{
	if (*holder->owner)
		holder_say(err->text, sizeof(err->text), "; ", holder);
}

static int busy(struct error *err, const struct lock *lock, const struct ask_reply *reply)
{
	if (!*reply->holder.owner)
		return wait_result_not_obtained(err, lock, "it is free, but others asked first");
	wait_result_not_obtained(err, lock, "");
	holder_say(err->text, sizeof(err->text), "", &reply->holder);
	return -1;
}

static int removed(struct error *err, const struct lock *lock)
{
	char waited[DURATION_MAX_BYTES];

	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: removed from the queue after %s",
		    lock->keys.shown, duration_show(waited, clock_ms() - lock->wanted_ms));
}

/* by: the description of the newer waiter, or "". */
static int superseded(struct error *err, const struct lock *lock, const char *by)
{
	char waited[DURATION_MAX_BYTES], newer[OWNER_SHOWN_BYTES] = "a newer waiter";

	if (*by)
		owner_show(newer, NEWER_CHARACTERS, by);
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: superseded by %s after %s",
		    lock->keys.shown, newer, duration_show(waited, clock_ms() - lock->wanted_ms));
}

static int ran(struct error *err, const struct lock *lock, int64_t ran_ms, int64_t period_ms)
{
	char ago[DURATION_MAX_BYTES], period[DURATION_MAX_BYTES];

	return fail(err, STATUS_NOT_OBTAINED,
		    "cannot get lock %s: its command started %s ago, within --once-per %s",
		    lock->keys.shown, duration_show(ago, ran_ms),
		    duration_show_fraction(period, period_ms));
}

/* A hold that encloses this process has another mode. To wait for its end would be to wait for
 * ever. */
static void misfit(struct error *err, const struct lock *lock, const char *mode)
{
	char slot[SHORT_MAX_BYTES];

	if (*mode != MODE_SLOT)
		fail(err, STATUS_USAGE,
		     "cannot go into lock %s: the enclosing hold is shared; use --shared%s",
		     lock->keys.shown, want_is_slot(lock->want) ? " instead of --slots" : ", too");
	else if (!mode[1])
		fail(err, STATUS_USAGE,
		     "cannot go into lock %s: the server forgot the slot of the enclosing hold",
		     lock->keys.shown);
	else
		fail(err, STATUS_USAGE, "cannot go into lock %s: the enclosing hold has slot %s%s",
		     lock->keys.shown, shorten(slot, mode + 1),
		     want_is_slot(lock->want) ? ", not among --slots" : "; use --slots, too");
}

static void say_refusal(struct error *err, const struct lock *lock, const struct ask_reply *reply,
			int64_t period_ms)
{
	switch (reply->outcome) {
	case ASK_UNSAFE: /* an outage: the lock is free, but cannot be granted safely */
		fail(err, STATUS_UNAVAILABLE,
		     "cannot get lock %s: only %lld of %" PRId64 " replicas confirmed it",
		     lock->keys.shown, reply->replicas, lock->replicas);
		break;
	case ASK_FULL:
		fail(err, STATUS_NOT_OBTAINED,
		     "cannot get lock %s: the queue is full (%lld waiting)", lock->keys.shown,
		     reply->waiters);
		break;
	case ASK_RAN:
		ran(err, lock, reply->ran_ms, period_ms);
		break;
	case ASK_REMOVED:
		removed(err, lock);
		break;
	case ASK_SUPERSEDED:
		superseded(err, lock, reply->by);
		break;
	case ASK_MISFIT:
		misfit(err, lock, reply->mode);
		break;
	case ASK_GRANTED:
	case ASK_QUEUED:
	case ASK_BUSY:
	case ASK_RAN_OK:
		break;
	}
}

static int wait_result_refused(struct error *err, const struct lock *lock,
			       const struct ask_reply *reply, int64_t period_ms)
{
	if (reply->outcome == ASK_BUSY)
		return busy(err, lock, reply);
	say_refusal(err, lock, reply, period_ms);
	wait_result_add_holder(err, &reply->holder);
	return -1;
}

int wait_result_carry_out(struct messenger *messenger, const struct options *options, int signo,
			  const struct error *err, int *status)
{
	if (signo) {
		message_event(messenger, LOG_NOTICE, "%s", err->text);
		die_of(signo);
	}
	if (err->status != STATUS_NOT_OBTAINED)
		return -1;
	message_syslog(messenger, LOG_NOTICE, err->text);
	if (!options->quiet)
		complain("%s", err->text);
	else
		message_step(messenger, "%s", err->text);
	*status = options->conflict_status;
	return 0;
}

/* The line is drawn every second; the server is asked no more often, and in a crowd less often. */
#define VIEW_MS 1000
#define VIEW_IN_CROWD_MS 5000
#define CROWD 50

/* The room of a holder behind the time of a step and the place. */
#define PLACE_CHARACTERS 98

static void draw(struct waiting *w)
{
	const struct error *trouble = &w->client->error;

	progress_draw(&w->progress, w->lock, &w->view, trouble->status ? trouble->text : NULL);
}

static void tell_place(struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	struct holder holder = waiter_view_holder(view, w->lock);
	char shown[OWNER_SHOWN_BYTES];

	w->place_due = false;
	if (!view->is_known || view->place == w->told_place)
		return;
	w->told_place = view->place;
	holder.held_ms = holder.held_ms < -1 ? holder.held_ms : -1;
	holder.next_ms = -1;
	holder.is_last = false;
	holder_show(shown, PLACE_CHARACTERS, &holder);
	message_step(w->wait->messenger, "place %" PRId64 " of %" PRId64 "%s%s", view->place,
		     view->waiters, *view->owner ? ", " : "", *view->owner ? shown : "");
}

static void wait_show_answer(struct waiting *w)
{
	w->viewing = false;
	waiter_view_read(&w->view, w->client);
	if (w->place_due)
		tell_place(w);
	w->view_ms = w->client->sent_ms + (w->view.waiters > CROWD ? VIEW_IN_CROWD_MS : VIEW_MS);
	draw(w);
}

static void wait_show_request(struct waiting *w)
{
	struct request request;

	waiter_view_ask(&w->view, w->lock, &request);
	client_request(w->client, &request);
	w->viewing = true;
	progress_put_off(&w->progress);
}

/* If this makes a request, the answer draws the line. */
static void wait_show_redraw(struct waiting *w)
{
	if (!progress_is_seen(&w->progress) || client_has_request(w->client) ||
	    clock_ms() < w->view_ms)
		draw(w);
	else
		wait_show_request(w);
}

/* A report needs a view of the lock, which no other request may be under way for. Without a view,
 * because the server is away or refuses it, a report tells less. */
#define TEXT_BYTES (4 * MESSAGE_CHARACTERS + 1)

/* On a terminal the waiting line tells all of this. A job in the background has no line there; it
 * tells only if it was asked to. */
static bool has_line(const struct waiting *w)
{
	return w->report_ms == NEVER_MS ? w->progress.fd >= 0 : progress_is_in_front(&w->progress);
}

static const char *waited(const struct waiting *w, char shown[DURATION_MAX_BYTES])
{
	const int64_t ms = clock_ms() - w->lock->wanted_ms;

	return ms < 1000 ? "0s" : duration_show(shown, ms);
}

static void tell_view(const struct waiting *w)
{
	const struct waiter_view *view = &w->view;
	const struct holder holder = waiter_view_holder(view, w->lock);
	char text[TEXT_BYTES], time[DURATION_MAX_BYTES];
	size_t length;

	if (view->is_known && view->place > 0)
		snprintf(text, sizeof(text),
			 "waiting for lock %s: place %" PRId64 " of %" PRId64 ", waited %s",
			 w->lock->keys.shown, view->place, view->waiters, waited(w, time));
	else
		snprintf(text, sizeof(text), "waiting for lock %s: waited %s", w->lock->keys.shown,
			 waited(w, time));
	length = strlen(text);
	if (view->is_known && *view->owner)
		holder_say(text, sizeof(text), ", ", &holder);
	else if (view->is_known)
		snprintf(text + length, sizeof(text) - length, ", it is free just now");
	complain_in_passing("%s", text);
}

static void tell_outage(const struct waiting *w)
{
	const char *name = w->lock->keys.shown;
	char cause[TEXT_BYTES];
	const size_t taken = strlen("waiting for lock : ; trying again") + count_characters(name);

	shorten_to(cause, MESSAGE_CHARACTERS - taken, w->client->error.text);
	message(w->wait->messenger, LOG_ERR, "waiting for lock %s: %s; trying again", name, cause);
}

static int64_t away_due_ms(const struct waiting *w)
{
	if (!w->away_ms || w->told_away || has_line(w))
		return NEVER_MS;
	return w->away_ms + w->wait->options->connect_timeout_ms;
}

/* An outage is told of once; its end is worth a report. */
static void watch_outage(struct waiting *w)
{
	const bool is_away = w->client->error.status != STATUS_OK;

	if (is_away && !w->away_ms)
		w->away_ms = clock_ms();
	if (!is_away && w->told_away && w->report_ms != NEVER_MS)
		w->report_ms = clock_ms();
	if (!is_away) {
		w->away_ms = 0;
		w->told_away = false;
	}
	if (clock_ms() < away_due_ms(w))
		return;
	w->told_away = true;
	tell_outage(w);
}

static int64_t report_due_ms(const struct waiting *w)
{
	const bool is_away = w->client->error.status != STATUS_OK;

	return client_has_request(w->client) && !is_away ? NEVER_MS : w->report_ms;
}

static void put_off(struct waiting *w)
{
	w->report_ms = clock_ms() + w->wait->options->report_ms;
}

static void wait_report_begin(struct waiting *w)
{
	const struct options *options = w->wait->options;

	if (options->report_ms && !options->quiet)
		w->report_ms = clock_ms();
}

static void wait_report_answer(struct waiting *w)
{
	if (clock_ms() < w->report_ms || has_line(w))
		return;
	put_off(w);
	tell_view(w);
}

static void wait_report_due(struct waiting *w)
{
	if (!w->told_queued)
		return;
	watch_outage(w);
	if (clock_ms() < report_due_ms(w))
		return;
	if (has_line(w)) {
		put_off(w);
	} else if (w->away_ms) {
		put_off(w);
		w->told_away = true;
		tell_outage(w);
	} else if (w->view_ms == NEVER_MS) {
		put_off(w);
		tell_view(w);
	} else {
		wait_show_request(w);
	}
}

static int64_t wait_report_wake_ms(const struct waiting *w)
{
	return earliest(away_due_ms(w), report_due_ms(w));
}

/* sudo, su and env -i do not pass the owner on, so the server takes us for a stranger. */
#define FIRST_LOOK_MS 1000

/* A view tells one of several holders, another one later. */
#define NEXT_LOOK_MS 10000

static void wait_above_begin(struct waiting *w)
{
	w->above_ms = clock_ms() + FIRST_LOOK_MS;
}

static void wait_above_due(struct waiting *w)
{
	if (clock_ms() < w->above_ms || client_has_request(w->client))
		return;
	w->above_ms = ancestor_runs_program() ? clock_ms() + NEXT_LOOK_MS : NEVER_MS;
	if (w->above_ms != NEVER_MS && w->view_ms != NEVER_MS)
		wait_show_request(w);
}

/* Whether the lock may become ours while these hold it. */
static bool may_fit(const struct lock *lock, const struct holder *holder)
{
	char count[SLOTS_HELD_BYTES];

	if (holder->mode == MODE_SLOT && want_is_slot(lock->want))
		return !holder_show_count(count, holder) &&
		       (holder->count > 1 || want_slots(lock->want) > 1);
	return holder->mode == *MODE_SHARED && strcmp(lock->want, MODE_SHARED) == 0;
}

/* Whether the holder is on a host of the same name. */
static bool is_here(const struct lock *lock, const struct holder *holder)
{
	return strncmp(holder->by, lock->by, strcspn(lock->by, "\t") + 1) == 0;
}

static int wait_above_answer(struct waiting *w, struct error *err)
{
	const struct holder holder = waiter_view_holder(&w->view, w->lock);

	if (w->above_ms == NEVER_MS || !w->view.is_known || may_fit(w->lock, &holder))
		return 0;
	if (!is_here(w->lock, &holder) || !ancestor_drew(holder.owner)) {
		if (holder.count == 1)
			w->above_ms = NEVER_MS;
		return 0;
	}
	return fail(
		err, STATUS_USAGE,
		"cannot get lock %s: the wait would never end: the wrap above (pid %s) has it; pass FAIRLOCK_OWNER on (sudo -E)",
		w->lock->keys.shown, strrchr(holder.owner, ':') + 1);
}

/* They stand on the connections that are there: a process that is made then can go on with these.
 */
/* There is time while the server works on our first request, and while no request is under way. */
static bool is_time(const struct waiting *w)
{
	if (!w->may_be_next || !hold_set_is_silent(&w->wait->held))
		return false;
	if (w->told_queued)
		return client_is_still(w->client);
	/* a guard that needs a connection of its own pays only once we are queued */
	return connection_is_silent(&w->client->connection) &&
	       connection_can_be_shared(&w->client->connection);
}

static unsigned opened(const struct waiting *w)
{
	return w->client->connection.opened + hold_set_opened(&w->wait->held);
}

static bool wait_standby_begins(struct waiting *w)
{
	if (!is_time(w))
		return false;
	w->may_be_next = false;
	w->stands_by = true;
	w->stands_on = opened(w);
	return true;
}

static bool wait_standby_ends(struct waiting *w)
{
	const bool is_behind = w->told_queued && !w->first;

	if (!w->stands_by || (!is_behind && w->client->connection.stage == CONNECTION_OPEN &&
			      opened(w) == w->stands_on))
		return false;
	w->stands_by = false;
	return true;
}

/* A waiter sends its requests, and acts on the server's answers and messages. */
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

static void wait_ask(struct waiting *w)
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

static int wait_asked(struct waiting *w, struct error *err)
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

static int64_t wait_ask_again_ms(const struct waiting *w)
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
static void wait_heard(struct waiting *w)
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
static int wait_failed(struct waiting *w, bool is_final, struct error *err)
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

/* Leaving is a request of its own, which also undoes a grant that is under way. */
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

static int wait_timed_out(const struct waiting *w, struct error *err)
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

static void wait_leave(struct waiting *w, struct error *err)
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

/* The loop of a wait: events of the server, the waiter's time, signals. */
/* After so many events of the server we look at signals and at the end of --wait. */
#define EVENTS_AT_ONCE 100

/* The server is served before these: a grant that has come counts. A grant that is under way when
 * one of these ends the wait is undone by leaving. */
enum {
	SLOT_SIGNALS,
	SLOT_PID,
	SLOT_CLIENT,
	SLOT_HELD, /* one for each lock that is held already, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_HELD + HOLDS_MAX + 1,
};

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
				result = wait_above_answer(w, err);
			} else {
				result = wait_asked(w, err);
			}
			break;
		case CLIENT_MESSAGE:
			wait_heard(w);
			break;
		case CLIENT_FAILED:
		case CLIENT_REFUSED:
			result = wait_failed(w, event == CLIENT_REFUSED, err);
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

	while (signal_fd_next(w->wait->signals, &info)) {
		signal_fd_reap(&info);
		if (info.ssi_signo == SIGTSTP)
			progress_stop(&w->progress);
		else if (signal_fd_is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	}
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
	wake = earliest(wake, earliest(wait_ask_again_ms(w), w->until_ms));
	wake = earliest(wake, earliest(w->progress.draw_ms, wait_report_wake_ms(w)));
	if (!client_has_request(w->client))
		wake = earliest(wake, w->above_ms);
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
			      .above_ms = NEVER_MS,
			      .steps = {.messenger = wait->messenger}};
	lock->wanted_ms = wait->from_ms && wait->held.count == 0 ? wait->from_ms : clock_ms();
	progress_init(&w->progress);
	if (wait->options->wait_ms > 0)
		/* the present millisecond has begun already */
		w->until_ms = (wait->from_ms ? wait->from_ms : lock->wanted_ms) +
			      wait->options->wait_ms + 1;
	client->keen = true;
	wire_channel(&lock->keys, lock->request, channel);
	client_subscribe(client, channel);
	wait_ask(w);
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
	wait_above_due(w);
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
		if (clock_ms() >= wait_ask_again_ms(w)) {
			wait_ask(w);
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
