/* Waits for a lock, for wrap and acquire. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/signals.h"
#include "lock/hold.h"
#include "lock/lock.h"
#include "redis/client.h"

struct options;
struct messenger;

/* The options of a waiter, or of a keeper, and its sources of events beside the server. */
struct wait {
	const struct options *options;
	struct messenger *messenger;
	const struct signal_fd *signals;
	int *signo; /* 0; becomes the signal that has ended the wait */
	struct deadline_poll *loop;
	int pidfd;                  /* acquire --while-pid: ends the wait; -1: none */
	const struct hold_set *set; /* has the lock; those that it holds already are renewed */
	int64_t from_ms;            /* when the wait for the first of its locks began */
	bool begins_anew;           /* a lock that was granted before is lost */
	/* wrap: a process that runs COMMAND is wanted, for we may be next; or not, for another
	 * waiter is before us, or the connection was lost. There may be time to make it. Returns
	 * whether it was made. NULL: none is ever wanted. */
	bool (*stand_by)(void *data, bool is_wanted, bool is_time);
	void *data;
};

enum wait_event {
	WAIT_FAILED,  /* the waiter has left the queue: see *err, and *signo */
	WAIT_LOST,    /* the same, because a lock that was granted to it is lost: see *err */
	WAIT_GRANTED, /* the lock is held; this and the next are no failures */
	WAIT_DONE,    /* --once-ok: a COMMAND has ended with 0; the waiter has left the queue */
};

/* Waits for the lock, as the options say. A lock that was not obtained is a failure with
 * STATUS_NOT_OBTAINED; one that was lost meanwhile, with that or with STATUS_NOT_HELD. */
enum wait_event wait_for_lock(const struct wait *wait, struct hold *hold, struct error *err);

/* Renews the locks that are held before COMMAND begins. Returns WAIT_GRANTED, or how the wait ends
 * because one of them is lost, or somebody asks for it. awaited: what we wait for, or NULL. */
enum wait_event wait_keep_held(const struct hold_set *set, const struct lock *awaited,
			       struct error *err);

/* Takes the signals that have come. Returns whether one of them ends the wait, and fills *err. */
bool wait_is_stopped(const struct wait *wait, const struct lock *lock, struct error *err);

/* Waits until what is ready, and renews the lock of acquire meanwhile if so asked. Fails if a
 * signal, the end of the process of --while-pid, or that of the lease comes first. */
int wait_while_held(const struct wait *wait, struct pollfd what, bool renews, struct error *err);

/* Acts on a failure. A signal that ended the wait ends this process, and from now on any other one
 * does. A lock that was not obtained becomes an exit status, told unless --quiet; any other failure
 * stays one (-1). */
int wait_result_carry_out(struct messenger *messenger, const struct options *options,
			  const struct signal_fd *signals, int signo, const struct error *err,
			  int *status);
