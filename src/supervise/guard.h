/* The guard, COMMAND's parent: renews the lease, and stops COMMAND before the lease ends. */
#pragma once

#include "supervise/guard_state.h"

/* The guard's life, in the process that the wrapper forked. It makes the process that becomes
 * COMMAND, and tells its id in shared->command. The wrapper lets that process go when the lock is
 * granted; by then the grant and the client are in *shared (shared_state_put). Or the guard takes
 * the grant, and starts COMMAND itself (supervise/guard_deputy.h). From then on the guard sees to
 * the lease and to COMMAND's end. Until then both end when the wrapper does. */
_Noreturn void guard_run(const struct job *job, struct shared_state *shared,
			 const struct guard_ends *ends);
