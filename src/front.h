#ifndef FAIRLOCK_FRONT_H
#define FAIRLOCK_FRONT_H

#include "error.h"
#include "guard.h"

/* A guard, and a process that is to become COMMAND, which wait for the lock to be granted. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	int start;
	unsigned connections; /* it knows this one of the client's */
	struct shared *shared;
};

/* Makes one while the lock is not ours yet. Without it front_run does more. */
void front_stand_by(struct standby *standby, const struct job *job);

/* Ends it, if there is one. */
void front_stand_down(struct standby *standby);

/* Runs COMMAND under a guard and waits for its end. Returns 0 with *result, or -1. The lock has
 * been given back, or has been lost, by then. */
int front_run(const struct job *job, struct standby *standby, struct shared *result,
	      struct error *err);

#endif
