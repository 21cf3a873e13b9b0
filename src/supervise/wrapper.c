/* The wrapper has a guard stand by, lets COMMAND go, and passes signals on to the guard while
 * COMMAND runs. It does the guard's work if that dies or hangs. */
#include "supervise/job.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/options.h"
#include "lock/hold.h"
#include "supervise/processes.h"

/* The wrapper waits this long for the guard's first SIGKILL: there is less time for that than
 * GUARD_LATE_MS. */
#define LATE_KILL_MS 30

/* In the order in which they are served: only a guard that lives can pass signals on. The deadline
 * goes before both, as the machine may have slept. */
enum {
	SLOT_GUARD,
	SLOT_SIGNALS,
	SLOT_TIMER,
	SLOTS,
};

struct wrapper {
	const struct job *job;
	struct shared_state *shared;
	pid_t guard;
	int fd;
	uint64_t handed; /* untaken signals that the guard hands to COMMAND: shared->untaken */
	const char *takes_over; /* why: the guard is dead or hangs; NULL: it is well */
	struct stop stop;       /* of COMMAND, when it takes over */
	struct signal_timer waker;
};

/* ---- Times ---- */

/* A lock that was handed over is ours for a short time at first, and the renewal needs that more
 * than a COMMAND that has just begun. */
struct times job_times_for(const struct job *job, const struct lock *lock)
{
	const int64_t ttl_ms = lock->ttl_ms, dying_ms = ttl_ms / 10;
	/* The server's clock may run a twelfth faster than ours, which is as much as chrony slews a
	 * clock. The rest is for the time that processes take to die. */
	const int64_t margin_ms = ttl_ms / 12 + (dying_ms < 100 ? 100 : earliest(dying_ms, 1000));
	const int64_t kill_ms = lock->deadline_ms - margin_ms;
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, ttl_ms / 5);
	return (struct times){kill_ms - grace_ms, kill_ms, lock->deadline_ms};
}

struct times job_times(const struct job *job)
{
	struct times least = {NEVER_MS, NEVER_MS, NEVER_MS};
	const struct hold *hold;

	for (int at = 0; (hold = hold_set_next(job->set, &at));) {
		const struct times times = job_times_for(job, &hold->lock);

		least.stop_ms = earliest(least.stop_ms, times.stop_ms);
		least.kill_ms = earliest(least.kill_ms, times.kill_ms);
		least.deadline_ms = earliest(least.deadline_ms, times.deadline_ms);
	}
	return least;
}

/* When one is lost, COMMAND's times stay what they were: the others do not give it more. */
void shared_state_put_times(struct shared_state *shared, const struct job *job)
{
	const struct times times = job_times(job);

	for (int i = 0; i < job->set->count; i++) {
		const struct hold *hold = &job->set->holds[i];

		shared->locks[i].deadline_ms =
			hold->state == HOLD_HELD ? hold->lock.deadline_ms : 0;
	}
	if (times.deadline_ms == NEVER_MS)
		return;
	shared->deadline_ms = times.deadline_ms;
	if (shared->ending.lost)
		return;
	shared->kill_ms = times.kill_ms;
	shared->stop_ms = times.stop_ms;
}

/* ---- How COMMAND ended ---- */

static int shell_status(const struct ending *ending)
{
	if (ending->exec_errno)
		return ending->exec_errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	return WIFSIGNALED(ending->wait_status) ? 128 + WTERMSIG(ending->wait_status)
						: WEXITSTATUS(ending->wait_status);
}

void ending_put(const struct ending *ending, struct lock *lock)
{
	lock->end.unused = !ending->started || ending->exec_errno;
	if (ending->was_asked)
		*lock->end.min_hold = '\0';
	if (!ending->is_reaped)
		return;
	snprintf(lock->end.status, sizeof(lock->end.status), "%d", shell_status(ending));
	if (ending->timed_out)
		strcpy(lock->end.cause, "max-hold");
	else if (ending->was_asked)
		strcpy(lock->end.cause, "asked");
	else if (ending->was_stopped)
		strcpy(lock->end.cause, ending->wrap_died ? "wrap died" : "lost");
	else if (WIFSIGNALED(ending->wait_status))
		signal_show(lock->end.cause, WTERMSIG(ending->wait_status));
	else
		strcpy(lock->end.cause, "exit");
}

/* ---- Standing by ---- */

/* There is no guard before, and none if this fails (-1, errno). is_granted: the connection is free.
 * The memory that the processes share is mapped, not in a file: it lives as long as one of them. */
static int make_guard(struct standby *standby, const struct job *job, bool is_granted)
{
	const bool needs_connection =
		!is_granted && job->server->tls; /* which knows one process at each end */
	const size_t bytes = sizeof(*standby->shared) +
			     (size_t)job->set->count * sizeof(*standby->shared->locks);
	const pid_t wrapper = getpid();
	int ends[2], cause;

	if (!standby->shared)
		standby->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (standby->shared == MAP_FAILED)
		standby->shared = NULL;
	if (!standby->shared || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	memset(standby->shared, 0, bytes); /* of a guard before */
	standby->opened = hold_set_opened(job->set);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* its child is ours when it is gone */
	/* its death wakes us if we are stopped then */
	standby->guard = proc_fork(SIGCONT, NULL);
	if (standby->guard == 0) {
		close(ends[0]);
		guard_run(job, standby->shared, ends[1], wrapper, needs_connection);
	}
	cause = errno;
	close(ends[1]);
	standby->fd = ends[0];
	if (standby->guard > 0)
		return 0;
	close(ends[0]);
	standby->guard = 0;
	errno = cause;
	return -1;
}

static void end_guard(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	kill(standby->guard, SIGKILL);
	waitpid(standby->guard, NULL, __WALL);
	standby->guard = 0;
}

bool standby_update(struct standby *standby, const struct job *job, bool is_wanted, bool is_time)
{
	if (!is_wanted || standby->opened != hold_set_opened(job->set))
		end_guard(standby);
	/* if this fails, let_go tries again */
	return is_wanted && is_time && !standby->guard && make_guard(standby, job, false) == 0;
}

/* Whether the guard at the other end of this socket is gone. */
static bool guard_is_gone(int fd)
{
	char byte;

	/* a guard that died with signals unread leaves a reset, not an end */
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno != EAGAIN;
}

/* The pending signals that signal_fd_next would return. It leaves out real-time signals, because
 * each may be pending several times. */
static uint64_t untaken(const struct signal_fd *signals)
{
	return signal_fd_pending() & signals->taken & (SIGNAL_BIT(FIRST_REAL_TIME) - 1);
}

/* Lets COMMAND go: job's locks are held. Makes a new guard if there is none that is alive and has
 * the connections. From then on guard, fd and shared are the caller's. If this fails there is no
 * guard: returns -1, and *err is filled. */
static int let_go(struct standby *standby, const struct job *job, struct error *err)
{
	struct shared_state *shared;

	if (!standby->guard || standby->opened != hold_set_opened(job->set) ||
	    !hold_set_is_still(job->set) || guard_is_gone(standby->fd)) {
		end_guard(standby);
		if (make_guard(standby, job, true) < 0)
			return fail(err, STATUS_OS, "cannot make a process to run %s in: %s",
				    job->shown, strerror(errno));
	}
	shared = standby->shared;
	ground_note_older(job->ground, standby->guard);
	/* This continues a guard that is stopped. It also removes its pending SIGTSTP, SIGTTIN and
	 * SIGTTOU: the wrapper was stopped by them, too, and goes on. */
	kill(standby->guard, SIGCONT);
	for (int i = 0; i < job->set->count; i++) {
		shared->locks[i].lock = job->set->holds[i].lock;
		shared->locks[i].client = job->set->holds[i].client;
	}
	shared->untaken = untaken(job->signals);
	shared->is_deaf = job->messenger->is_deaf;
	shared_state_put_times(shared, job);
	shared->start_ms = clock_ms();
	shared->ending.started = true;
	shared->is_let_go = true;
	(void)!send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}

/* ---- Signals ---- */

/* SIGCONT is the exit signal of this guard, and of those before. */
static bool is_end_of_guard(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGCONT && info->ssi_code >= CLD_EXITED &&
	       info->ssi_code <= CLD_CONTINUED;
}

/* The kernel sends these to the whole process group, and others, such as SIGALRM, to us alone. */
static bool is_of_terminal(int signo)
{
	return signo == SIGINT || signo == SIGQUIT || signo == SIGHUP || signo == SIGTSTP ||
	       signo == SIGCONT || signo == SIGWINCH;
}

/* The terminal's signals reach COMMAND by themselves, since it is in our process group. But when
 * the terminal goes away, only the leader of the session gets SIGHUP. What the guard, COMMAND or
 * one of its descendants sent is not passed back: COMMAND may send it again for each that it gets.
 */
static bool is_for_command(const struct wrapper *wrapper, const struct signalfd_siginfo *info)
{
	const int signo = (int)info->ssi_signo;

	if (is_end_of_guard(info) || signo == SIGCHLD || signal_fd_ignores(signo) ||
	    (wrapper->handed & SIGNAL_BIT(signo)))
		return false;
	if (info->ssi_code > 0)
		return !is_of_terminal(signo) || (signo == SIGHUP && getsid(0) == getpid());
	return (pid_t)info->ssi_pid != wrapper->shared->command &&
	       !ground_is_below(wrapper->job->ground, (pid_t)info->ssi_pid, wrapper->guard);
}

static void pass_on(struct wrapper *wrapper)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(wrapper->job->signals, &info)) {
		unsigned char signo = (unsigned char)info.ssi_signo;

		if (is_for_command(wrapper, &info))
			(void)!send(wrapper->fd, &signo, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	wrapper->handed = 0; /* they were among these */
}

/* Reaps what has ended: COMMAND, orphans, and children that this process had before it was a
 * wrapper. The guard is among them if `which` is __WALL, not if it is 0. */
static void reap(struct wrapper *wrapper, int which)
{
	int status, left = 1000;
	pid_t pid;

	if (!wrapper->shared->ending.is_reaped)
		wrapper->stop.command = wrapper->shared->command;
	while ((pid = stop_reap(&wrapper->stop, &left, which, &status)))
		if (pid == wrapper->guard)
			wrapper->guard = 0;
}

/* The guard does not do its work: we end it, and stop COMMAND and all that it started. A COMMAND
 * that has ended counts as stopped: the kernel has sent it --signal when the guard died
 * (run_child), and nobody knows which of the two came first. */
static void take_over(struct wrapper *wrapper, const char *why)
{
	const struct job *job = wrapper->job;
	struct shared_state *shared = wrapper->shared;
	const int64_t kill_ms = earliest(clock_ms() + job->kill_after_ms, shared->kill_ms);
	int phase = GUARD_HOLDING;

	if (wrapper->takes_over)
		return;
	if (!atomic_compare_exchange_strong(&shared->phase, &phase, GUARD_STOPPING) &&
	    phase != GUARD_STOPPING)
		return;
	wrapper->takes_over = why;
	/* for us, should somebody stop us now: when the guard is dead nobody else continues us */
	signal_timer_open(&wrapper->waker, SIGCONT);
	signal_timer_set(&wrapper->waker, clock_ms() + LATE_KILL_MS);
	wrapper->stop.waker = &wrapper->waker;
	if (wrapper->guard)
		kill(wrapper->guard, SIGKILL);
	reap(wrapper, __WALL);
	wrapper->stop.group = job->ground->leads_group ? shared->command : 0;
	wrapper->stop.kill_ms = clock_ms();
	if (shared->repeat_ms == 0) /* else the guard was about to kill */
		stop_begin(&wrapper->stop, job->options->signal, kill_ms);
	signal_timer_set(&wrapper->waker, wrapper->stop.kill_ms + LATE_KILL_MS);
}

/* COMMAND is gone: the next waiters need not wait for the end of the lease. */
static void give_back_for_guard(const struct wrapper *wrapper)
{
	const struct hold_set *set = wrapper->job->set;
	const int64_t timeout_ms = wrapper->job->options->connect_timeout_ms;

	for (int i = 0; i < set->count; i++) {
		struct hold *hold = &set->holds[i];
		const struct connection last = hold->client.connection;

		ending_put(&wrapper->shared->ending, &hold->lock);
		hold->lock.deadline_ms = wrapper->shared->locks[i].deadline_ms;
		hold->ends_ms = hold->lock.deadline_ms;
		if (hold->lock.deadline_ms <= clock_ms())
			hold->state = HOLD_EXPIRED;
		client_init(&hold->client, wrapper->job->server, wrapper->job->messenger,
			    timeout_ms);
		if (last.handshake.is_cluster) /* any of the seeds may hang */
			hold->client.connection.route.named = last.endpoint;
		hold->client.strays = STRAYS_OF_HEIR;
	}
	hold_set_release(set, clock_ms() + timeout_ms);
	hold_set_close(set);
}

/* COMMAND has ended, and the guard died or hangs while it gave the lock back. COMMAND's status is
 * known, and processes that it left behind are left alone. */
static void finish_for_guard(struct wrapper *wrapper)
{
	const struct hold_set *set = wrapper->job->set;
	const int64_t now = clock_ms();

	if (wrapper->guard)
		kill(wrapper->guard, SIGKILL);
	for (int i = 0; i < set->count; i++)
		if (wrapper->shared->locks[i].deadline_ms <= now)
			message(wrapper->job->messenger, LOG_ERR,
				"cannot release lock %s: its lease is over",
				set->holds[i].lock.keys.shown);
	give_back_for_guard(wrapper);
	wrapper->shared->phase = GUARD_DONE;
}

static void hear_guard(struct wrapper *wrapper)
{
	if (wrapper->shared->phase == GUARD_DONE || !guard_is_gone(wrapper->fd))
		return;
	close(wrapper->fd);
	wrapper->fd = -1;
	if (wrapper->shared->phase == GUARD_GIVING_BACK && !wrapper->takes_over)
		finish_for_guard(wrapper);
	else
		take_over(wrapper, "it died");
}

/* By then the guard must have done its work. */
static int64_t check_ms(const struct wrapper *wrapper)
{
	const struct shared_state *shared = wrapper->shared;
	const int phase = shared->phase;
	int64_t kill_ms, repeat_ms;

	if (wrapper->takes_over)
		return wrapper->stop.kill_ms;
	if (phase == GUARD_GIVING_BACK)
		return shared->deadline_ms + LATE_KILL_MS;
	kill_ms = shared->kill_ms + LATE_KILL_MS;
	if (phase != GUARD_STOPPING)
		return earliest(shared->stop_ms + GUARD_LATE_MS, kill_ms);
	/* until all that it has killed is gone, it sends SIGKILL every few milliseconds */
	repeat_ms = shared->repeat_ms + GUARD_LATE_MS;
	return repeat_ms > kill_ms ? repeat_ms : kill_ms;
}

static void check_guard(struct wrapper *wrapper)
{
	if (wrapper->shared->phase == GUARD_DONE || clock_ms() < check_ms(wrapper))
		return;
	if (wrapper->takes_over)
		stop_kill(&wrapper->stop);
	else if (wrapper->shared->phase == GUARD_GIVING_BACK)
		finish_for_guard(wrapper);
	else
		take_over(wrapper, "it is frozen or very slow");
}

/* After the wrapper took over: if COMMAND and all that it started are gone, gives the locks back,
 * and returns true. */
static bool finish_takeover(struct wrapper *wrapper)
{
	const struct job *job = wrapper->job;

	reap(wrapper, __WALL);
	if (!stop_is_over(&wrapper->stop))
		return false;
	/* now nothing of COMMAND runs on while we wait for a full pipe, or a disk */
	message(job->messenger, LOG_ERR, "lost the guard of lock %s: %s; %s has ended",
		job->lock->keys.shown, wrapper->takes_over, job->shown);
	/* a COMMAND that had ended was the guard's child until now */
	reap(wrapper, __WALL);
	give_back_for_guard(wrapper);
	return true;
}

/* Until COMMAND is over, and the locks are given back. */
static int watch_guard(struct wrapper *wrapper, struct error *err)
{
	struct pollfd slots[SLOTS] = {
		[SLOT_GUARD] = {.events = POLLIN},
		[SLOT_SIGNALS] = {.fd = wrapper->job->signals->fd, .events = POLLIN},
	};

	while (wrapper->shared->phase != GUARD_DONE) {
		if (wrapper->takes_over && finish_takeover(wrapper))
			return 0;
		slots[SLOT_GUARD].fd = wrapper->fd;
		if (deadline_poll(wrapper->job->loop, slots, SLOTS, check_ms(wrapper), err) < 0)
			return -1;
		check_guard(wrapper);
		if (slots[SLOT_GUARD].revents && wrapper->fd >= 0)
			hear_guard(wrapper);
		if (slots[SLOT_SIGNALS].revents) {
			pass_on(wrapper);
			reap(wrapper, 0);
		}
	}
	return 0;
}

int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err)
{
	if (let_go(standby, job, err) < 0) {
		hold_set_give_up(job->set);
		return -1;
	}
	assert(standby->shared);
	struct wrapper wrapper = {.job = job,
				  .shared = standby->shared,
				  .guard = standby->guard,
				  .fd = standby->fd,
				  .handed = standby->shared->untaken,
				  .stop = {.ground = job->ground, .shared = standby->shared}};

	hold_set_close(job->set); /* the guard has them now */
	if (watch_guard(&wrapper, err) < 0)
		return -1;
	if (wrapper.guard)
		waitpid(wrapper.guard, NULL, __WALL);
	if (wrapper.fd >= 0)
		close(wrapper.fd);
	*ending = wrapper.shared->ending;
	/* Without the guard nobody renewed the lease: the lock counts as lost. But if COMMAND was
	 * being stopped for another reason, it has just been stopped by another process. */
	if (wrapper.takes_over)
		ending->lost |= !ending->was_asked && !ending->timed_out;
	if (!ending->started && !ending->exec_errno && !ending->lost)
		return fail(err, STATUS_OS, "cannot start %s: %s", job->shown,
			    wrapper.shared->failure.text);
	return 0;
}
