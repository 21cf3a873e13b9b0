/* The life of the process that becomes COMMAND, from fork to exec. */
#pragma once

#include <sys/types.h>

#include "supervise/shared_state.h"

/* Becomes COMMAND when there is a byte to read from `start`: by then the lock is held, and in
 * *shared (shared_state_put). Ends if the pipe does, if the lease is as good as over, or if
 * `parent`, the guard, ends. shared->ending.exec_errno tells why it could not become COMMAND. */
_Noreturn void exec_child(const struct job *job, struct shared_state *shared, int start,
			  pid_t parent);
