/* The life of the process that becomes COMMAND, from fork to exec. */
#pragma once

#include <sys/types.h>

#include "supervise/shared_state.h"

/* For functions that may run on the stack of guard_start_command, which AddressSanitizer takes for
 * a mistake. */
#define ON_OTHER_STACK __attribute__((no_sanitize("address")))

/* Becomes COMMAND when there is a byte to read from `start`: by then the lock is held, and in
 * *shared (shared_state_put). Ends if the pipe does, if the lease is as good as over, or if
 * `parent`, the guard, ends. shared->ending.exec_errno tells why it could not become COMMAND. */
_Noreturn void exec_child(const struct job *job, struct shared_state *shared, int start,
			  pid_t parent);

/* The last two steps of that, for a guard that has the grant itself: it calls the first, and a
 * child that shares its memory the second, which changes nothing there that the guard
 * needs. COMMAND gets end_signal
 * when `parent` ends. */
void exec_set_environment(const struct job *job);
_Noreturn void exec_command(const struct job *job, struct shared_state *shared, pid_t parent,
			    int end_signal);
