/* A process of its own for COMMAND, in the wrapper's process group. */
#include "supervise/guard_command.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "supervise/exec_child.h"
#include "supervise/proc_stat.h"

/* exec_path keeps a path there, and little more is needed. */
#define STACK_BYTES 65536

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

int guard_prepare_command(const struct guard *guard)
{
	const pid_t self = getpid();
	/* The wrapper must know whom to reap if we are killed: the id is there before either goes
	 * on. Not CLONE_VFORK: we could do nothing until exec, and that may be long. */
	const pid_t pid = proc_fork(SIGCHLD, &guard->shared->command);

	if (pid == 0) {
		close(guard->ends->socket); /* the wrapper takes a process that has it for us */
		close(guard->ends->let_go);
		exec_child(guard->job, guard->shared, guard->ends->start, self);
	}
	if (pid < 0)
		return -1;
	leave_group(guard);
	signal_fd_hand_down(signal_fd_pending(), pid);
	guard->shared->has_signals = true;
	return 0;
}

struct start {
	const struct guard *guard;
	pid_t self;
	uint64_t early; /* signals that the terminal has sent to all of the group before */
};

/* The guard may be killed before exec, and the wrapper be dead. So this signal must end a process
 * that has COMMAND's mask, and nothing that takes it. */
static int end_signal(const struct job *job)
{
	const int signo = job->options->signal;
	const bool is_usual = signo == SIGTERM || signo == SIGINT || signo == SIGHUP;

	return is_usual && !signal_fd_ignores(signo) &&
			       !signal_fd_has(job->signals->original, signo)
		       ? signo
		       : SIGKILL;
}

ON_OTHER_STACK static int run_child(void *argument)
{
	const struct start *start = argument;
	const struct guard *guard = start->guard;

	close(guard->ends->socket);
	close(guard->ends->let_go);
	/* not those that would stop this process: the guard waits for its exec */
	signal_fd_hand_down(start->early & ~signal_fd_stopping(start->early), getpid());
	exec_command(guard->job, guard->shared, start->self, end_signal(guard->job));
}

int guard_start_command(const struct guard *guard)
{
	static _Alignas(16) char stack[STACK_BYTES];
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
	struct start start = {.guard = guard, .self = getpid()};
	pid_t pid;

	exec_set_environment(guard->job);
	start.early = signal_fd_pending();
	pid = clone(run_child, stack + STACK_BYTES, flags, &start, &guard->shared->command);
	if (pid < 0)
		return -1;
	leave_group(guard);
	signal_fd_hand_down(signal_fd_stopping(start.early), pid);
	return 0;
}
