/* Several locks that one process takes one after the other and then holds, each over a connection
 * of its own: in a cluster they may be on different nodes. Most often it is one lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "lock/hold_lease.h"
#include "lock/lock.h"
#include "redis/client.h"

#define HOLDS_MAX (ALSO_MAX + 1)

/* One of the locks. hold is valid from hold_set_take on. */
struct member {
	struct lock lock;
	struct client client;
	struct hold hold;
	struct connection_trace steps; /* of the client, while the lock is held */
};

/* In the order in which they are taken. */
struct hold_set {
	struct member *members;
	int count;
	struct messenger *messenger;
	int64_t timeout_ms; /* of the clients */
};

/* The lock was just granted, or is taken over from another process. */
void hold_set_take(const struct hold_set *set, struct member *member);

/* Renews the locks when that is due, reads the server's answers, and tells both; never waits.
 * Returns a lock that turns out to be held no more: call it again until NULL. */
struct member *hold_set_step(const struct hold_set *set);

/* Of those that are held, one that somebody asks for (release --stop); or NULL. */
const struct hold *hold_set_asked(const struct hold_set *set);

/* Fills a slot for each lock. Returns when hold_set_step has something to do. */
int64_t hold_set_wait(const struct hold_set *set, struct pollfd *slots);

/* A time that a lock has. */
typedef int64_t hold_set_time(const struct lock *lock, const void *job);

/* The first of the times of those that are held; NEVER_MS if none is held. job is for time_of. */
int64_t hold_set_least_ms(const struct hold_set *set, hold_set_time *time_of, const void *job);

/* Until when all of those that are held are surely ours; NEVER_MS if none is held. */
int64_t hold_set_deadline_ms(const struct hold_set *set);

/* All locks are held: tells the server that COMMAND starts. Returns a lock for which it has not
 * confirmed that yet, that waits for an answer, or that is not fresh (lock_is_fresh): call
 * hold_set_step, and this again.
 * NULL: COMMAND may start, no answer is due, and the next renewals say nothing of a start. */
struct member *hold_set_start(const struct hold_set *set);

/* Gives back those that are held, the last one first, waiting until until_ms for all of them
 * together, and tells how that went. Frees those that have expired, too, if the server still has
 * them, and tells nothing of these. */
void hold_set_release(const struct hold_set *set, int64_t until_ms);

/* The same for locks that will not be used. Closes the clients. */
void hold_set_give_up(const struct hold_set *set);

void hold_set_close(const struct hold_set *set);

/* Whether each connection is silent (connection_is_silent), and each client still
 * (client_is_still). */
bool hold_set_is_silent(const struct hold_set *set);
bool hold_set_is_still(const struct hold_set *set);

/* How many connections were opened. A process that was forked before has the present ones if this
 * has not changed. */
unsigned hold_set_opened(const struct hold_set *set);
