/* The guard, COMMAND's parent: renews the lease, and stops COMMAND before the lease ends. */
#pragma once

#include "supervise/job.h"

/* How late the guard may be with the first signal, or a further round of SIGKILL, which reads all
 * of /proc, before the wrapper does its work. On a busy machine a process waits long for a
 * processor. */
#define GUARD_LATE_MS 200

/* The things that the guard gets from the wrapper. */
struct guard_ends {
	int socket; /* each byte is a signal to pass on, or 0; only the wrapper has the other end */
	pid_t wrapper;
	bool needs_connection; /* the guard cannot go on with those of the wrapper */
};

/* The guard's life, in the process that the wrapper forked. It stands by until the wrapper lets
 * COMMAND go, with the grant and the clients in *shared (shared_state_let_go). It ends if the
 * wrapper ends before. Then it starts COMMAND, tells the id of COMMAND's process in
 * shared->command, and sees to the lease and to COMMAND's end. */
_Noreturn void guard_run(const struct job *job, struct shared_state *shared,
			 const struct guard_ends *ends);
