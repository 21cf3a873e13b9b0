/* Runs COMMAND under a guard, for wrap. */
#pragma once

#include "base/error.h"
#include "supervise/shared_state.h"
#include "supervise/standby.h"

/* Returns 0 with *ending when COMMAND has ended, or -1. The lock was given back or lost by then. */
int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err);
