#pragma once

#include "supervise/shared_state.h"

/* The descriptors that the guard gets from the wrapper, and how it goes on. */
struct guard_ends {
	int socket; /* its other end only the wrapper has: its bytes are signals to pass on */
	int start;  /* of a pipe: a byte in it lets COMMAND go */
	pid_t wrapper;
	bool needs_connection; /* the guard cannot go on with the wrapper's */
};

/* The guard's life, in the process that the wrapper forked: it never returns. It makes the process
 * that becomes COMMAND, and tells its id in shared->command. The wrapper lets that process go when
 * the lock is granted; by then the grant, and the client, are in *shared (shared_state_put). From
 * then on the guard renews the lease and sees to COMMAND's end. Until then both end when the
 * wrapper does. */
_Noreturn void guard_run(const struct job *job, struct shared_state *shared,
			 const struct guard_ends *ends);
