/* The wrapper's end of a guard. The guard most often stands by while the wrapper waits for the
 * lock, so that it need not be made when the lock is granted. */
#pragma once

#include "supervise/shared_state.h"

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

/* Whether the guard at the other end of this socket is gone. */
bool standby_hears_end(int fd);

/* Ends the guard, if there is one. */
void standby_end(struct standby *standby);

/* Lets COMMAND go: job's locks are held. Makes a new guard if there is none that is alive and has
 * the connections. From then on guard, fd and shared are the caller's. If this fails there is no
 * guard: returns -1, and *err is filled. */
int standby_start(struct standby *standby, const struct job *job, struct error *err);
