/* The guard gets ready while the wrapper waits. A call that failed is repeated after the grant. */
#include "supervise/guard_standby.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervise/environment.h"
#include "supervise/guard_command.h"

/* For so long we believe what the rehearsal found in memory. */
#define REHEARSED_MS 100

int guard_get_ready(struct guard *guard, struct error *err)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!guard->kill_timer.is_there)
		kill_timer_open(&guard->kill_timer);
	if (guard->loop.timer < 0 && deadline_poll_open(&guard->loop, err) < 0)
		return -1;
	if (guard->signals.fd < 0 && signal_fd_open_deaf(&guard->signals, err) < 0)
		return -1;
	return 0;
}

/* Does what it can before the grant, so that little is left between the grant and exec. */
static void rehearse(struct guard *guard)
{
	environment_set(guard->job);
	guard->is_quick = guard_command_is_quick(guard);
}

/* Returns false if the wrapper is gone. */
static bool await_start(const struct guard *guard)
{
	struct pollfd slot = {.fd = guard->socket, .events = POLLIN};

	while (!guard->shared->is_let_go && !slot.revents)
		if (poll(&slot, 1, -1) < 0 && errno != EINTR)
			return false;
	return guard->shared->is_let_go;
}

/* The wrapper has the grant, and lets COMMAND go. */
static void take_grant(const struct guard *guard)
{
	const struct job *job = guard->job;

	shared_state_take(guard->shared, job);
	for (int i = 0; i < job->set->count; i++) {
		if (guard->ends->needs_connection)
			connection_forget(&job->set->members[i].client.connection);
		hold_set_take(job->set, &job->set->members[i]);
	}
}

void guard_standby_run(struct guard *guard)
{
	const struct guard_ends *ends = guard->ends;
	const int64_t begin_ms = clock_ms();
	struct error ignored;

	/* if we are stopped when the wrapper dies, we go on */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (getppid() != ends->wrapper)
		_exit(STATUS_OS);
	if (ends->needs_connection)
		hold_set_close(guard->job->set); /* the server is to see the wrapper go */
	if (guard_get_ready(guard, &ignored) == 0)
		rehearse(guard);
	if (!await_start(guard))
		_exit(0);
	take_grant(guard);
	if (clock_ms() >= begin_ms + REHEARSED_MS)
		guard->is_quick = guard_command_is_quick(guard);
}
