/* The guard's messages for --verbose and --syslog. */
#pragma once

#include <stdint.h>

#include "supervise/shared_state.h"

/* why: perhaps a server's words, which are cut. */
void guard_tell_loss(const struct job *job, const struct lock *lock, const char *why);

/* Somebody asks COMMAND to stop, for the sake of this lock. */
void guard_tell_asked(const struct job *job, const struct hold *hold);

/* status: COMMAND's, as waitpid gives it. */
void guard_tell_end(const struct job *job, int status, int64_t took_ms);
