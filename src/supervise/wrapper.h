/* Takes the locks of a wrap, one after the other, and runs COMMAND under a guard. The guard most
 * often stands by while the wrapper waits for the lock, so that it need not be made when the lock
 * is granted. */
#pragma once

#include "base/error.h"
#include "lock/wait.h"
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

/* ---- The locks ---- */

/* Finds out the locks of NAME and --also, job->set->count of them. Gives each an id, and a client
 * that is not connected. Returns 0, or -1. */
int take_locks_init(struct job *job, struct error *err);

/* Returns WAIT_GRANTED when all locks are held. Else none is, and the clients are closed: returns
 * WAIT_DONE; or WAIT_FAILED, with *signo if a signal ended the wait. */
enum wait_event take_locks(struct job *job, struct standby *standby, int *signo, struct error *err);

/* ---- COMMAND ---- */

/* Returns 0 with *ending when COMMAND has ended, or -1. The lock was given back or lost by then. */
int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err);

/* ---- The keeper that `acquire --while-pid` leaves behind: it renews the lease ---- */

struct keeper {
	pid_t pid;
	int fd; /* the other end is the keeper's */
};

/* Forks the keeper of a hold, alone in its set, and returns when no signal to our process group or
 * from our terminal can reach it any more. It keeps nothing that we inherited: no descriptor,
 * terminal, session or folder. It waits until it is let go. */
int keeper_start(struct keeper *keeper, const struct hold_set *set, const struct wait *wait,
		 struct error *err);

/* Leaves the connection to the keeper: it renews until the process of wait->pidfd ends, then
 * releases; or until the hold is given back or lost. Or ends it: it has not used the connection. */
void keeper_leave(const struct keeper *keeper, bool goes_on);
