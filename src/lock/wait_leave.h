/* How a waiter goes without the lock: the end of the loop in wait.c. */
#pragma once

#include "base/error.h"
#include "lock/wait_state.h"

/* The time for waiting is over: fills *err, perhaps with an outage as the reason. Returns -1. */
int wait_timed_out(const struct waiting *w, struct error *err);

/* Leaves the queue for the reason *err, if the server may know of us. If --wait is over and the
 * server turns out to be away, that becomes the reason. */
void wait_leave(struct waiting *w, struct error *err);
