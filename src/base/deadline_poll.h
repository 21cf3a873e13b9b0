#pragma once

#include <poll.h>
#include <stdint.h>

#include "base/error.h"

/* A timer on the clock of base/clock.h: poll's own timeout stands still while the machine sleeps.
 */
struct deadline_poll {
	int timer;
	int64_t armed_ms;
};

int deadline_poll_open(struct deadline_poll *loop, struct error *err);

void deadline_poll_close(struct deadline_poll *loop);

/* Waits until one of the slots is ready or until_ms has come; slots[count - 1] is the timer's
 * and filled in here. Returns -1 with STATUS_OS when the system refuses. */
int deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count, int64_t until_ms,
		  struct error *err);
