/* Finds owner ids and slots for completion: of holders for --owner and --slot, of waiters for
 * --remove. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/slots.h"
#include "lock/owner.h"

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
