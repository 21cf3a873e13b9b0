#pragma once

#include "base/error.h"
#include "supervise/shared_state.h"
#include "supervise/standby.h"

/* Runs COMMAND under a guard and waits for its end. Returns 0 with *ending, or -1. The lock has
 * been given back, or has been lost, by then. */
int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err);
