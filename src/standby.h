#ifndef FAIRLOCK_STANDBY_H
#define FAIRLOCK_STANDBY_H

#include "job.h"

/* The wrapper's end of a guard. Mostly that, and the process that is to become COMMAND, wait for
 * the lock to be granted: then neither has to be made. While the wrapper has nothing to do but
 * wait, it lends the guard its connection: the guard then sees for itself that the lock is granted,
 * and the wrapper need not be woken. What is no grant the guard leaves to the wrapper. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* it knows this connection of the client's */
	uint64_t early;  /* signals that the wrapper got before there was a guard */
	uint64_t late;   /* those that it got about then: COMMAND's process has got them, too */
	struct shared *shared;
};

/* Makes one while the lock is not ours yet, unless there is one that knows the client's connection,
 * on which all that there is to say has been sent, and nothing was heard in part. With `lends` it
 * is lent that at once. There is none afterwards if it cannot be made. */
void standby_make(struct standby *standby, const struct job *job, bool lends);

/* Ends it, if there is one, and makes one that has the lock from the beginning, since job's lock is
 * held. There is none when this fails: returns -1, and *err is filled. */
int standby_start(struct standby *standby, const struct job *job, struct error *err);

/* Ends it, if there is one. */
void standby_end(struct standby *standby);

/* Lends it the client's connection (client_is_silent), if it is not lent yet. Returns what becomes
 * readable when the guard is done with it, or dead; -1: there is none that could use it. */
int standby_lend(struct standby *standby, const struct job *job);

/* Takes that back; ends a guard that does not see what has come. False: the guard has the lock
 * meanwhile, and job's lock is held. */
bool standby_reclaim(struct standby *standby, const struct job *job);

/* Whether the guard has taken the lock. */
bool standby_has_lock(const struct standby *standby);

/* Tells it that the lock is ours, unless it knows. False if it cannot be used: one of them is dead,
 * or the connection is not what they know; then there is no COMMAND and it is to be ended. Else
 * guard, fd and shared are the caller's. */
bool standby_set_off(const struct standby *standby, const struct job *job);

#endif
