/* The sentences of a wait that is over. wait.c and wait_ask.c decide which one applies. */
#include "lock/wait_result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/signal_fd.h"
#include "base/signal_names.h"
#include "cli/options.h"
#include "lock/hold_lease.h"
#include "lock/want.h"

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

void wait_result_tell_grant(struct messenger *messenger, const struct lock *lock)
{
	char waited[DURATION_MAX_BYTES];

	duration_show(waited, clock_ms() - lock->wanted_ms);
	if (strcmp(lock->owner, lock->id) == 0)
		message_event(messenger, LOG_INFO, "got lock %s after %s, token %s",
			      lock->keys.shown, waited, lock->token);
	else
		tell_nesting(messenger, lock, waited);
}

void wait_result_tell_done(struct messenger *messenger, const struct lock *lock, int64_t ago_ms)
{
	char ago[DURATION_MAX_BYTES];

	message_event(messenger, LOG_INFO, "lock %s was not needed: a command ended with 0 %s ago",
		      lock->keys.shown, duration_show(ago, ago_ms));
}

int wait_result_not_obtained(struct error *err, const struct lock *lock, const char *why)
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

void wait_result_add_holder(struct error *err, const struct holder *holder)
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

int wait_result_refused(struct error *err, const struct lock *lock, const struct ask_reply *reply,
			int64_t period_ms)
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
