/* The keeper that `acquire --while-pid` leaves behind: it renews the lease. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct hold;
struct wait;

struct keeper {
	pid_t pid;
	int fd; /* the other end is the keeper's */
};

/* Forks the keeper of a hold, and returns when no signal to our process group or from our terminal
 * can reach it any more. It keeps nothing that we inherited: no descriptor, terminal, session or
 * folder. It waits until it is let go. */
int keeper_start(struct keeper *keeper, struct hold *hold, const struct wait *wait,
		 struct error *err);

/* Leaves the connection to the keeper: it renews until the process of wait->pidfd ends, then
 * releases; or until the hold is given back or lost. Or ends it: it has not used the connection. */
void keeper_leave(const struct keeper *keeper, bool goes_on);
