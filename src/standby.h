#ifndef FAIRLOCK_STANDBY_H
#define FAIRLOCK_STANDBY_H

#include "job.h"

/* The wrapper's end of a guard. Most often the guard, and the process that is to become COMMAND,
 * stand by while the wrapper waits for the lock: then neither has to be made when the lock is
 * granted. Only the wrapper reads the connection meanwhile. It tells the guard of the grant, and
 * the guard goes on with the connection, which it has inherited. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* it has this connection of the client's */
	uint64_t early;  /* signals that the wrapper got before there was a guard */
	uint64_t late;   /* those that it got about then: COMMAND's process has got them, too */
	struct shared *shared;
};

/* Makes one while the lock is not ours yet, unless there is one that has the client's connection.
 * The client is silent (client_is_silent). There is none afterwards if it cannot be made. */
void standby_make(struct standby *standby, const struct job *job);

/* Ends it, if there is one, and makes one that has the lock from the beginning, since job's lock is
 * held. There is none when this fails: returns -1, and *err is filled. */
int standby_start(struct standby *standby, const struct job *job, struct error *err);

/* Ends it, if there is one. */
void standby_end(struct standby *standby);

/* Tells it that the lock is ours. False if it cannot be used: one of them is dead, or the
 * connection is another one than theirs. Then there is no COMMAND, and it is to be ended. Else
 * guard, fd and shared are the caller's. */
bool standby_set_off(const struct standby *standby, const struct job *job);

#endif
