/* The guard makes the process that becomes COMMAND: ahead, or when the lock is held. */
#pragma once

#include "supervise/guard_state.h"

/* Makes it ahead. It waits until it is let go (supervise/exec_child.h). Hands down the signals that
 * the terminal has sent to the guard in its place. Returns -1 with errno. */
int guard_prepare_command(const struct guard *guard);

/* Makes it when the guard has the grant itself, and starts COMMAND: no memory is copied, and no
 * process has to be woken. Returns at exec, or -1 with errno. The lease has just begun, so that is
 * soon enough. But if the process is stopped before exec, or waits for a slow disk until the lease
 * is as good as over, the guard is killed by its timer, and the process ends. Until this
 * returns the guard is in the wrapper's process group: SIGKILL to the group kills all three. */
int guard_start_command(const struct guard *guard);
