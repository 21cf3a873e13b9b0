#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "giveback.h"
#include "hold.h"
#include "inbox.h"
#include "loop.h"
#include "tell.h"

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

/* Why the keeper's work is over without it. */
static void tell_loss(const struct kept *kept)
{
	const char *name = kept->hold->lock->keys.name;

	if (kept->hold->state == HOLD_RELEASED)
		tell_event(kept->teller, LOG_INFO, "lock %s was given back", name);
	else
		tell_event(kept->teller, LOG_ERR, "lost lock %s: %s", name,
			   kept->hold->state == HOLD_LOST ? kept->hold->why
							  : hold_trouble(kept->hold));
}

static _Noreturn void keep(const struct kept *kept)
{
	struct hold *hold = kept->hold;
	struct pollfd slots[SLOTS] = {
		[SLOT_PID] = {.fd = kept->pidfd, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = kept->inbox->fd, .events = POLLIN},
	};
	struct error ignored;

	for (;;) {
		hold_step(hold);
		if (hold->state != HOLD_HELD || clock_ms() >= hold->lock->deadline_ms) {
			tell_loss(kept);
			_exit(0);
		}
		int64_t wake = hold_wait(hold, &slots[SLOT_CLIENT]);

		if (hold->lock->deadline_ms < wake)
			wake = hold->lock->deadline_ms;
		if (loop_wait(kept->loop, slots, SLOTS, wake, &ignored) < 0)
			_exit(STATUS_OS);
		if (slots[SLOT_PID].revents ||
		    (slots[SLOT_SIGNALS].revents && inbox_next_deadly(kept->inbox)))
			break;
	}
	give_back(hold, kept->teller, hold->lock->deadline_ms);
	_exit(0);
}

int keeper_start(const struct kept *kept, struct error *err)
{
	const struct link *link = &kept->hold->client->link;
	int ours[] = {link->fd, link->local_folder, kept->pidfd, kept->loop->timer,
		      kept->inbox->fd};
	pid_t pid = fork();

	if (pid < 0)
		return fail(err, STATUS_OS, "cannot fork: %s", strerror(errno));
	if (pid > 0) {
		tell_step(kept->teller, "process %d renews lock %s until process %d ends", (int)pid,
			  kept->hold->lock->keys.name, (int)kept->pid);
		return 0;
	}
	setsid();
	(void)!chdir("/");
	close_all_but(ours, sizeof(ours) / sizeof(ours[0]));
	keep(kept);
}
