/* A process of its own for COMMAND, in the wrapper's process group. */
#include "supervise/guard_command.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/options.h"
#include "supervise/environment.h"
#include "supervise/exec_path.h"
#include "supervise/ground.h"

/* exec_path keeps a path there, and little more is needed. */
#define STACK_BYTES 65536

/* For what may run on that stack, which AddressSanitizer takes for a mistake. */
#define ON_OTHER_STACK __attribute__((no_sanitize("address")))

#define PAUSE_NS 5000000L
#define NAP_NS 50000L

/* ---- How long may exec take? ---- */

/* Whether --signal ends COMMAND's process between signal_fd_restore and exec. */
static bool ends_by_signal(const struct job *job)
{
	const int signo = job->options->signal;

	return (signo == SIGKILL || signo == SIGTERM || signo == SIGINT || signo == SIGHUP) &&
	       !signal_fd_ignores(signo) && !signal_fd_has(job->signals->original, signo);
}

bool guard_command_is_quick(const struct guard *guard)
{
	return guard->fuse.is_there && ends_by_signal(guard->job) &&
	       exec_path_is_cached(guard->job->argv) && !guard->job->ground->has_terminal;
}

/* ---- COMMAND's process, until exec ---- */

struct start {
	const struct guard *guard;
	pid_t self;
	bool is_quick;
	uint64_t early; /* signals that came before */
};

/* The wrapper takes a process that has the socket for us, and the server one that has a connection.
 */
ON_OTHER_STACK static void leave_guard(const struct guard *guard)
{
	close(guard->ends->socket);
	for (int i = 0; i < guard->job->set->count; i++)
		connection_leave(&guard->job->set->members[i].client.connection);
}

/* COMMAND's process takes no signals until the guard has handed down the early ones. */
static void await_signals(const struct start *start)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->self)
		_exit(STATUS_NOT_FOUND);
	while (!start->guard->shared->has_signals)
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
	const struct start *start = argument;
	const struct job *job = start->guard->job;
	struct shared_state *shared = start->guard->shared;

	leave_guard(start->guard);
	if (job->ground->leads_group)
		setpgid(0, 0);
	if (start->is_quick) /* not those that would stop this process: the guard waits for it */
		signal_fd_hand_down(start->early & ~signal_fd_stopping(start->early), getpid());
	else
		await_signals(start);
	prctl(PR_SET_PDEATHSIG, job->options->signal);
	if (getppid() != start->self)
		_exit(STATUS_NOT_FOUND); /* too late for a signal */
	signal_fd_restore(job->signals);
	await_valid_lease(shared);
	exec_path(job->argv);
	shared->ending.exec_errno = errno;
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
	bool is_job = getpgrp() == guard->ends->wrapper &&
		      getsid(guard->ends->wrapper) != guard->ends->wrapper;

	if (is_job)
		setpgid(0, 0);
	else
		setsid();
}

/* The id must be in shared->command before either process goes on: the wrapper must know whom to
 * reap if we are killed. */
static pid_t make_process(struct start *start)
{
	static _Alignas(16) char stack[STACK_BYTES];
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
	_Atomic pid_t *command = &start->guard->shared->command;
	pid_t pid;

	if (start->is_quick)
		return clone(run_child, stack + STACK_BYTES, flags, start, command);
	pid = proc_fork(SIGCHLD, command);
	if (pid == 0)
		run_child(start);
	return pid;
}

int guard_start_command(const struct guard *guard)
{
	const uint64_t untaken = guard->shared->untaken;
	struct start start = {.guard = guard, .self = getpid(), .is_quick = guard->is_quick};
	pid_t pid;

	environment_set(guard->job);
	start.early = signal_fd_pending() | untaken;
	pid = make_process(&start);
	if (pid < 0)
		return -1;
	leave_group(guard);
	signal_fd_hand_down(start.is_quick ? signal_fd_stopping(start.early)
					   : signal_fd_pending() | untaken,
			    pid);
	guard->shared->has_signals = true;
	return 0;
}
