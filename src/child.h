#ifndef FAIRLOCK_CHILD_H
#define FAIRLOCK_CHILD_H

#include <sys/types.h>

#include "job.h"

/* The process that becomes COMMAND, from fork to exec. `parent` is the guard, whose death ends it.
 */

/* What COMMAND finds in its environment: which lock is held, where, and by which owner. */
void child_set_environment(const struct job *job);

/* Becomes COMMAND, unless the lease is as good as over. shared->exec_errno tells why it could not.
 */
_Noreturn void child_become(const struct job *job, struct shared *shared, pid_t parent);

/* The same, forked before the lock is granted: becomes COMMAND when there is a byte to read from
 * `start`. By then the grant is in *shared. Ends if the pipe does. */
_Noreturn void child_stand_by(const struct job *job, struct shared *shared, int start,
			      pid_t parent);

#endif
