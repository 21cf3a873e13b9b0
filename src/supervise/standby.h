#pragma once

#include "supervise/shared_state.h"

/* The wrapper's end of a guard. Most often the guard, and the process that is to become COMMAND,
 * stand by while the wrapper waits for the lock: then neither has to be made when the lock is
 * granted. Only the wrapper reads the connection meanwhile. When the lock is granted, the wrapper
 * tells the guard, which goes on with the connection that it has inherited, and lets COMMAND go. A
 * connection with TLS cannot be shared: a guard that was forked before the grant then makes one of
 * its own. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	int start;       /* a byte that is written there lets COMMAND go */
	unsigned opened; /* it has this connection of the client's */
	uint64_t early;  /* signals that the wrapper got before there was a guard */
	uint64_t late;   /* those that it got about then: COMMAND's process has got them, too */
	struct shared_state *shared;
};

/* Makes one while the lock is not ours yet, unless there is one that has the client's connection.
 * The client is silent (connection_is_silent). There is none afterwards if it cannot be made. */
void standby_make(struct standby *standby, const struct job *job);

/* Ends it, if there is one, makes another, and lets COMMAND go, since job's lock is held. There is
 * none when this fails: returns -1, and *err is filled. */
int standby_start(struct standby *standby, const struct job *job, struct error *err);

/* Ends it, if there is one. */
void standby_end(struct standby *standby);

/* Lets COMMAND go, since job's lock is held. False if the guard cannot be used: it is dead, or has
 * another connection. Then there is no COMMAND, and it is to be ended. Else guard, fd and shared
 * are the caller's. */
bool standby_set_off(struct standby *standby, const struct job *job);
