/* Takes the locks of a wrap, one after the other, and has the guard stand by before the last. */
#pragma once

#include "base/error.h"
#include "lock/wait.h"
#include "supervise/job.h"
#include "supervise/wrapper.h"

/* The locks of NAME and --also. */
struct wanted_locks {
	const char *names[HOLDS_MAX]; /* sorted by their bytes, so that no two wraps wait for each
				       * other; none twice */
	int count;
	int at; /* NAME is names[at] */
};

void wanted_locks_sort(struct wanted_locks *wanted, const char *name,
		       const struct options *options);

/* Gives each lock an id, and a client that is not connected. Returns 0, or -1. */
int take_locks_init(const struct job *job, const struct wanted_locks *wanted, struct error *err);

/* Returns WAIT_GRANTED when all locks are held. Else none is, and the clients are closed: returns
 * WAIT_DONE; or WAIT_FAILED, with *signo if a signal ended the wait. */
enum wait_event take_locks(const struct job *job, const struct wanted_locks *wanted,
			   struct standby *standby, int *signo, struct error *err);
