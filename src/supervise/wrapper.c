#include "supervise/wrapper.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline_poll.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/hold.h"
#include "supervise/descendants.h"
#include "supervise/proc_stat.h"
#include "supervise/release_hold.h"

/* How long the guard may be late before the wrapper does its work. */
#define LATE_MS 30

/* How often a guard that may warn only is continued after the lease, in case that it is stopped. */
#define NUDGE_MS 1000

enum {
	SLOT_GUARD,
	SLOT_SIGNALS,
	SLOT_TIMER,
	SLOTS,
};

/* The wrapper's side of a running COMMAND. */
struct front {
	const struct job *job;
	struct shared *shared;
	pid_t guard;
	int fd;
	uint64_t early;   /* untaken signals that came before the guard: COMMAND has not got them */
	uint64_t late;    /* untaken signals that COMMAND has got from us already */
	bool takes_over;  /* the guard is dead or hangs */
	int64_t kill_ms;  /* valid when it takes over */
	int64_t nudge_ms; /* with --on-lost warn: not before */
};

/* The end of a guard, this one or one before, tells us so by SIGCONT. */
static bool is_end_of_guard(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGCONT && info->ssi_code >= CLD_EXITED &&
	       info->ssi_code <= CLD_CONTINUED;
}

/* What the terminal sends reaches COMMAND by itself, since it is in our process group; but
 * when the terminal goes away, only the leader of the session hears of it. */
static bool is_for_command(const struct front *front, const struct signalfd_siginfo *info)
{
	if (is_end_of_guard(info))
		return false;
	if (info->ssi_signo == SIGCHLD || (pid_t)info->ssi_pid == front->guard ||
	    inbox_ignores((int)info->ssi_signo) || inbox_has(front->late, (int)info->ssi_signo))
		return false;
	if (info->ssi_code > 0 && !inbox_has(front->early, (int)info->ssi_signo))
		return info->ssi_signo == SIGHUP && getsid(0) == getpid();
	return true;
}

static void pass_on(struct front *front)
{
	struct signalfd_siginfo info;

	while (inbox_next(front->job->inbox, &info)) {
		unsigned char signo = (unsigned char)info.ssi_signo;

		if (is_for_command(front, &info))
			(void)!send(front->fd, &signo, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	front->early = front->late = 0; /* they were among these */
}

/* The guard cannot do its work any more: all that COMMAND started ends now. A guard that was
 * stopped may go on meanwhile; then it knows by the phase that COMMAND did not end by itself, and
 * that the lock is not to be given back before all of it is gone. */
static void take_over(struct front *front, const char *why)
{
	int64_t latest = front->shared->kill_ms;
	int64_t after = clock_ms() + front->job->kill_after_ms;
	int phase = GUARD_HOLDING;

	if (front->takes_over)
		return;
	if (!atomic_compare_exchange_strong(&front->shared->phase, &phase, GUARD_STOPPING) &&
	    phase != GUARD_STOPPING)
		return;
	front->takes_over = true;
	front->kill_ms = after < latest ? after : latest;
	tell(front->job->teller, LOG_ERR, "lost the guard of lock %s: %s; stopping %s",
	     front->job->lock->keys.name, why, front->job->argv[0]);
	tree_signal(front->job->options->signal, front->guard);
	tree_signal(SIGCONT, front->guard);
}

/* COMMAND is gone; the lock need not wait for its lease. */
static void give_back_for_guard(const struct front *front)
{
	struct client client;
	struct hold hold = {.lock = front->job->lock, .client = &client};
	int64_t until = front->shared->deadline_ms;

	if (until <= clock_ms())
		return;
	front->job->lock->unused =
		!front->shared->ending.started || front->shared->ending.exec_errno;
	client_init(&client, front->job->client->link.server,
		    front->job->options->connect_timeout_ms);
	client.strays = STRAYS_OF_HEIR;
	if (until > clock_ms() + client.timeout_ms)
		until = clock_ms() + client.timeout_ms;
	give_back(&hold, front->job->teller, until);
	client_close(&client);
}

static void end_guard(struct front *front)
{
	if (!front->guard)
		return;
	kill(front->guard, SIGKILL);
	waitpid(front->guard, NULL, __WALL);
	front->guard = 0;
}

/* COMMAND has ended, and the guard died or hangs while it gave the lock back: COMMAND's status is
 * known, and what it left behind is left alone. */
static void finish_for_guard(struct front *front)
{
	end_guard(front);
	if (front->shared->deadline_ms <= clock_ms())
		tell(front->job->teller, LOG_ERR, "cannot release lock %s: its lease is over",
		     front->job->lock->keys.name);
	give_back_for_guard(front);
	front->shared->phase = GUARD_DONE;
}

/* COMMAND has ended while its guard was there, which hangs and has not seen it: nothing was lost,
 * and its status counts. A COMMAND that ended because of its guard's death would not be the guard's
 * child any more. */
static bool finish_unseen(struct front *front)
{
	const pid_t command = front->shared->command;
	struct proc proc;

	if (front->shared->phase != GUARD_HOLDING || !command || proc_read(command, &proc) < 0 ||
	    proc.state != 'Z' || proc.parent != front->guard)
		return false;
	end_guard(front);
	if (waitpid(command, &front->shared->ending.wait_status, 0) < 0)
		return false;
	finish_for_guard(front);
	return true;
}

static bool is_done(const struct front *front)
{
	return front->shared->phase == GUARD_DONE;
}

static void mind_guard(struct front *front)
{
	unsigned char byte;
	ssize_t length = recv(front->fd, &byte, 1, MSG_DONTWAIT);

	/* a guard that died with signals unread leaves a reset, not an end */
	if (is_done(front) || (length < 0 && errno == EAGAIN))
		return;
	close(front->fd);
	front->fd = -1;
	if (front->shared->phase == GUARD_GIVING_BACK)
		finish_for_guard(front);
	else
		take_over(front, "it died");
}

static bool warns_only(const struct front *front)
{
	return front->job->options->on_lost == ON_LOST_WARN;
}

/* When the wrapper looks whether the guard has done its work. */
static int64_t check_ms(const struct front *front)
{
	if (front->takes_over)
		return front->kill_ms;
	if (front->shared->phase == GUARD_GIVING_BACK)
		return front->shared->deadline_ms + LATE_MS;
	if (warns_only(front))
		return front->nudge_ms > front->shared->deadline_ms + LATE_MS
			       ? front->nudge_ms
			       : front->shared->deadline_ms + LATE_MS;
	if (front->shared->phase == GUARD_STOPPING)
		return front->shared->kill_ms + LATE_MS;
	return front->shared->stop_ms + LATE_MS;
}

static void mind_time(struct front *front)
{
	if (is_done(front) || clock_ms() < check_ms(front))
		return;
	if (front->shared->phase == GUARD_GIVING_BACK) {
		finish_for_guard(front);
		return;
	}
	if (!front->takes_over && warns_only(front)) {
		kill(front->guard, SIGCONT);
		front->nudge_ms = clock_ms() + NUDGE_MS;
		return;
	}
	if (!front->takes_over) {
		if (!finish_unseen(front))
			take_over(front, "it hangs");
		return;
	}
	front->kill_ms = clock_ms() + KILL_REPEAT_MS;
	tree_signal(SIGKILL, front->guard);
}

static bool reap(struct front *front)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		if (pid == front->guard)
			front->guard = 0;
	int left = tree_signal(0, front->guard);

	return left == 0 || (left < 0 && waitpid(-1, NULL, WNOHANG | __WALL) < 0);
}

static void end_takeover(struct front *front)
{
	front->shared->ending.lost = true;
	end_guard(front);
	give_back_for_guard(front);
}

static int watch(struct front *front, struct error *err)
{
	struct pollfd slots[SLOTS] = {
		[SLOT_GUARD] = {.fd = front->fd, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = front->job->inbox->fd, .events = POLLIN},
	};

	while (!is_done(front)) {
		if (front->takes_over && reap(front)) {
			end_takeover(front);
			return 0;
		}
		slots[SLOT_GUARD].fd = front->fd;
		if (loop_wait(front->job->loop, slots, SLOTS, check_ms(front), err) < 0)
			return -1;
		mind_time(front);
		if (slots[SLOT_GUARD].revents && front->fd >= 0)
			mind_guard(front);
		if (slots[SLOT_SIGNALS].revents)
			pass_on(front);
	}
	return 0;
}

int front_run(const struct job *job, struct standby *standby, struct ending *ending,
	      struct error *err)
{
	if (!standby_set_off(standby, job) && standby_start(standby, job, err) < 0) {
		hold_give_up(job->lock, job->client);
		return -1;
	}
	const uint64_t untaken = inbox_pending();
	struct front front = {.job = job,
			      .shared = standby->shared,
			      .guard = standby->guard,
			      .fd = standby->fd,
			      .early = standby->early & untaken,
			      .late = standby->late & untaken};

	client_close(job->client); /* the guard has it now */
	if (watch(&front, err) < 0)
		return -1;
	if (front.guard)
		waitpid(front.guard, NULL, __WALL);
	if (front.fd >= 0)
		close(front.fd);
	*ending = front.shared->ending;
	ending->lost |= front.takes_over;
	if (!ending->started && !ending->exec_errno && !ending->lost)
		return fail(err, STATUS_OS, "cannot start %s: its guard could not watch it",
			    job->argv[0]);
	return 0;
}
