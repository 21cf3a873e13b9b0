/* The guard starts COMMAND. */
#pragma once

#include "supervise/guard_state.h"

/* Whether the guard may wait for COMMAND's exec: for guard->is_quick. Exec must not wait for a disk
 * now, or the guard could not renew the lease meanwhile. On a terminal the guard does not wait
 * either: see guard_start_command. */
bool guard_command_is_quick(const struct guard *guard);

/* Makes COMMAND's process, in the wrapper's process group, which the guard leaves. The lock is
 * held, and the kill timer is set. The process ends if the guard does, or if the lease is as good
 * as over; then, and if exec fails, shared->ending tells. Returns 0, or -1 with errno if there is
 * no process.
 *
 * If guard->is_quick, no memory is copied, and this returns at exec. Should the process be stopped
 * before exec, the guard is killed by its timer, and the process ends.
 *
 * COMMAND gets each signal that came to the guard or the wrapper (shared->untaken) before its
 * process was there. If guard->is_quick, a signal to the whole group in the last microseconds
 * before that is lost. Until this returns the guard is in the wrapper's process group: SIGKILL to
 * the group kills all three, and SIGSTOP stops them, also if COMMAND sends it as the first thing
 * that it does. */
int guard_start_command(const struct guard *guard);
