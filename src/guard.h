#ifndef FAIRLOCK_GUARD_H
#define FAIRLOCK_GUARD_H

#include "job.h"

/* The guard's life, in the process that wrapper forked: starts COMMAND, never returns. front is a
 * socket whose other end only the wrapper has: single bytes are signals to pass on. */
_Noreturn void guard_run(const struct job *job, struct shared *shared, int front, pid_t wrapper);

/* The same, forked before the lock is granted, so that neither guard nor COMMAND's process has to
 * be made then. It makes that process, tells its id in shared->command, and waits for the first
 * byte from front; by then the wrapper has put the grant there, and the client. Both end when the
 * wrapper does. */
_Noreturn void guard_stand_by(const struct job *job, struct shared *shared, int front,
			      pid_t wrapper);

#endif
