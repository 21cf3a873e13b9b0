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
static void leave_group(const struct guard_standby *standby)
{
	bool is_job = getpgrp() == standby->ends->wrapper &&
		      getsid(standby->ends->wrapper) != standby->ends->wrapper;

	if (is_job)
		setpgid(0, 0);
	else
		setsid();
}

/* Makes the process that is to become COMMAND. Returns -1 with errno when that fails. What the
 * terminal has sent us in its place is handed down: it takes no signals yet. */
static int prepare_command(const struct guard_standby *standby)
{
	const pid_t self = getpid();
	/* Its id is known before either goes on: the wrapper must know whom to reap if we are
	 * killed. Not vfork: between that and exec the child can be stopped with its process group,
	 * and we would wait for it and renew nothing. */
	const pid_t pid = proc_fork(SIGCHLD, &standby->shared->command);

	if (pid == 0) {
		close(standby->ends
			      ->socket); /* a process that has this end is taken for the guard */
		exec_child(standby->job, standby->shared, standby->ends->start, self);
	}
	if (pid < 0)
		return -1;
	leave_group(standby);
	signal_fd_hand_down(signal_fd_pending(), pid);
	return 0;
}

/* Opens what the guard needs for itself. A call that failed can be repeated. */
static int get_ready(struct guard_standby *standby, struct error *err)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!standby->kill_timer.is_there)
		kill_timer_open(&standby->kill_timer);
	if (standby->loop.timer < 0 && deadline_poll_open(&standby->loop, err) < 0)
		return -1;
	return standby->signals.fd < 0 ? signal_fd_open_deaf(&standby->signals, err) : 0;
}

/* False: the process that is to become COMMAND is gone. That it was stopped, as by a Ctrl-Z, is
 * nothing to us. */
static bool command_lives(const struct guard_standby *standby)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(&standby->signals, &info))
		;
	return waitpid(standby->shared->command, NULL, WNOHANG) == 0;
}

/* Waits until the wrapper has let COMMAND go. False: the wrapper is gone, or the process that is to
 * become COMMAND. */
static bool await_start(const struct guard_standby *standby)
{
	struct pollfd slots[] = {
		{.fd = standby->signals.fd, .events = POLLIN},
		{.fd = standby->ends->socket, .events = POLLIN},
	};

	while (!standby->shared->is_let_go) {
		if (poll(slots, 2, -1) < 0 && errno != EINTR)
			return false;
		if (standby->shared->is_let_go)
			break;
		if (slots[1].revents || (slots[0].revents && !command_lives(standby)))
			return false;
	}
	return true;
}

void guard_standby_run(struct guard_standby *standby)
{
	const struct guard_ends *ends = standby->ends;
	struct error ignored;

	/* if we are stopped when the wrapper dies, we go on */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (getppid() != ends->wrapper)
		_exit(STATUS_OS);
	if (ends->needs_connection)
		client_close(standby->job->client); /* the server is to see the wrapper go */
	standby->is_ready = get_ready(standby, &ignored) == 0 && prepare_command(standby) == 0;
	if (standby->shared->has_time)
		prefault();
	if (!await_start(standby))
		_exit(0);
}

bool guard_standby_has_command(struct guard_standby *standby)
{
	struct error err;

	if (standby->is_ready)
		return true;
	if (get_ready(standby, &err) < 0) {
		message(standby->job->messenger, LOG_ERR, "%s", err.text);
		standby->shared->ending.started = false;
		return false;
	}
	if (prepare_command(standby) < 0) {
		standby->shared->ending.exec_errno = errno;
		return false;
	}
	return true;
}
