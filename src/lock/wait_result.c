/* The sentences of a wait that is over. wait.c decides which one applies. */
#include "lock/wait_result.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/signal_fd.h"
#include "base/signal_names.h"
#include "cli/options.h"
#include "lock/owner.h"

void wait_result_tell_grant(struct messenger *messenger, const struct lock *lock)
{
	char waited[DURATION_MAX_BYTES];

	duration_show(waited, clock_ms() - lock->wanted_ms);
	if (strcmp(lock->owner, lock->id) == 0)
		message_event(messenger, LOG_INFO, "got lock %s after %s, token %s",
			      lock->keys.name, waited, lock->token);
	else
		message_event(messenger, LOG_INFO,
			      "went into lock %s, which %s holds, after %s, token %s",
			      lock->keys.name, lock->owner, waited, lock->token);
}

int wait_result_not_obtained(struct error *err, const struct lock *lock, const char *why)
{
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: %s", lock->keys.name, why);
}

int wait_result_stopped(struct error *err, const struct lock *lock, int signo)
{
	char name[SIGNAL_MAX_BYTES];

	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: stopped by signal %s",
		    lock->keys.name, signal_show(name, signo));
}

static int busy(struct error *err, const struct lock *lock, const struct ask_reply *reply)
{
	char holder[256];

	if (!*reply->by)
		return wait_result_not_obtained(err, lock, "it is busy");
	owner_show(holder, sizeof(holder), reply->by);
	return fail(err, STATUS_NOT_OBTAINED, "cannot get lock %s: held by %s", lock->keys.name,
		    holder);
}

static int ran(struct error *err, const struct lock *lock, int64_t ran_ms, int64_t period_ms)
{
	char ago[DURATION_MAX_BYTES], period[DURATION_MAX_BYTES];

	return fail(err, STATUS_NOT_OBTAINED,
		    "cannot get lock %s: its command ran already, %s ago, once per %s",
		    lock->keys.name, duration_show(ago, ran_ms), duration_show(period, period_ms));
}

int wait_result_refused(struct error *err, const struct lock *lock, const struct ask_reply *reply,
			int64_t period_ms)
{
	switch (reply->outcome) {
	case ASK_UNSAFE: /* an outage: the lock is free, but cannot be granted safely */
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot get lock %s: only %lld of %" PRId64 " replicas know of it",
			    lock->keys.name, reply->replicas, lock->replicas);
	case ASK_FULL:
		return fail(err, STATUS_NOT_OBTAINED,
			    "cannot get lock %s: the queue is full (%lld wait)", lock->keys.name,
			    reply->waiters);
	case ASK_RAN:
		return ran(err, lock, reply->ran_ms, period_ms);
	case ASK_REMOVED:
		return wait_result_not_obtained(err, lock, "removed from the queue");
	case ASK_GRANTED:
	case ASK_QUEUED:
	case ASK_BUSY:
		break;
	}
	return busy(err, lock, reply);
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
	*status = options->conflict_status;
	return 0;
}
