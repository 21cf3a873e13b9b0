/* Ends a wait for a lock that a wrap above us holds, and that would never end. For wait.c. */
#pragma once

#include "lock/wait_state.h"

/* The wait begins: most are over before it is time to look. */
void wait_above_begin(struct waiting *w);

/* Asks who holds the lock, if it is time. */
void wait_above_due(struct waiting *w);

/* Takes the answer. Returns -1 if the wait would never end. */
int wait_above_answer(struct waiting *w, struct error *err);
