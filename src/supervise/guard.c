/* The guard, COMMAND's parent: gets ready while the wrapper waits, starts COMMAND, renews the
 * lease, and stops COMMAND and all that it started before the lease ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "cli/options.h"
#include "redis/server.h"
#include "supervise/exec_path.h"
#include "supervise/job.h"
#include "supervise/processes.h"

#define PAUSE_NS 5000000L

/* After so long an outage is told, with so much of COMMAND. */
#define OUTAGE_MS 1000
#define OUTAGE_COMMAND_CHARACTERS 24

/* A guard that gives the lock back and is stopped goes on after so long. */
#define GIVING_BACK_MS 200

/* The fuse ends a guard that has not sent SIGKILL so long after it was due, or the first signal so
 * long after GUARD_LATE_MS. A wrapper that is not stopped has taken over by then. */
#define FUSE_MS 60
#define NAP_NS 50000L

/* Another owner may hold the lost lock already: COMMAND gets no more time than this. */
#define LOST_KILL_MS 900

/* For so long we believe what the rehearsal found in memory. */
#define REHEARSED_MS 100

/* exec_path keeps a path there, and little more is needed. */
#define STACK_BYTES 65536

/* For what may run on that stack, which AddressSanitizer takes for a mistake. */
#define ON_OTHER_STACK __attribute__((no_sanitize("address")))

/* In the order in which they are served. Deadlines go before: the machine may have slept. */
enum {
	SLOT_CHILDREN, /* after COMMAND's end there is nothing to stop, or to pass signals on to */
	SLOT_WRAPPER,  /* signals to pass on; the wrapper's death */
	SLOT_CLIENTS,  /* renewals: a slot for each lock, and the timer's behind them */
	SLOTS_IN_ALL = SLOT_CLIENTS + HOLDS_MAX + 1,
};

struct guard {
	const struct job *job;
	struct shared_state *shared;
	int socket;            /* -1 when the wrapper is gone */
	bool needs_connection; /* it cannot go on with those of the wrapper */
	pid_t self;
	uint64_t early; /* signals that came before COMMAND's process was there */
	struct deadline_poll loop;
	struct signal_fd signals;
	struct signal_timer waker; /* SIGCONT */
	struct signal_timer fuse;  /* SIGKILL */
	bool is_quick;             /* COMMAND's exec will be: see exec_is_quick */
	bool end_is_told;          /* COMMAND's */
	int64_t max_ms;            /* when --max-hold is over */
	struct stop stop;          /* its command: 0 when it does not run */
	int64_t away_ms;           /* since when a lock could not be renewed; NEVER_MS: all could */
	const struct hold *told;   /* the lock that was told of; NULL: none */
};

/* ---- Messages ---- */

/* Words take time while the next waiter waits, so they are made only to be told. */

static void tell_outage(const struct job *job, const struct hold *hold)
{
	const struct client *client = &hold->client;
	const char *name = hold->lock.keys.shown;
	const bool answers = *hold->why || client->phase == REQUEST_CONFIRMING ||
			     (client->error.status && !strstr(client->error.text, "cannot reach"));
	const char *words = answers ? "does not renew it" : "does not answer";
	const int64_t now_ms = wall_ms();
	char until[TIMESTAMP_MAX_BYTES], command[SHORT_MAX_BYTES], server[OWNER_SHOWN_BYTES];
	size_t room;

	timestamp_until(until, now_ms + job_times(job).stop_ms - clock_ms(), now_ms);
	shorten_to(command, OUTAGE_COMMAND_CHARACTERS, job->shown);
	room = message_room("lock %s:  %s; %s is stopped at %s unless it does", name, words,
			    command, until);
	message(job->messenger, LOG_ERR, "lock %s: %s %s; %s is stopped at %s unless it does", name,
		shorten_middle(server, room, server_shown(job->server)), words, command, until);
}

/* The wrapper tells it if exec failed. */
static void tell_end(struct guard *guard)
{
	const struct job *job = guard->job;
	const int status = guard->shared->ending.wait_status;
	const bool is_killed = WIFSIGNALED(status);
	char took[DURATION_MAX_BYTES], number[SIGNAL_MAX_BYTES];

	if (guard->end_is_told || !guard->shared->ending.is_reaped ||
	    guard->shared->ending.exec_errno)
		return;
	guard->end_is_told = true;
	duration_show(took, clock_ms() - guard->shared->start_ms);
	if (is_killed)
		signal_show(number, WTERMSIG(status));
	else
		snprintf(number, sizeof(number), "%d", WEXITSTATUS(status));
	message_event(job->messenger, status == 0 ? LOG_INFO : LOG_NOTICE,
		      is_killed ? "%s under lock %s was killed by signal %s after %s"
				: "%s under lock %s ended with status %s after %s",
		      job->shown, job->lock->keys.shown, number, took);
}

/* ---- Children ---- */

/* The shell must see the wrapper stop, or go on, when COMMAND does so by itself. */
static void mirror(const struct guard *guard, int signo)
{
	if (guard->shared->repeat_ms == 0 && getppid() == guard->stop.wrapper)
		/* the wrapper blocks SIGTTOU */
		kill(guard->stop.wrapper, signo == SIGTTOU ? SIGSTOP : signo);
}

static void reap_children(struct guard *guard)
{
	const pid_t command = guard->stop.command;
	struct signalfd_siginfo info;
	int status, left = 1000;
	pid_t pid;

	while (signal_fd_next(&guard->signals, &info))
		;
	while ((pid = stop_reap(&guard->stop, &left, WUNTRACED | WCONTINUED, &status)))
		if (pid == command && WIFSTOPPED(status))
			mirror(guard, WSTOPSIG(status));
		else if (pid == command && WIFCONTINUED(status))
			mirror(guard, SIGCONT);
}

/* A guard that was stopped may not have seen COMMAND's end: then that was in time. */
static bool still_runs(struct guard *guard)
{
	reap_children(guard);
	return guard->stop.command;
}

/* ---- The lease ---- */

/* A guard that is stopped when it has work to do goes on. Should somebody stop it again, it ends,
 * and its death wakes the wrapper, even if that is stopped, too. Only the end of the lease ends it:
 * a guard that a busy machine holds up at the end of --max-hold still has time. */
static void set_timers(struct guard *guard)
{
	const struct times times = job_times(guard->job);
	int64_t due_ms = times.stop_ms, end_ms = times.kill_ms;

	if (guard->shared->phase == GUARD_STOPPING) {
		due_ms = guard->stop.kill_ms;
		if (guard->shared->ending.lost)
			end_ms = earliest(end_ms, due_ms);
	} else if (due_ms != NEVER_MS) {
		end_ms = earliest(end_ms, due_ms + GUARD_LATE_MS);
	}
	signal_timer_set(&guard->waker, earliest(due_ms, guard->max_ms));
	if (!guard->shared->repeat_ms && end_ms != NEVER_MS)
		signal_timer_set(&guard->fuse, end_ms + FUSE_MS);
}

/* Sends the first signal to COMMAND and all that it started; SIGKILL follows at kill_ms. If that
 * was done before, the earlier time counts. */
static void stop_command(struct guard *guard, int64_t kill_ms)
{
	char name[SIGNAL_MAX_BYTES];

	if (guard->shared->phase == GUARD_STOPPING) {
		if (kill_ms < guard->stop.kill_ms)
			guard->stop.kill_ms = kill_ms;
		return;
	}
	guard->shared->phase = GUARD_STOPPING;
	guard->stop.kill_ms = kill_ms;
	set_timers(guard);
	stop_begin(&guard->stop, guard->job->options->signal, kill_ms);
	message_step(guard->job->messenger, "sent signal %s to %s and what it started",
		     signal_show(name, guard->job->options->signal), guard->job->shown);
}

/* The cause may be a server's words, which are cut. */
static void stop_for_loss(struct guard *guard, const struct hold *hold, int64_t kill_ms)
{
	const struct job *job = guard->job;
	const size_t room =
		message_room("lost lock %s: ; stopping %s", hold->lock.keys.shown, job->shown);
	char cut[OWNER_SHOWN_BYTES];

	/* also for the wrapper, should it go on for us */
	guard->shared->ending.lost = true;
	stop_command(guard, kill_ms);
	message(job->messenger, LOG_ERR, "lost lock %s: %s; stopping %s", hold->lock.keys.shown,
		hold_why(cut, room, hold), job->shown);
}

/* Renews the locks, as far as they are not lost, and stops COMMAND if one of them turns out to be.
 */
static void renew_holds(struct guard *guard)
{
	const int64_t kill_ms = clock_ms() + earliest(guard->job->kill_after_ms, LOST_KILL_MS);
	const struct hold *lost;

	while ((lost = hold_set_step(guard->job->set)))
		stop_for_loss(guard, lost,
			      earliest(kill_ms, job_times_for(guard->job, &lost->lock).kill_ms));
	shared_state_put_times(guard->shared, guard->job);
}

/* A lock that the server does not renew just now; NULL: none. */
static const struct hold *find_unrenewed(const struct hold_set *set)
{
	const struct hold *hold;

	for (int at = 0; (hold = hold_set_next(set, &at));)
		if (client_has_request(&hold->client) || hold->client.error.status || *hold->why)
			return hold;
	return NULL;
}

/* Tells of an outage while there is time, and of its end. */
static void watch_outage(struct guard *guard)
{
	const struct job *job = guard->job;
	const struct hold *hold = find_unrenewed(job->set);

	if (guard->shared->phase != GUARD_HOLDING || !guard->stop.command)
		return;
	if (!hold && guard->told)
		message(job->messenger, LOG_NOTICE, "lock %s: the server answers again; %s goes on",
			guard->told->lock.keys.shown, job->shown);
	if (!hold) {
		guard->told = NULL;
		guard->away_ms = NEVER_MS;
	} else if (guard->away_ms == NEVER_MS) {
		guard->away_ms = clock_ms();
	} else if (!guard->told && clock_ms() >= guard->away_ms + OUTAGE_MS) {
		guard->told = hold;
		tell_outage(job, hold);
	}
}

/* Stops COMMAND if a lock was not renewed in time. */
static void stop_for_overdue(struct guard *guard, int64_t now)
{
	struct hold *hold;

	for (int at = 0; (hold = hold_set_next(guard->job->set, &at));) {
		const struct times times = job_times_for(guard->job, &hold->lock);

		if (now < times.stop_ms)
			continue;
		if (guard->shared->phase == GUARD_HOLDING && now < times.deadline_ms &&
		    !still_runs(guard))
			return;
		hold_expire(hold);
		stop_for_loss(guard, hold, times.kill_ms);
	}
}

/* COMMAND is killed at the end of its grace. */
static void check_deadlines(struct guard *guard)
{
	const int64_t now = clock_ms();
	const bool is_first = guard->shared->repeat_ms == 0;

	stop_for_overdue(guard, now);
	if (guard->shared->phase != GUARD_STOPPING || now < guard->stop.kill_ms)
		return;
	stop_kill(&guard->stop);
	if (is_first)
		message_step(guard->job->messenger, "sent signal KILL to all that is left of it");
}

/* ---- Ends that are not the lease's ---- */

/* The end of --max-hold. */
static void enforce_max_hold(struct guard *guard)
{
	char text[DURATION_MAX_BYTES];

	if (guard->shared->phase != GUARD_HOLDING || clock_ms() < guard->max_ms ||
	    !still_runs(guard))
		return;
	guard->shared->ending.timed_out = true;
	stop_command(guard, clock_ms() + guard->job->kill_after_ms);
	message(guard->job->messenger, LOG_ERR,
		"lock %s was held for %s, as long as --max-hold allows; stopping %s",
		guard->job->lock->keys.shown,
		duration_show_fraction(text, guard->job->options->max_hold_ms), guard->job->shown);
}

/* release --stop has asked this wrap to stop. */
static void obey_stop(struct guard *guard)
{
	const struct job *job = guard->job;
	const struct hold *hold = hold_set_asked(job->set);
	const char *name;
	char why[OWNER_SHOWN_BYTES];

	if (guard->shared->phase != GUARD_HOLDING || !hold || !still_runs(guard))
		return;
	guard->shared->ending.was_asked = true;
	stop_command(guard, clock_ms() + job->kill_after_ms);
	name = hold->lock.keys.shown;
	hold_why(why, message_room("lock %s: ; stopping %s", name, job->shown), hold);
	message(job->messenger, LOG_ERR, "lock %s: %s; stopping %s", name, why, job->shown);
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
		stop_command(guard, clock_ms() + guard->job->kill_after_ms);
		message(guard->job->messenger, LOG_ERR, "lost the wrapper of lock %s; stopping %s",
			guard->job->lock->keys.shown, guard->job->shown);
	}
}

/* ---- Environment ---- */

static void put(const char *variable, const char *value)
{
	if (value)
		setenv(variable, value, 1);
	else
		unsetenv(variable);
}

static bool is_owner(const struct hold_set *set, const char *id)
{
	for (int i = 0; i < set->count; i++)
		if (strcmp(set->holds[i].lock.owner, id) == 0)
			return true;
	return false;
}

/* Inner calls find the same server in this variable, and do not say again that nothing names it. */
static void set_server(const struct options *options, const struct server *server)
{
	if (options->url_is_flag || !options->url)
		put("FAIRLOCK_URL", server->label);
	if (!server->tls || (!options->url_is_flag && !options->tls_is_flag))
		return;
	put("FAIRLOCK_TLS_CA", server->tls_files.ca);
	put("FAIRLOCK_TLS_CERT", server->tls_files.cert);
	put("FAIRLOCK_TLS_KEY", server->tls_files.key);
	put("FAIRLOCK_TLS_INSECURE", server->tls_files.insecure ? "yes" : NULL);
}

/* It can be called before the grant, too, as a rehearsal: the memory that it takes is there then.
 * The owner of NAME stands before the others; those that we inherited follow. FAIRLOCK_TOKENS has
 * NAME=TOKEN of each lock, one a line. The wait is from the first question to the last grant. */
static void environment_set(const struct job *job)
{
	const struct hold_set *set = job->set;
	const struct lock *lock = job->lock;
	const int64_t from_ms = set->holds[0].lock.place.wanted_ms;
	/* static: a large frame is touched page by page, and most of these never */
	static char held[(HELD_MAX + HOLDS_MAX) * OWNER_MAX_BYTES];
	static char tokens[HOLDS_MAX * (NAME_MAX_BYTES + TOKEN_MAX_BYTES + 2)];
	char *end = stpcpy(held, lock->owner), *last = tokens;
	char waited[NUMBER_MAX_BYTES];
	int64_t until_ms = from_ms;

	for (int i = 0; i < set->count; i++) {
		const struct lock *each = &set->holds[i].lock;

		if (each != lock)
			end = stpcpy(stpcpy(end, " "), each->owner);
		last += sprintf(last, "%s%s=%s", i > 0 ? "\n" : "", each->keys.name, each->token);
		if (each->since_ms > until_ms)
			until_ms = each->since_ms;
	}
	for (int i = 0; i < lock->inherited_count; i++)
		if (!is_owner(set, lock->inherited[i]))
			end = stpcpy(stpcpy(end, " "), lock->inherited[i]);
	snprintf(waited, sizeof(waited), "%" PRId64, until_ms - from_ms);
	put("FAIRLOCK_NAME", lock->keys.name);
	put("FAIRLOCK_HELD", held);
	put("FAIRLOCK_OWNER", lock->owner);
	put("FAIRLOCK_TOKEN", lock->token);
	put("FAIRLOCK_SLOT", lock_slot(lock));
	put("FAIRLOCK_TOKENS", job->options->also[0] ? tokens : NULL);
	put("FAIRLOCK_WAITED_MS", waited);
	set_server(job->options, job->server);
}

/* ---- How long may exec take? ---- */

/* Whether the guard may wait for COMMAND's exec. That must not wait for a disk now, or the guard
 * could not renew the lease meanwhile; and --signal must end COMMAND's process between
 * signal_fd_restore and exec. On a terminal the guard does not wait either: see make_command. */
static bool exec_is_quick(const struct guard *guard)
{
	const int signo = guard->job->options->signal;
	const bool is_deadly =
		(signo == SIGKILL || signo == SIGTERM || signo == SIGINT || signo == SIGHUP) &&
		!signal_fd_ignores(signo) && !(guard->job->signals->original & SIGNAL_BIT(signo));

	return guard->fuse.is_there && is_deadly && exec_path_is_cached(guard->job->argv) &&
	       !guard->job->ground->has_terminal;
}

/* ---- COMMAND's process, until exec ---- */

/* Sends these signals to COMMAND's process. They came before it was there, or it takes none yet: a
 * signal that is pending already does not come twice then. */
static void hand_down(uint64_t signals, pid_t command)
{
	for (int signo = 1; signals && signo <= LAST_REAL_TIME; signo++)
		if (signals & SIGNAL_BIT(signo))
			kill(command, signo);
}

/* COMMAND's process takes no signals until the guard has handed down the early ones. */
static void await_signals(const struct guard *guard)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard->self)
		_exit(STATUS_NOT_FOUND);
	while (!guard->shared->has_signals)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* A process that was stopped, and is continued when the lease is as good as over, does not become
 * COMMAND, unless a renewal comes before the end. */
ON_OTHER_STACK static void await_valid_lease(const struct shared_state *shared)
{
	while (clock_ms() >= shared->stop_ms) {
		if (clock_ms() >= shared->kill_ms)
			_exit(STATUS_NOT_HELD);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
}

ON_OTHER_STACK static int run_child(void *argument)
{
	const struct guard *guard = argument;
	const struct job *job = guard->job;

	/* the wrapper takes a process that has the socket for us, and the server one that has a
	 * connection */
	close(guard->socket);
	for (int i = 0; i < job->set->count; i++)
		close(job->set->holds[i].client.connection.fd);
	if (job->ground->leads_group)
		setpgid(0, 0);
	if (guard->is_quick) /* not those that would stop this process: the guard waits for it */
		hand_down(guard->early & ~STOPPING_SIGNALS, getpid());
	else
		await_signals(guard);
	prctl(PR_SET_PDEATHSIG, job->options->signal);
	if (getppid() != guard->self)
		_exit(STATUS_NOT_FOUND); /* too late for a signal */
	signal_fd_restore(job->signals);
	await_valid_lease(guard->shared);
	exec_path(job->argv);
	guard->shared->ending.exec_errno = errno;
	_exit(STATUS_NOT_FOUND);
}

/* ---- The guard ---- */

/* The guard leaves the wrapper's process group, in which COMMAND stays, so that the terminal's
 * signals do not reach it. In a job of a job-control shell it stays in the session, so that a group
 * that COMMAND makes for itself can be stopped. Elsewhere it leaves the session, too: a parent in
 * the session, but not in the group, keeps the group from being orphaned until COMMAND ends, and
 * then the kernel sends SIGHUP and SIGCONT to all in it if one is stopped. */
static void leave_group(const struct guard *guard)
{
	bool is_job = getpgrp() == guard->stop.wrapper &&
		      getsid(guard->stop.wrapper) != guard->stop.wrapper;

	if (is_job)
		setpgid(0, 0);
	else
		setsid();
}

/* The id must be in shared->command before either process goes on: the wrapper must know whom to
 * reap if we are killed. */
static pid_t make_process(struct guard *guard)
{
	static _Alignas(16) char stack[STACK_BYTES];
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
	_Atomic pid_t *command = &guard->shared->command;
	pid_t pid;

	if (guard->is_quick)
		return clone(run_child, stack + STACK_BYTES, flags, guard, command);
	pid = proc_fork(SIGCHLD, command);
	if (pid == 0)
		run_child(guard);
	return pid;
}

/* Makes COMMAND's process, in the wrapper's process group, which the guard leaves. The lock is
 * held, and the timers are set. The process ends if the guard does, or if the lease is as good
 * as over; then, and if exec fails, shared->ending tells. Returns 0, or -1 with errno if there is
 * no process.
 *
 * If guard->is_quick, no memory is copied, and this returns at exec. Should the process be stopped
 * before exec, the guard is killed by its timer, and the process ends.
 *
 * COMMAND gets each signal that came to the guard or the wrapper (shared->untaken) before its
 * process was there. If guard->is_quick, a signal to the whole group in the last microseconds
 * before that is lost. Until this returns the guard is in the wrapper's process group: SIGKILL to
 * the group kills all three, and SIGSTOP stops them, also if COMMAND sends it as the first thing
 * that it does. */
static int make_command(struct guard *guard)
{
	const uint64_t untaken = guard->shared->untaken;
	pid_t pid;

	environment_set(guard->job);
	guard->early = signal_fd_pending() | untaken;
	pid = make_process(guard);
	if (pid < 0)
		return -1;
	leave_group(guard);
	hand_down(guard->is_quick ? guard->early & STOPPING_SIGNALS : signal_fd_pending() | untaken,
		  pid);
	guard->shared->has_signals = true;
	return 0;
}

/* ---- Standing by ---- */

/* Opens what is not open yet: a call that failed while the guard stood by is repeated after the
 * grant. Returns 0, or -1 with STATUS_OS. */
static int get_ready(struct guard *guard, struct error *err)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!guard->waker.is_there)
		signal_timer_open(&guard->waker, SIGCONT);
	if (!guard->fuse.is_there)
		signal_timer_open(&guard->fuse, SIGKILL);
	if (guard->loop.timer < 0 && deadline_poll_open(&guard->loop, err) < 0)
		return -1;
	if (guard->signals.fd < 0 && signal_fd_open_deaf(&guard->signals, err) < 0)
		return -1;
	return 0;
}

/* Returns a descriptor that is readable once for each message of the server, which the wrapper
 * reads; -1 if there is none. */
static int listen_in(const struct guard *guard)
{
	const struct hold_set *set = guard->job->set;
	struct epoll_event each = {.events = EPOLLIN | EPOLLET};
	struct pollfd slot;
	int ears;

	client_wait(&set->holds[set->count - 1].client, &slot);
	if (slot.fd < 0)
		return -1;
	ears = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(ears, EPOLL_CTL_ADD, slot.fd, &each);
	return ears;
}

/* Returns false if the wrapper is gone. The message with the grant wakes us together with the
 * wrapper: so we, and a processor, are awake when that lets COMMAND go. */
static bool await_start(const struct guard *guard)
{
	const int ears = guard->shared->is_let_go ? -1 : listen_in(guard);
	struct pollfd slots[] = {{.fd = guard->socket, .events = POLLIN},
				 {.fd = ears, .events = POLLIN}};
	struct epoll_event message;

	while (!guard->shared->is_let_go && !slots[0].revents) {
		if (poll(slots, 2, -1) < 0 && errno != EINTR)
			return false;
		epoll_wait(ears, &message, 1, 0);
	}
	if (ears >= 0)
		close(ears);
	return guard->shared->is_let_go;
}

/* The wrapper has the grant, and lets COMMAND go. The guard was forked when the clients'
 * connections were open already, and goes on with these, or with some of its own if they cannot be
 * shared. The replies are in the wrapper's memory only; all else that the clients point to is in
 * ours, too. */
static void take_grant(const struct guard *guard)
{
	const struct hold_set *set = guard->job->set;

	for (int i = 0; i < set->count; i++) {
		struct hold *hold = &set->holds[i];

		hold->lock = guard->shared->locks[i].lock;
		hold->client = guard->shared->locks[i].client;
		hold->client.reply = NULL;
		if (guard->needs_connection)
			connection_forget(&hold->client.connection);
		hold_take(hold);
	}
	guard->job->messenger->is_deaf = guard->shared->is_deaf;
}

/* Returns when the lock is held, and the wrapper has let COMMAND go. Ends the process if the
 * wrapper ends before. */
static void stand_by(struct guard *guard)
{
	const int64_t begin_ms = clock_ms();
	struct error ignored;

	/* if we are stopped when the wrapper dies, we go on */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (getppid() != guard->stop.wrapper)
		_exit(STATUS_OS);
	if (guard->needs_connection)
		hold_set_close(guard->job->set); /* the server is to see the wrapper go */
	/* all that can be done before the grant, so that little is left between that and exec */
	if (get_ready(guard, &ignored) == 0) {
		environment_set(guard->job);
		guard->is_quick = exec_is_quick(guard);
	}
	if (!await_start(guard))
		_exit(0);
	take_grant(guard);
	if (clock_ms() >= begin_ms + REHEARSED_MS)
		guard->is_quick = exec_is_quick(guard);
}

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

/* The lock is held. Without COMMAND the guard's end is now. */
static void start_command(struct guard *guard)
{
	const struct job *job = guard->job;
	struct shared_state *shared = guard->shared;

	if (get_ready(guard, &shared->failure) < 0) {
		shared->ending.started = false;
		return;
	}
	tell_ground(guard);
	set_timers(guard);
	if (make_command(guard) < 0) {
		shared->ending.exec_errno = errno;
		return;
	}
	guard->stop.command = shared->command;
	guard->stop.group = job->ground->leads_group ? guard->stop.command : 0;
	message_step(job->messenger, "starting %s, pid %d", job->shown, (int)guard->stop.command);
	if (job->options->max_hold_ms)
		guard->max_ms = shared->start_ms + job->options->max_hold_ms;
}

/* ---- Life ---- */

static bool is_over(struct guard *guard)
{
	if (guard->stop.command)
		return false;
	tell_end(guard);
	if (guard->shared->phase != GUARD_STOPPING)
		return true;
	reap_children(guard);
	return stop_is_over(&guard->stop);
}

/* Waits for what comes next, and serves it. */
static int serve_events(struct guard *guard, struct error *err)
{
	const struct hold_set *set = guard->job->set;
	struct pollfd slots[SLOTS_IN_ALL] = {
		[SLOT_CHILDREN] = {.fd = guard->signals.fd, .events = POLLIN},
		[SLOT_WRAPPER] = {.fd = guard->socket, .events = POLLIN},
	};
	int64_t wake;

	wake = earliest(hold_set_wait(set, &slots[SLOT_CLIENTS]), job_times(guard->job).stop_ms);
	if (guard->shared->phase == GUARD_STOPPING)
		wake = earliest(wake, guard->stop.kill_ms);
	else
		wake = earliest(wake, guard->max_ms);
	if (guard->shared->phase == GUARD_HOLDING && guard->away_ms != NEVER_MS && !guard->told)
		wake = earliest(wake, guard->away_ms + OUTAGE_MS);
	set_timers(guard);
	if (deadline_poll(&guard->loop, slots, (nfds_t)SLOT_CLIENTS + (nfds_t)set->count + 1, wake,
			  err) < 0)
		return -1;
	check_deadlines(guard);
	enforce_max_hold(guard);
	if (slots[SLOT_CHILDREN].revents)
		reap_children(guard);
	if (slots[SLOT_WRAPPER].revents)
		hear_wrapper(guard);
	if (guard->stop.command || guard->shared->phase == GUARD_STOPPING)
		renew_holds(guard);
	obey_stop(guard);
	watch_outage(guard); /* COMMAND does not wait for words */
	return 0;
}

static void give_back_if_held(struct guard *guard)
{
	const struct hold_set *set = guard->job->set;
	const int64_t deadline_ms = job_times(guard->job).deadline_ms;
	const int64_t until_ms = clock_ms() + guard->job->options->connect_timeout_ms;

	for (int i = 0; i < set->count; i++)
		ending_put(&guard->shared->ending, &set->holds[i].lock);
	signal_timer_set(&guard->waker, clock_ms() + GIVING_BACK_MS);
	signal_timer_set(&guard->fuse, earliest(deadline_ms, until_ms + 1000) + FUSE_MS);
	hold_set_release(set, until_ms);
}

/* The system does not let us wait for anything: we stop COMMAND, and look again and again. */
static void end_blindly(struct guard *guard, const struct error *err)
{
	const bool is_first = guard->shared->phase != GUARD_STOPPING;

	stop_command(guard, clock_ms());
	check_deadlines(guard);
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
		if (serve_events(guard, &err) < 0)
			end_blindly(guard, &err);
	/* Now the wrapper leaves us the time that the server needs, also for a COMMAND that was
	 * stopped in time. */
	guard->shared->phase =
		job_times(guard->job).deadline_ms != NEVER_MS ? GUARD_GIVING_BACK : GUARD_DONE;
	give_back_if_held(guard);
	guard->shared->phase = GUARD_DONE;
	_exit(0); /* which the wrapper sees */
}

_Noreturn void guard_run(const struct job *job, struct shared_state *shared, int socket,
			 pid_t wrapper, bool needs_connection)
{
	struct guard guard = {.job = job,
			      .shared = shared,
			      .socket = socket,
			      .needs_connection = needs_connection,
			      .self = getpid(),
			      .loop = {.timer = -1},
			      .signals = {.fd = -1},
			      .max_ms = NEVER_MS,
			      .away_ms = NEVER_MS,
			      .stop = {.ground = job->ground,
				       .shared = shared,
				       .waker = &guard.waker,
				       .fuse = &guard.fuse,
				       .wrapper = wrapper,
				       .kill_ms = NEVER_MS}};

	stand_by(&guard);
	start_command(&guard);
	see_to_end(&guard);
}
