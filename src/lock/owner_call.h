/* The holds and waiters of other processes: how `renew` and `release` reach a hold, as --owner or
 * as an outer hold's owner; and what completion offers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/slots.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "redis/client.h"

struct owner_call {
	const struct invocation *invocation;
	struct lock lock; /* lock.inherited: the owners to try, one after the other */
	char by_hand[1][OWNER_MAX_BYTES]; /* a hold that this user took by hand here, or "" */
	char by[BY_MAX_BYTES];            /* its description */
	struct client client;
};

/* Whether the options need an owner to act as. */
bool owner_call_needs_owner(const struct options *options);

/* verb: the command's, for the message. Without an owner, a person at a terminal means the one hold
 * that this user took by hand on this host. Returns -1 with STATUS_USAGE if there is no owner to
 * act as and the options need one. The caller closes the client. */
int owner_call_init(struct owner_call *call, const struct invocation *invocation, const char *verb,
		    struct error *err);

/* Makes the request and waits for its reply, which is in call->client then. */
int owner_call_make(struct owner_call *call, const struct request *request, struct error *err);

/* Finds owner ids and slots for completion: of holders for --owner and --slot, of waiters for
 * --remove. */
struct server;

struct owner_list {
	struct found_owner {
		char id[OWNER_MAX_BYTES];
		char slot[SLOT_MAX_BYTES];     /* "": the holder has none */
		char about[OWNER_SHOWN_BYTES]; /* as owner_show has it */
	} * list;
	size_t count;
};

/* Asks for the holders of a lock, or for its waiters; without a name (NULL), for those of all
 * locks. Finds what can be found at once, for somebody who waits at a prompt. Starts no private
 * server. Call owner_list_free. */
void owner_list_find_quickly(struct owner_list *owners, const struct server *server,
			     const char *name, bool waiters);

void owner_list_free(struct owner_list *owners);
