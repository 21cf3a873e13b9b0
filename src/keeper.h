#ifndef FAIRLOCK_KEEPER_H
#define FAIRLOCK_KEEPER_H

#include <sys/types.h>

#include "error.h"

struct hold;
struct inbox;
struct loop;
struct teller;

/* What a keeper needs. */
struct kept {
	struct hold *hold;
	struct teller *teller;
	struct loop *loop;
	const struct inbox *inbox;
	int pidfd; /* of the process that it is for */
	pid_t pid; /* its id */
};

/* Forks the keeper of a hold: it renews in the background until that process ends, then
 * releases; or until the hold is given back or lost. It keeps nothing that we inherited: no
 * descriptor, terminal, session or folder. Returns 0 in the caller, who then leaves the connection
 * to it. */
int keeper_start(const struct kept *kept, struct error *err);

#endif
