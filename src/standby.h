#ifndef FAIRLOCK_STANDBY_H
#define FAIRLOCK_STANDBY_H

#include "job.h"

/* A guard, and a process that is to become COMMAND, which wait for the lock to be granted: then
 * neither has to be made. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* it knows this connection of the client's */
	struct shared *shared;
};

/* Makes one while the lock is not ours yet, unless there is one that knows the client's connection,
 * on which all that there is to say has been sent, and nothing was heard in part. There is none
 * afterwards if it cannot be made. */
void standby_make(struct standby *standby, const struct job *job);

/* Ends it, if there is one. */
void standby_end(struct standby *standby);

/* Tells it that the lock is ours. False if it cannot be used: one of them is dead, or the
 * connection is not what they know; then there is no COMMAND and it is to be ended. Else guard, fd
 * and shared are the caller's. */
bool standby_set_off(const struct standby *standby, const struct job *job);

#endif
