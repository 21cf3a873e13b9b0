/* The guard before COMMAND begins. */
#include "supervise/guard_standby.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/message.h"
#include "redis/client.h"
#include "supervise/exec_child.h"
#include "supervise/prefault.h"
#include "supervise/proc_stat.h"

/* COMMAND stays in the wrapper's process group; the guard leaves it, and with it what the terminal
 * sends. Of a job-control shell's job it stays in the session, so that a group that COMMAND makes
 * for itself can be stopped. Elsewhere it leaves that too: a parent in the session, but not in the
 * group, would keep the group from being an orphaned one until COMMAND ends, and then the kernel
 * sends SIGHUP and SIGCONT to all in it if one is stopped. */
static void leave_group(const struct guard *guard)
{
	bool is_job = getpgrp() == guard->ends->wrapper &&
		      getsid(guard->ends->wrapper) != guard->ends->wrapper;

	if (is_job)
		setpgid(0, 0);
	else
		setsid();
}

/* Makes the process that is to become COMMAND. Returns -1 with errno when that fails. What the
 * terminal has sent us in its place is handed down: it takes no signals yet. */
static int prepare_command(const struct guard *guard)
{
	const pid_t self = getpid();
	/* Its id is known before either goes on: the wrapper must know whom to reap if we are
	 * killed. Not vfork: between that and exec the child can be stopped with its process group,
	 * and we would wait for it and renew nothing. */
	const pid_t pid = proc_fork(SIGCHLD, &guard->shared->command);

	if (pid == 0) {
		close(guard->ends->socket); /* a process that has this end is taken for the guard */
		exec_child(guard->job, guard->shared, guard->ends->start, self);
	}
	if (pid < 0)
		return -1;
	leave_group(guard);
	signal_fd_hand_down(signal_fd_pending(), pid);
	return 0;
}

/* Opens what the guard needs for itself. A call that failed can be repeated. */
static int get_ready(struct guard *guard, struct error *err)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!guard->kill_timer.is_there)
		kill_timer_open(&guard->kill_timer);
	if (guard->loop.timer < 0 && deadline_poll_open(&guard->loop, err) < 0)
		return -1;
	return guard->signals.fd < 0 ? signal_fd_open_deaf(&guard->signals, err) : 0;
}

/* False: the process that is to become COMMAND is gone. That it was stopped, as by a Ctrl-Z, is
 * nothing to us. */
static bool command_lives(const struct guard *guard)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(&guard->signals, &info))
		;
	return waitpid(guard->shared->command, NULL, WNOHANG) == 0;
}

/* Waits until the wrapper has let COMMAND go. False: the wrapper is gone, or the process that is to
 * become COMMAND. */
static bool await_start(const struct guard *guard)
{
	struct pollfd slots[] = {
		{.fd = guard->signals.fd, .events = POLLIN},
		{.fd = guard->ends->socket, .events = POLLIN},
	};

	while (!guard->shared->is_let_go) {
		if (poll(slots, 2, -1) < 0 && errno != EINTR)
			return false;
		if (guard->shared->is_let_go)
			break;
		if (slots[1].revents || (slots[0].revents && !command_lives(guard)))
			return false;
	}
	return true;
}

void guard_standby_run(struct guard *guard)
{
	const struct guard_ends *ends = guard->ends;
	struct error ignored;

	/* if we are stopped when the wrapper dies, we go on */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (getppid() != ends->wrapper)
		_exit(STATUS_OS);
	if (ends->needs_connection)
		client_close(guard->job->client); /* the server is to see the wrapper go */
	guard->is_ready = get_ready(guard, &ignored) == 0 && prepare_command(guard) == 0;
	if (guard->shared->has_time)
		prefault();
	if (!await_start(guard))
		_exit(0);
}

bool guard_standby_has_command(struct guard *guard)
{
	struct error err;

	if (guard->is_ready)
		return true;
	if (get_ready(guard, &err) < 0) {
		message(guard->job->messenger, LOG_ERR, "%s", err.text);
		guard->shared->ending.started = false;
		return false;
	}
	if (prepare_command(guard) < 0) {
		guard->shared->ending.exec_errno = errno;
		return false;
	}
	return true;
}
