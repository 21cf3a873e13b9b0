#ifndef FAIRLOCK_WAIT_H
#define FAIRLOCK_WAIT_H

#include <stdbool.h>

#include "base/deadline_poll.h"
#include "base/error.h"
#include "base/signal_fd.h"
#include "lock/lock.h"
#include "redis/client.h"

struct options;
struct messenger;

/* What a waiter listens to beside its server. */
struct wait {
	const struct options *options;
	struct messenger *messenger;
	const struct signal_fd *signals;
	struct deadline_poll *loop;
	int pidfd; /* acquire --while-pid: ends the wait; -1: none */

	const struct deputy *deputy; /* or NULL */
};

/* Makes ready what the grant will need (wrap: the guard and COMMAND's process) while we wait. */
struct deputy {
	/* Called when the lock may be ours next, and client_is_silent; and when it turns out that
	 * another waiter is before us, or that the connection has been lost. */
	void (*call)(const void *context);
	void (*dismiss)(const void *context);
	const void *context;
};

/* Takes the lock, queueing for it as the options say. Returns 0 when lock is held. Else -1 after
 * leaving the queue: with *err (busy and the like: STATUS_NOT_OBTAINED), or with *signo set when a
 * signal ended the wait. */
int wait_for_lock(const struct wait *wait, struct lock *lock, struct client *client, int *signo,
		  struct error *err);

#endif
