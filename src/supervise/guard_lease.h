/* The guard and the lease: it renews the locks, and stops COMMAND before one can be lost. */
#pragma once

#include <stdint.h>

#include "supervise/guard_state.h"

/* Sets the timer that continues a guard that is stopped when it should stop COMMAND. */
void guard_set_waker(struct guard *guard);

/* Sends the first signal to COMMAND and all that it started; SIGKILL follows at kill_ms. If that
 * was done before, the earlier time counts. */
void guard_stop_command(struct guard *guard, int64_t kill_ms);

/* Renews the locks, as far as they are not lost, and stops COMMAND if one of them turns out to be.
 */
void guard_renew_holds(struct guard *guard);

/* Stops COMMAND if a lock was not renewed in time, and kills it at the end of its grace. */
void guard_check_deadlines(struct guard *guard);
