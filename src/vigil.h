#ifndef FAIRLOCK_VIGIL_H
#define FAIRLOCK_VIGIL_H

#include <stdbool.h>

#include "job.h"

struct inbox;
struct steps;

/* The time in which a guard stands by (standby.h): it waits until the lock is granted, of which the
 * wrapper tells it, or what comes over the connection that the wrapper has lent it. */
struct vigil {
	const struct job *job;
	struct shared *shared;
	int front;                 /* to the wrapper: a byte says that shared has changed */
	const struct inbox *inbox; /* takes SIGCHLD */
	struct steps *steps;       /* told with the grant */
	pid_t wrapper;
	pid_t command; /* the process that is to become COMMAND */
};

/* Returns true when the lock is held: job's lock and client are as they are now, and shared has the
 * lock. False when the wrapper is gone, or the process that was to become COMMAND. */
bool vigil_keep(const struct vigil *vigil);

#endif
