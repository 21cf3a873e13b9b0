/* The guard gets ready while the wrapper waits. A call that failed is repeated after the grant. */
#include "supervise/guard_standby.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
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

/* Does what it can before the grant, so that little is left between the grant and exec. */
static void rehearse(struct guard *guard)
{
	environment_set(guard->job);
	guard->is_quick = guard_command_is_quick(guard);
}

/* Returns a descriptor that is readable once for each message of the server, which the wrapper
 * reads; -1 if there is none. */
static int listen_in(const struct guard *guard)
{
	const struct hold_set *set = guard->job->set;
	struct epoll_event each = {.events = EPOLLIN | EPOLLET};
	struct pollfd slot;
	int ears;

	client_wait(&set->members[set->count - 1].client, &slot);
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
