#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"

enum {
	SLOT_PID, /* its end is the end of the hold, whatever else has come */
	SLOT_SIGNALS,
	SLOT_CLIENT,
	SLOT_TIMER,
	SLOTS,
};

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Whoever reads our standard output waits for all who might still write to it. */
static void close_all_but(int *keep, size_t count)
{
	int from = 3;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	qsort(keep, count, sizeof(*keep), ascending);
	for (size_t i = 0; i < count; i++) {
		if (keep[i] > from)
			descriptors_close((unsigned)from, (unsigned)keep[i] - 1);
		if (keep[i] >= from)
			from = keep[i] + 1;
	}
	descriptors_close((unsigned)from, UINT_MAX);
}

static _Noreturn void keep(struct hold *hold, struct loop *loop, const struct inbox *inbox,
			   int pidfd)
{
	struct pollfd slots[SLOTS] = {
		[SLOT_PID] = {.fd = pidfd, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = inbox->fd, .events = POLLIN},
	};
	struct error ignored;

	for (;;) {
		hold_step(hold);
		if (hold->state != HOLD_HELD || clock_ms() >= hold->lock->deadline_ms)
			_exit(0);
		int64_t wake = hold_wait(hold, &slots[SLOT_CLIENT]);

		if (hold->lock->deadline_ms < wake)
			wake = hold->lock->deadline_ms;
		if (loop_wait(loop, slots, SLOTS, wake, &ignored) < 0)
			_exit(STATUS_OS);
		if (slots[SLOT_PID].revents ||
		    (slots[SLOT_SIGNALS].revents && inbox_next_deadly(inbox)))
			break;
	}
	hold_release(hold, hold->lock->deadline_ms, &ignored);
	_exit(0);
}

int keeper_start(struct hold *hold, struct loop *loop, const struct inbox *inbox, int pidfd,
		 struct error *err)
{
	int ours[] = {hold->client->link.fd, hold->client->link.local_folder, pidfd, loop->timer,
		      inbox->fd};
	pid_t pid = fork();

	if (pid < 0)
		return fail(err, STATUS_OS, "cannot fork: %s", strerror(errno));
	if (pid > 0)
		return 0;
	setsid();
	(void)!chdir("/");
	close_all_but(ours, sizeof(ours) / sizeof(ours[0]));
	keep(hold, loop, inbox, pidfd);
}
