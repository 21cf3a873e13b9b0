/* Builds the requests of one lock, as the scripts in lua/ want their arguments. A request points
 * into *lock and the strings that it was given; lock.h reads the replies. */
#pragma once

#include <stdbool.h>

#include "lock/lock.h"

/* Begins a request with the keys, as every script wants them. */
void wire_begin(const struct lock_keys *keys, struct request *request, const struct script *script);

/* Adds arguments: strings, none of them NULL. */
#define wire_add(request, ...) wire_add_all(request, __VA_ARGS__, (const char *)NULL)
__attribute__((sentinel)) void wire_add_all(struct request *request, ...);

/* Adds how many requests the client has left under way. Every script that changes something uses
 * that, so that a late copy of a request changes nothing. */
void wire_add_strays(struct request *request);

/* Asks for the lock as it is: what is "status", "queue" or "view", as look.lua has it. */
void wire_look(const struct lock_keys *keys, struct request *request, const char *what);

/* The channel of an owner id, a request, or a marker. */
void wire_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES]);

/* Asks for the lock, or else for a place in the queue; also a waiter's sign of life. try: don't
 * queue. Draws a new secret if the lock may be handed over. */
void wire_ask(struct lock *lock, struct request *request, bool try);

/* Renews the hold of this process. */
void wire_renew(const struct lock *lock, struct request *request);

/* Renews any hold of an owner. */
void wire_renew_as(const struct lock *lock, struct request *request, const char *owner);

/* Gives back the hold of this process. */
void wire_release(const struct lock *lock, struct request *request);

/* Gives back any hold of an owner. */
void wire_release_as(const struct lock *lock, struct request *request, const char *owner);

/* Breaks the lock, if the token is still the holder's, or is "". only: the hold of this owner, or
 * of =SLOT, alone; or "". */
void wire_force(const struct lock *lock, struct request *request, const char *token,
		const char *only);

/* Forgets when a COMMAND was last started, and when one last ended with 0. */
void wire_forget(const struct lock *lock, struct request *request);

/* Asks the holders to stop. only: as for wire_force. list: the holds that it asked before, as the
 * script has told them, with a newline between; "": those that there are. */
void wire_stop(const struct lock *lock, struct request *request, const char *only,
	       const char *list);

/* Takes a waiter out of the queue; own_id and by: of this process. */
void wire_remove(const struct lock_keys *keys, struct request *request, const char *id,
		 const char *own_id, const char *by);

/* Leaves the queue; undoes a grant that was made meanwhile. */
void wire_leave(const struct lock *lock, struct request *request);
