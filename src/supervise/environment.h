/* COMMAND's environment. */
#pragma once

#include "supervise/shared_state.h"

/* Puts the FAIRLOCK_... variables of job's locks into this process's environment. It can be called
 * before the grant, too, as a rehearsal: the memory that it takes is there then. */
void environment_set(const struct job *job);
