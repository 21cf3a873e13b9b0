#ifndef FAIRLOCK_GUARD_H
#define FAIRLOCK_GUARD_H

#include "job.h"

/* The guard's life, in the process that the wrapper forked: runs COMMAND, and never returns. It
 * makes the process that becomes COMMAND, and tells its id in shared->command. front is a socket
 * whose other end only the wrapper has: single bytes are signals to pass on. */

/* The lock is held, and is in *shared, too (shared_put_lock). */
_Noreturn void guard_run(const struct job *job, struct shared *shared, int front, pid_t wrapper);

/* The lock is not granted yet, and neither guard nor COMMAND's process has to be made then. A first
 * byte from front tells that it is; by then the wrapper has put the grant there, and the client.
 * Until then both end when the wrapper does. */
_Noreturn void guard_stand_by(const struct job *job, struct shared *shared, int front,
			      pid_t wrapper);

#endif
