/* A guard that stands by listens for the wrapper: it is its deputy (lock/wait_deputy.h). For
 * guard_standby.c. */
#pragma once

#include "supervise/guard_state.h"

/* While the guard listens: the socket that it polls, and the time (clock_ms) at which it ceases. At
 * other times -1 and NEVER_MS. */
struct guard_deputy {
	int fd;
	int64_t until_ms;
};

/* Begins to listen if the wrapper wants that (shared->listener). Ceases at once if this guard
 * cannot do all that belongs to a grant. */
void guard_deputy_begin(const struct guard *guard, struct guard_deputy *deputy);

/* Ceases to listen, and wakes the wrapper. */
void guard_deputy_end(const struct guard *guard, struct guard_deputy *deputy);

/* Something has come. If it is a grant, takes it, tells that COMMAND is let go, and returns true.
 * Else ceases to listen and returns false: the wrapper will read it. */
bool guard_deputy_hear(struct guard *guard, struct guard_deputy *deputy);
