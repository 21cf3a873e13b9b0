/* The guard before COMMAND begins: it opens what it needs, makes the process that is to become
 * COMMAND, and waits until the wrapper lets that go. */
#pragma once

#include "supervise/guard_state.h"

/* Returns when the wrapper has let COMMAND go. Ends the process if the wrapper dies, or the process
 * that is to become COMMAND. */
void guard_standby_run(struct guard *guard);

/* Tries once more what failed before the start. Returns whether there is a process for COMMAND; if
 * not, shared->ending says why. */
bool guard_standby_has_command(struct guard *guard);
