/* A waiter who is first in the queue has a deputy: the process that is to run its command. When the
 * waiter has just moved up, the deputy listens for a moment in its place, so that a grant wakes one
 * process instead of two. It was forked with the waiter's connection, and takes nothing but a
 * grant. In a longer wait nobody notices what this spares; so the waiter listens again after
 * DEPUTY_MS. */
#pragma once

#include "lock/wait_state.h"

/* For so long a deputy listens. */
#define DEPUTY_MS 20

/* Tells who reads the waiter's messages. The waiter and its deputy share the memory of this word.
 */
enum listener {
	WAITER_LISTENS,
	DEPUTY_LISTENS,
	DEPUTY_HAS_GRANT, /* the deputy took it, and goes on for the waiter */
};

/* Whether a deputy that is made now may listen: whether it can do all that the waiter would do at
 * the grant. If so, make it with DEPUTY_LISTENS. */
bool wait_deputy_may_listen(const struct waiting *w);

/* The deputy is there, and listens until the waiter wakes for any reason, unless it has ceased to
 * listen already. fd has something to read when it has, or is gone. */
void wait_deputy_begin(struct waiting *w, _Atomic int *listener, int fd);

/* The waiter listens again, unless the deputy has the grant: then returns true, and the wait is
 * over. */
bool wait_deputy_end(struct waiting *w);

/* The deputy had the grant, and died before it let COMMAND go: the wait goes on. The server finds
 * our hold, or our old place in the queue. */
void wait_deputy_failed(struct waiting *w);

/* The deputy ceases to listen, or takes the grant. Returns false if it does not listen any more. */
bool deputy_cease(_Atomic int *listener);
bool deputy_take(_Atomic int *listener);
