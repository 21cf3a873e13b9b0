/* Waits for descriptors until a deadline of base/clock.h. */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "base/error.h"

/* A timer on that clock: the timeout of poll(2) stands still while the machine is suspended. */
struct deadline_poll {
	int timer;
	int64_t armed_ms;
};

/* Returns 0, or -1 with STATUS_OS. */
int deadline_poll_open(struct deadline_poll *loop, struct error *err);

void deadline_poll_close(struct deadline_poll *loop);

/* Waits until one of the slots is ready or until_ms has come. slots[count - 1] is for the timer and
 * is filled in here. Returns 0, or -1 with STATUS_OS. */
int deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count, int64_t until_ms,
		  struct error *err);
