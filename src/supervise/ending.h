/* How COMMAND ended, for the log of the lock. For the guard, and the wrapper that does its work. */
#pragma once

struct ending;
struct lock;
struct shared_state;

/* Notes COMMAND's end. status: as waitpid gives it. */
void ending_note(struct shared_state *shared, int status);

/* Puts status and cause into the lock before it is given back, whether it was used, and that it is
 * not kept for the rest of --min-hold if somebody has asked for it. */
void ending_put(const struct ending *ending, struct lock *lock);
