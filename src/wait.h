#ifndef FAIRLOCK_WAIT_H
#define FAIRLOCK_WAIT_H

#include <stdbool.h>

#include "client.h"
#include "error.h"
#include "inbox.h"
#include "lock.h"
#include "loop.h"

struct options;
struct teller;

/* What a waiter listens to beside its server. */
struct wait {
	const struct options *options;
	struct teller *teller;
	const struct inbox *inbox;
	struct loop *loop;
	int pidfd; /* acquire --while-pid: ends the wait; -1: none */

	const struct deputy *deputy; /* or NULL */
};

/* Who gets ready while we wait, and may take the lock for us. */
struct deputy {
	/* Called when the lock may be ours next, and client_is_silent, to be lent the client at
	 * once or not; and when it turns out that somebody else is before us, or the connection has
	 * been lost. */
	void (*call)(const void *context, bool lends);
	void (*dismiss)(const void *context);
	/* Lends it the client, which is silent, if it is not lent yet. Returns a descriptor that is
	 * readable when it wants nothing more of it, or -1: it cannot. */
	int (*lend)(const void *context);
	/* Whether the client is ours again: else the lock is held now, and the client the deputy's.
	 */
	bool (*reclaim)(const void *context);
	const void *context;
};

/* Takes the lock, queueing for it as the options say. Returns 0 when lock is held, by the deputy
 * perhaps.
 * Else -1 after leaving the queue: with *err (busy and the like: STATUS_NOT_OBTAINED), or with
 * *signo set when a signal ended the wait. */
int wait_for_lock(const struct wait *wait, struct lock *lock, struct client *client, int *signo,
		  struct error *err);

#endif
