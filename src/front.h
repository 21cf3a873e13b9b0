#ifndef FAIRLOCK_FRONT_H
#define FAIRLOCK_FRONT_H

#include "error.h"
#include "job.h"
#include "standby.h"

/* Runs COMMAND under a guard and waits for its end. Returns 0 with *ending, or -1. The lock has
 * been given back, or has been lost, by then. */
int front_run(const struct job *job, struct standby *standby, struct ending *ending,
	      struct error *err);

#endif
