/* The guard after the grant, until COMMAND and all that it started have ended. */
#include "supervise/guard.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/signal_names.h"
#include "cli/options.h"
#include "supervise/ending.h"
#include "supervise/ground.h"
#include "supervise/guard_command.h"
#include "supervise/guard_lease.h"
#include "supervise/guard_messages.h"
#include "supervise/guard_standby.h"

#define PAUSE_NS 5000000L

/* A guard that gives the lock back and is stopped goes on after so long. */
#define GIVING_BACK_MS 200

/* How late the guard may be that waits for exec: later than a wrapper that is not stopped takes
 * over (supervise/wrapper.c). */
#define FUSE_MS 60

/* In the order in which they are served. Deadlines go before: the machine may have slept. */
enum {
	SLOT_CHILDREN, /* after COMMAND's end there is nothing to stop, or to pass signals on to */
	SLOT_WRAPPER,  /* signals to pass on; the wrapper's death */
	SLOT_CLIENTS,  /* renewals: a slot for each lock, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_CLIENTS + HOLDS_MAX + 1,
};

/* ---- COMMAND ---- */

/* Says in a line each what wrap cannot do here. */
static void tell_ground(const struct guard *guard)
{
	const struct job *job = guard->job;

	if (job->ground->why)
		message(job->messenger, LOG_WARNING,
			"cannot see what %s starts: %s; only it%s stopped", job->shown,
			job->ground->why,
			job->ground->leads_group ? " and its process group are" : " is");
	if (!guard->waker.is_there)
		message(job->messenger, LOG_WARNING,
			"cannot make the guard's timer: if somebody stops fairlock, %s is not "
			"stopped in time",
			job->shown);
}

/* The lock is held. */
static bool start_command(struct guard *guard)
{
	if (guard_get_ready(guard, &guard->shared->failure) < 0) {
		guard->shared->ending.started = false;
		return false;
	}
	tell_ground(guard);
	guard_set_waker(guard);
	if (guard->is_quick)
		signal_timer_set(&guard->fuse, job_stop_ms(guard->job) + FUSE_MS);
	if (guard_start_command(guard) < 0) {
		guard->shared->ending.exec_errno = errno;
		return false;
	}
	signal_timer_set(&guard->fuse, NEVER_MS);
	return true;
}

static void adopt_command(struct guard *guard)
{
	const struct job *job = guard->job;

	guard->stop.command = guard->shared->command;
	guard->stop.group = job->ground->leads_group ? guard->stop.command : 0;
	message_step(job->messenger, "starting %s, pid %d", job->shown, (int)guard->stop.command);
	if (job->options->max_hold_ms)
		guard->max_ms = guard->shared->start_ms + job->options->max_hold_ms;
}

/* ---- Children and the wrapper ---- */

/* The shell must see the wrapper stop, or go on, when COMMAND does so by itself. */
static void mirror(const struct guard *guard, int signo)
{
	if (guard->shared->repeat_ms == 0 && getppid() == guard->ends->wrapper)
		kill(guard->ends->wrapper, signo);
}

static void reap_children(struct guard *guard)
{
	const int64_t begin_ms = clock_ms();
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (signal_fd_next(&guard->signals, &info))
		;
	while ((pid = stop_reap(begin_ms, WUNTRACED | WCONTINUED, &status))) {
		if (pid != guard->stop.command)
			continue;
		if (WIFSTOPPED(status)) {
			mirror(guard, WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			mirror(guard, SIGCONT);
		} else {
			ending_note(guard->shared, status);
			guard->stop.command = 0;
			if (!guard->shared->ending.exec_errno) /* the wrapper says that */
				guard_tell_end(guard->job, status,
					       clock_ms() - guard->shared->start_ms);
		}
	}
}

/* Between two looks at what is to be killed. */
static void note_progress(void *context)
{
	struct guard *guard = context;

	if (guard->shared->repeat_ms)
		guard->shared->repeat_ms = clock_ms();
	reap_children(guard);
}

/* The end of --max-hold. A COMMAND that has ended meanwhile was in time. */
static void enforce_max_hold(struct guard *guard)
{
	char text[DURATION_MAX_BYTES];

	if (guard->shared->phase != GUARD_HOLDING || clock_ms() < guard->max_ms)
		return;
	reap_children(guard);
	if (!guard->stop.command)
		return;
	guard->shared->ending.timed_out = true;
	guard_stop_command(guard, clock_ms() + guard->job->kill_after_ms);
	message(guard->job->messenger, LOG_ERR,
		"lock %s was held for %s, as long as --max-hold allows; stopping %s",
		guard->job->lock->keys.shown,
		duration_show_fraction(text, guard->job->options->max_hold_ms), guard->job->shown);
}

/* Somebody has asked for a lock. A COMMAND that has ended meanwhile keeps its status. */
static void obey_stop(struct guard *guard)
{
	const struct hold *hold = hold_set_asked(guard->job->set);

	if (guard->shared->phase != GUARD_HOLDING || !hold)
		return;
	reap_children(guard);
	if (!guard->stop.command)
		return;
	guard->shared->ending.was_asked = true;
	guard_stop_command(guard, clock_ms() + guard->job->kill_after_ms);
	guard_tell_asked(guard->job, hold);
}

static void pass_on(const struct guard *guard, int signo)
{
	char name[SIGNAL_MAX_BYTES];

	if (!guard->stop.command)
		return;
	kill(guard->stop.command, signo);
	message_step(guard->job->messenger, "passed signal %s on to %s", signal_show(name, signo),
		     guard->job->shown);
}

/* Signals that the wrapper passes on; and its end, which ends COMMAND. */
static void hear_wrapper(struct guard *guard)
{
	unsigned char signo;
	ssize_t length;

	while ((length = recv(guard->socket, &signo, 1, MSG_DONTWAIT)) == 1)
		if (signo) /* else it was to wake us */
			pass_on(guard, signo);
	if (length == 0 || errno != EAGAIN) {
		close(guard->socket);
		guard->socket = -1;
		guard->shared->ending.wrap_died = guard->shared->phase == GUARD_HOLDING;
		guard_stop_command(guard, clock_ms() + guard->job->kill_after_ms);
		message(guard->job->messenger, LOG_ERR, "lost the wrapper of lock %s; stopping %s",
			guard->job->lock->keys.shown, guard->job->shown);
	}
}

/* ---- Life ---- */

static bool is_over(struct guard *guard)
{
	if (guard->stop.command)
		return false;
	if (guard->shared->phase != GUARD_STOPPING)
		return true;
	reap_children(guard);
	return stop_is_over(&guard->stop);
}

static int watch(struct guard *guard, struct error *err)
{
	const struct hold_set *set = guard->job->set;
	struct pollfd slots[SLOTS_IN_ALL] = {
		[SLOT_CHILDREN] = {.fd = guard->signals.fd, .events = POLLIN},
		[SLOT_WRAPPER] = {.fd = guard->socket, .events = POLLIN},
	};
	int64_t wake;

	wake = earliest(hold_set_wait(set, &slots[SLOT_CLIENTS]), job_stop_ms(guard->job));
	if (guard->shared->phase == GUARD_STOPPING)
		wake = earliest(wake, guard->stop.kill_ms);
	else
		wake = earliest(wake, guard->max_ms);
	guard_set_waker(guard);
	if (deadline_poll(&guard->loop, slots, (nfds_t)SLOT_CLIENTS + (nfds_t)set->count + 1, wake,
			  err) < 0)
		return -1;
	guard_check_deadlines(guard);
	enforce_max_hold(guard);
	if (slots[SLOT_CHILDREN].revents)
		reap_children(guard);
	if (slots[SLOT_WRAPPER].revents)
		hear_wrapper(guard);
	if (guard->stop.command || guard->shared->phase == GUARD_STOPPING)
		guard_renew_holds(guard);
	obey_stop(guard);
	return 0;
}

static void give_back_if_held(struct guard *guard)
{
	const struct hold_set *set = guard->job->set;

	for (int i = 0; i < set->count; i++)
		ending_put(&guard->shared->ending, &set->members[i].lock);
	signal_timer_set(&guard->waker, clock_ms() + GIVING_BACK_MS);
	hold_set_release(set, clock_ms() + guard->job->options->connect_timeout_ms);
}

/* The system does not let us wait for anything: we stop COMMAND, and look again and again. */
static void end_blindly(struct guard *guard, const struct error *err)
{
	const bool is_first = guard->shared->phase != GUARD_STOPPING;

	guard_stop_command(guard, clock_ms());
	guard_check_deadlines(guard);
	if (is_first)
		message(guard->job->messenger, LOG_ERR, "%s; stopping %s", err->text,
			guard->job->shown);
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	reap_children(guard);
}

static _Noreturn void see_to_end(struct guard *guard)
{
	struct error err;

	while (!is_over(guard))
		if (watch(guard, &err) < 0)
			end_blindly(guard, &err);
	/* Now the wrapper leaves us the time that the server needs, also for a COMMAND that was
	 * stopped in time. */
	if (hold_set_deadline_ms(guard->job->set) != NEVER_MS)
		guard->shared->phase = GUARD_GIVING_BACK;
	give_back_if_held(guard);
	guard->shared->phase = GUARD_DONE;
	_exit(0); /* which the wrapper sees */
}

_Noreturn void guard_run(const struct job *job, struct shared_state *shared,
			 const struct guard_ends *ends)
{
	struct guard guard = {.job = job,
			      .shared = shared,
			      .ends = ends,
			      .socket = ends->socket,
			      .loop = {.timer = -1},
			      .signals = {.fd = -1},
			      .max_ms = NEVER_MS,
			      .stop = {.ground = job->ground,
				       .between = note_progress,
				       .context = &guard,
				       .kill_ms = NEVER_MS}};

	guard_standby_run(&guard);
	if (start_command(&guard))
		adopt_command(&guard);
	see_to_end(&guard); /* without COMMAND the end is now */
}
