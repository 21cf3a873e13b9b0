#ifndef FAIRLOCK_WAIT_H
#define FAIRLOCK_WAIT_H

#include <stdbool.h>

#include "client.h"
#include "error.h"
#include "inbox.h"
#include "lock.h"
#include "loop.h"

struct options;

/* What a waiter listens to beside its server. */
struct wait {
	const struct options *options;
	const struct inbox *inbox;
	struct loop *loop;
	int pidfd; /* acquire --while-pid: ends the wait; -1: none */
};

/* Takes the lock, queueing for it as the options say. Returns 0 when lock is held.
 * Else -1 after leaving the queue: with *err (busy and the like: STATUS_NOT_OBTAINED), or with
 * *signo set when a signal ended the wait. */
int wait_for_lock(const struct wait *wait, struct lock *lock, struct client *client, int *signo,
		  struct error *err);

/* Turns "not obtained" into its exit status, told unless --quiet; any other failure stays one (-1).
 */
int wait_outcome(const struct options *options, const struct error *err, int *status);

/* Tells a step of ours on standard error, under --verbose. */
__attribute__((format(printf, 2, 3))) void tell_step(const struct options *options,
						     const char *format, ...);

#endif
