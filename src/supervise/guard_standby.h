/* The guard while it stands by: from its fork to the grant. For guard.c. */
#pragma once

#include "supervise/guard_state.h"

/* Returns when the lock is held, and the wrapper has let COMMAND go. Ends the process if the
 * wrapper ends before. */
void guard_standby_run(struct guard *guard);

/* Opens the timers and the descriptor of the signals, if they are not open yet. Returns 0, or -1
 * with STATUS_OS. */
int guard_get_ready(struct guard *guard, struct error *err);
