/* Waits for a lock, for wrap and acquire: the loop over wait_show.h and wait_report.h (what the
 * user sees meanwhile) and wait_leave.h (how a waiter goes without the lock), with the messages of
 * wait_result.h. */
#pragma once

#include "base/error.h"
#include "lock/wait_state.h"

enum wait_event {
	WAIT_GRANTED, /* the lock is held */
	WAIT_DONE,    /* --once-ok: a COMMAND has ended with 0; the waiter has left the queue */
	WAIT_FAILED,  /* the waiter has left the queue: see *err, and *signo if a signal ended it */
	WAIT_LOST,    /* the same, because another lock that was held meanwhile is lost: see *err */
	/* The wait goes on: */
	WAIT_STAND_BY,   /* we may be next, and there is time to get ready for the grant */
	WAIT_STAND_DOWN, /* another waiter is before us, or the connection was lost */
};

/* Begins to wait, as the options say. *w points to the other three. */
void wait_begin(struct waiting *w, const struct wait *wait, struct lock *lock,
		struct client *client);

/* Waits for the next event. The first four are the last one of a wait. A lock that was not
 * obtained is a failure with STATUS_NOT_OBTAINED. */
enum wait_event wait_next(struct waiting *w, int *signo, struct error *err);
