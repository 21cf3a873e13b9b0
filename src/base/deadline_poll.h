#ifndef FAIRLOCK_DEADLINE_POLL_H
#define FAIRLOCK_DEADLINE_POLL_H

#include <poll.h>
#include <stdint.h>

#include "base/error.h"

/* A timer on the clock of base/clock.h: poll's own timeout stands still while the machine sleeps.
 */
struct loop {
	int timer;
	int64_t armed_ms;
};

int loop_open(struct loop *loop, struct error *err);

void loop_close(struct loop *loop);

/* Waits until one of the slots is ready or until_ms has come; slots[count - 1] is the timer's
 * and filled in here. Returns -1 with STATUS_OS when the system refuses. */
int loop_wait(struct loop *loop, struct pollfd *slots, nfds_t count, int64_t until_ms,
	      struct error *err);

#endif
