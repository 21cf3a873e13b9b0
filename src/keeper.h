#ifndef FAIRLOCK_KEEPER_H
#define FAIRLOCK_KEEPER_H

#include "error.h"
#include "hold.h"
#include "inbox.h"
#include "loop.h"

/* Forks the keeper of a hold: it renews in the background until the process behind pidfd ends, then
 * releases; or until the hold is given back or lost. It keeps nothing that we inherited: no
 * descriptor, terminal, session or folder. Returns 0 in the caller, who then leaves the connection
 * to it. */
int keeper_start(struct hold *hold, struct loop *loop, const struct inbox *inbox, int pidfd,
		 struct error *err);

#endif
