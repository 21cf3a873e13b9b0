/* The guard before the grant: it opens what it needs, makes the process that is to become COMMAND,
 * and waits until the wrapper lets that go. If the guard listens for the wrapper (guard_deputy.h),
 * it makes that process only when it has the grant, or does not listen any more. */
#pragma once

#include "supervise/guard_state.h"

/* Returns when COMMAND was let go; then the guard has the locks. Ends the guard if the wrapper or
 * COMMAND is gone. */
void guard_standby_run(struct guard *guard);

/* Repeats a call that failed. False if there is no process for COMMAND now: see shared->ending. */
bool guard_standby_has_command(struct guard *guard);
