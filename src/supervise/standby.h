/* The wrapper's end of a guard. The guard most often stands by while the wrapper waits for the
 * lock, so that it need not be made when the lock is granted. */
#pragma once

#include "supervise/shared_state.h"

struct waiting;

/* Before the grant the wrapper reads the connections; or the guard, for a moment, to take the grant
 * itself (lock/wait_deputy.h). Then the guard goes on with those that it has inherited; or, with
 * TLS, which cannot be shared, with some of its own. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* the guard has these connections: see hold_set_opened */
	struct shared_state *shared;
};

/* Before the grant of the last lock: makes a guard, unless there is one that has the connections.
 * They are silent (connection_is_silent). If the guard cannot be made, there is none. It listens
 * for *waiting, the last lock's, if it may. */
void standby_make(struct standby *standby, const struct job *job, struct waiting *waiting);

/* Whether the guard has taken the grant: then it lets COMMAND go, too. */
bool standby_has_grant(const struct standby *standby);

/* The guard has taken the grant: waits until it has told which, and fills job's lock with that.
 * Returns false if the guard died before: then COMMAND was not let go. */
bool standby_learn(const struct standby *standby, const struct job *job);

/* Whether the process at the other end of a guard's socket is gone. Bytes that only wake us are
 * read away. */
bool standby_hears_end(int fd);

/* Ends the guard, if there is one. */
void standby_end(struct standby *standby);

/* Lets COMMAND go: job's locks are held. Does nothing if the guard has done that. Makes a new guard
 * if there is none that is alive and has the connections. From then on guard, fd and shared are the
 * caller's. If this fails there is no guard: returns -1, and *err is filled. */
int standby_start(struct standby *standby, const struct job *job, struct error *err);
