/* Runs COMMAND under a guard, for wrap. The guard most often stands by while the wrapper waits for
 * the lock, so that it need not be made when the lock is granted. */
#pragma once

#include "base/error.h"
#include "supervise/job.h"

/* Before the grant only the wrapper reads the connections. Then the guard goes on with those that
 * it has inherited; or, with TLS, which cannot be shared, with some of its own. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* the guard has these connections: see hold_set_opened */
	struct shared_state *shared;
};

/* Before the grant of the last lock: makes a guard, unless there is one that has the connections.
 * They are silent (connection_is_silent). If the guard cannot be made, there is none. */
void standby_make(struct standby *standby, const struct job *job);

/* Ends the guard, if there is one. */
void standby_end(struct standby *standby);

/* Returns 0 with *ending when COMMAND has ended, or -1. The lock was given back or lost by then. */
int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err);
