/* The keeper detaches wholly, so that no reader of our output, shell or terminal waits for it. */
#include "supervise/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/message.h"
#include "base/signals.h"
#include "cli/options.h"
#include "lock/hold.h"
#include "lock/wait.h"

enum {
	SLOT_PID, /* the end of this process ends the hold, whatever else has come */
	SLOT_SIGNALS,
	SLOT_CLIENT,
	SLOT_TIMER,
	SLOTS,
};

/* A reader of our standard output waits for every process that could still write to it. A container
 * may have no /dev/null. Then the socket takes its place: the caller soon closes the other end, and
 * from then on nothing is written to it. */
static void close_all_but(int socket, const int *keep, size_t count)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned from = 3, next = 0;

	for (int fd = 0; fd < 3; fd++)
		dup2(null >= 0 ? null : socket, fd);
	for (; next != UINT_MAX; from = next + 1) {
		next = UINT_MAX;
		for (size_t i = 0; i < count; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			close_descriptors_from(from, next == UINT_MAX ? next : next - 1);
	}
}

/* Whether the hold is over: by the server's word, or because its lease has ended. */
static bool is_over(struct hold *hold)
{
	if (hold->state == HOLD_HELD && clock_ms() >= hold->lock.deadline_ms)
		hold_expire(hold);
	return hold->state != HOLD_HELD;
}

/* The process of --while-pid may live on. */
static _Noreturn void tell_loss_and_exit(const struct hold *hold, struct messenger *messenger)
{
	const char *name = hold->lock.keys.shown;
	const size_t room = message_room("lost lock %s: ", name);
	char cut[OWNER_SHOWN_BYTES];

	if (hold->state == HOLD_RELEASED)
		message_event(messenger, LOG_INFO, "lock %s was given back", name);
	else
		message_event(messenger, LOG_ERR, "lost lock %s: %s", name,
			      hold_why(cut, room, hold));
	_exit(0);
}

static _Noreturn void keep(const struct wait *wait)
{
	const struct hold_set *set = wait->set;
	struct hold *hold = set->holds;
	const int64_t most_ms = wait->options->max_hold_ms;
	const int64_t max_ms = most_ms ? hold->lock.since_ms + most_ms : NEVER_MS;
	struct pollfd slots[SLOTS] = {
		[SLOT_PID] = {.fd = wait->pidfd, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = wait->signals->fd, .events = POLLIN},
	};
	char held[DURATION_MAX_BYTES];
	struct error ignored;

	for (;;) {
		hold_set_step(set);
		if (is_over(hold))
			tell_loss_and_exit(hold, wait->messenger);
		const int64_t until_ms = earliest(max_ms, hold->lock.deadline_ms);
		const int64_t wake = earliest(hold_set_wait(set, &slots[SLOT_CLIENT]), until_ms);

		if (deadline_poll(wait->loop, slots, SLOTS, wake, &ignored) < 0)
			_exit(STATUS_OS);
		if (slots[SLOT_PID].revents ||
		    (slots[SLOT_SIGNALS].revents && signal_fd_next_deadly(wait->signals)))
			break;
		if (clock_ms() >= max_ms) {
			/* the process of --while-pid lives on: only the lock is given back */
			strcpy(hold->lock.end.cause, "max-hold");
			message_event(wait->messenger, LOG_ERR,
				      "lock %s was held for %s, as long as --max-hold allows; "
				      "giving it back",
				      hold->lock.keys.shown, duration_show_fraction(held, most_ms));
			break;
		}
	}
	if (is_over(hold)) /* it was stopped meanwhile */
		tell_loss_and_exit(hold, wait->messenger);
	hold_set_release(set, hold->lock.deadline_ms);
	_exit(0);
}

static _Noreturn void live(const struct wait *wait, int fd)
{
	const struct connection *connection = &wait->set->holds->client.connection;
	const int ours[] = {connection->fd,    connection->local_folder, wait->pidfd,
			    wait->loop->timer, wait->signals->fd,        fd};

	struct signalfd_siginfo ignored;
	char byte;

	setsid();
	while (signal_fd_next(wait->signals, &ignored)) /* they were for the process group */
		;
	(void)!chdir("/");
	close_all_but(fd, ours, sizeof(ours) / sizeof(ours[0]));
	wait->loop->armed_ms = 0; /* our caller sets the timer, too */
	(void)!send(fd, "", 1, MSG_NOSIGNAL);
	/* a caller that was killed may have told the owner id: then its user relies on us */
	(void)!recv(fd, &byte, 1, 0); /* the other end is closed */
	close(fd);
	keep(wait);
}

int keeper_start(struct keeper *keeper, const struct wait *wait, struct error *err)
{
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return fail(err, STATUS_OS, "cannot make a socket: %s", strerror(errno));
	*keeper = (struct keeper){.pid = fork(), .fd = ends[0]};
	if (keeper->pid == 0) {
		close(ends[0]);
		live(wait, ends[1]);
	}
	const int cause = errno;
	const struct pollfd answer = {.fd = ends[0], .events = POLLIN};

	close(ends[1]);
	if (keeper->pid > 0 && wait_while_held(wait, answer, false, err) < 0) {
		keeper_leave(keeper, false);
		return -1;
	}
	if (keeper->pid > 0 && recv(ends[0], &byte, 1, 0) == 1) {
		message_step(wait->messenger, "process %d renews lock %s until process %d ends",
			     (int)keeper->pid, wait->set->holds->lock.keys.shown,
			     (int)wait->options->while_pid);
		return 0;
	}
	close(ends[0]);
	return keeper->pid < 0 ? fail(err, STATUS_OS, "cannot make a process: %s", strerror(cause))
			       : fail(err, STATUS_OS,
				      "cannot keep lock %s: the process that renews it was killed",
				      wait->set->holds->lock.keys.shown);
}

void keeper_leave(const struct keeper *keeper, bool goes_on)
{
	if (!goes_on) {
		kill(keeper->pid, SIGKILL);
		waitpid(keeper->pid, NULL, 0);
	}
	close(keeper->fd);
}
