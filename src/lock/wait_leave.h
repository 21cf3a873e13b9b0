/* How a waiter goes without the lock. */
#pragma once

#include "base/error.h"
#include "lock/wait_state.h"

/* The time for waiting is over: fills *err. Returns -1. */
int wait_timed_out(const struct waiting *w, struct error *err);

/* Leaves the queue for the reason *err, if the server may know of us. If the server turns out to be
 * away, that may become the reason. */
void wait_leave(struct waiting *w, struct error *err);
