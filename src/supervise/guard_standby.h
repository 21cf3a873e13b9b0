/* The guard before the grant: it opens what it needs, makes the process that is to become COMMAND,
 * and waits until the wrapper lets that go. */
#pragma once

#include "supervise/guard_state.h"

/* Returns when the wrapper has let COMMAND go. Ends the guard if the wrapper or COMMAND is gone. */
void guard_standby_run(struct guard *guard);

/* Repeats a call that failed. False if there is no process for COMMAND now: see shared->ending. */
bool guard_standby_has_command(struct guard *guard);
