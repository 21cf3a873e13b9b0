/* How `renew` and `release` reach a hold of another process, as --owner or as an outer hold's
 * owner.
 */
#pragma once

#include <stdbool.h>

#include "cli/command.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "redis/client.h"

struct owner_call {
	const struct invocation *invocation;
	bool needs_owner; /* the options need one to act as */
	struct lock lock; /* lock.inherited: the owners to try, one after the other */
	char by_hand[1][OWNER_MAX_BYTES]; /* a hold that this user took by hand here, or "" */
	char by[BY_MAX_BYTES];            /* its description */
	struct client client;
};

/* verb: the command's, for the message. Without an owner, a person at a terminal means the one hold
 * that this user took by hand on this host. Returns -1 with STATUS_USAGE if there is no owner to
 * act as and the options need one. The caller closes the client. */
int owner_call_init(struct owner_call *call, const struct invocation *invocation, const char *verb,
		    struct error *err);
