#pragma once

#include "base/error.h"
#include "lock/wait_state.h"

enum wait_event {
	WAIT_GRANTED, /* the lock is held */
	WAIT_FAILED,  /* the waiter has left the queue: *err (busy and the like:
		       * STATUS_NOT_OBTAINED), or *signo when a signal ended the wait */
	/* The wait goes on. */
	WAIT_STAND_BY, /* the lock may be ours next, and there is nothing to do just now: a time to
			  get ready for the grant */
	WAIT_STAND_DOWN, /* another waiter is before us, or the connection was lost */
};

/* Begins to wait: queues for the lock as the options say. */
void wait_begin(struct waiting *w, const struct wait *wait, struct lock *lock,
		struct client *client);

/* Waits for the next event. After WAIT_GRANTED and WAIT_FAILED there is none. */
enum wait_event wait_next(struct waiting *w, int *signo, struct error *err);
