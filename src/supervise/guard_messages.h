/* The guard's messages for --verbose and --syslog. */
#pragma once

#include <stdint.h>

#include "lock/hold.h"
#include "supervise/shared_state.h"

void guard_tell_renewal(const struct job *job, const struct hold *hold);

/* status: COMMAND's, as waitpid gives it. */
void guard_tell_end(const struct job *job, int status, int64_t took_ms);
