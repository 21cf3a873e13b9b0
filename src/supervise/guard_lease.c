/* Stops COMMAND before the lease ends, and after a lock was lost. */
#include "supervise/guard_lease.h"

#include "base/clock.h"
#include "base/message.h"
#include "base/signal_names.h"
#include "cli/options.h"
#include "supervise/guard_messages.h"

/* Another owner may hold the lost lock already: COMMAND gets no more time than this. */
#define LOST_KILL_MS 900

void guard_set_waker(struct guard *guard)
{
	if (guard->shared->phase == GUARD_STOPPING)
		signal_timer_set(&guard->waker, guard->stop.kill_ms);
	else
		signal_timer_set(&guard->waker, earliest(job_stop_ms(guard->job), guard->max_ms));
}

void guard_stop_command(struct guard *guard, int64_t kill_ms)
{
	char name[SIGNAL_MAX_BYTES];

	if (guard->shared->phase == GUARD_STOPPING) {
		if (kill_ms < guard->stop.kill_ms)
			guard->stop.kill_ms = kill_ms;
		return;
	}
	guard->shared->phase = GUARD_STOPPING;
	guard->stop.kill_ms = kill_ms;
	guard_set_waker(guard);
	stop_begin(&guard->stop, guard->job->options->signal, kill_ms);
	message_step(guard->job->messenger, "sent signal %s to %s and what it started",
		     signal_show(name, guard->job->options->signal), guard->job->shown);
}

static void lose(struct guard *guard, const struct lock *lock, int64_t kill_ms, const char *why)
{
	/* also for the wrapper, should it go on for us */
	guard->shared->ending.lost = true;
	guard_stop_command(guard, kill_ms);
	guard_tell_loss(guard->job, lock, why);
}

void guard_renew_holds(struct guard *guard)
{
	const int64_t kill_ms = clock_ms() + earliest(guard->job->kill_after_ms, LOST_KILL_MS);
	const struct member *lost;

	while ((lost = hold_set_step(guard->job->set)))
		lose(guard, &lost->lock, earliest(kill_ms, job_kill_ms_for(&lost->lock)),
		     hold_lost_why(&lost->hold));
	shared_state_put_times(guard->shared, guard->job);
}

/* A guard that was stopped may not have seen COMMAND's end. */
static bool has_ended_in_time(const struct guard *guard, int64_t now, const struct lock *lock)
{
	if (guard->shared->phase != GUARD_HOLDING || now >= lock->deadline_ms)
		return false;
	guard->stop.between(guard->stop.context);
	return !guard->stop.command;
}

static void lose_overdue(struct guard *guard, int64_t now)
{
	const struct hold_set *set = guard->job->set;

	for (int i = 0; i < set->count; i++) {
		struct member *member = &set->members[i];

		if (member->hold.state != HOLD_HELD ||
		    now < job_stop_ms_for(guard->job, &member->lock))
			continue;
		if (has_ended_in_time(guard, now, &member->lock))
			return;
		hold_expire(&member->hold);
		lose(guard, &member->lock, job_kill_ms_for(&member->lock),
		     hold_lost_why(&member->hold));
	}
}

void guard_check_deadlines(struct guard *guard)
{
	const int64_t now = clock_ms();

	lose_overdue(guard, now);
	if (guard->shared->phase == GUARD_STOPPING && now >= guard->stop.kill_ms) {
		const bool is_first = guard->shared->repeat_ms == 0;

		guard->shared->repeat_ms = now;
		stop_kill(&guard->stop);
		if (is_first)
			message_step(guard->job->messenger,
				     "sent signal KILL to all that is left of it");
	}
}
