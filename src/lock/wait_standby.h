/* When the process that is to run COMMAND stands by: for wait.c. */
#pragma once

#include "lock/wait_state.h"

/* Whether we may be next, and there is time to get ready. Once for each turn that may come. */
bool wait_standby_begins(struct waiting *w);

/* Whether the one that stands by is of no use any more. Once for each time that one began to. */
bool wait_standby_ends(struct waiting *w);
