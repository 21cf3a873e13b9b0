/* Locks that one process takes one after the other and then holds: renews them in time, and gives
 * them back. Knows no processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "redis/client.h"

enum hold_state {
	HOLD_HELD,
	HOLD_RELEASED, /* another process gave this hold back */
	HOLD_LOST,     /* the server says that it is not ours any more ... */
	HOLD_EXPIRED,  /* ... or its lease has ended by our clock: the server may still have it */
	HOLD_NOT_YET,  /* it was not granted */
};

/* A lock over a connection of its own: in a cluster several may be on different nodes. The rest is
 * valid from hold_take on. lock.deadline_ms says until when the lock is surely held. */
struct hold {
	struct lock lock;
	struct client client;
	enum hold_state state;
	bool is_told;      /* a message has come since the last renewal */
	bool is_told_late; /* so it has while replicas confirm one that does not know of it */
	int64_t renew_ms;  /* when the next renewal is due */
	int64_t ends_ms;   /* as lock.deadline_ms, but replicas may know nothing of it */
	struct pace pace;  /* of the renewals, since any client that may publish can demand one */
	char why[700];     /* why it is lost, or about to be, for people; or "" */
	char asked_by[BY_MAX_BYTES]; /* who asks it to stop; "": nobody */
};

/* The caller counts the hold as expired from now on. */
void hold_expire(struct hold *hold);

/* Writes why the lock is not held any more; of one that is, "was asked to stop by COMMAND (pid PID,
 * USER@HOST)"; as much of it as fits into so many characters. Returns text. */
const char *hold_why(char text[OWNER_SHOWN_BYTES], size_t characters, const struct hold *hold);

#define HOLDS_MAX (ALSO_MAX + 1)

/* In the order in which they are taken. Most often it is one lock. */
struct hold_set {
	struct hold *holds;
	int count;
};

/* The lock was just granted over its client, or is taken over from another process. */
void hold_take(struct hold *hold);

/* The next one that is held, from *at on (0 at first), which moves behind it; NULL: none. */
struct hold *hold_set_next(const struct hold_set *set, int *at);

/* Renews the locks when that is due, and reads the server's answers; never waits. Tries an
 * unreachable server again and again until the lease has ended. Then it sends no renewal, and the
 * hold has expired: others may have had the lock, and a server that lost its data after that would
 * take our hold up again. Returns a lock that turns out to be held no more: call it again until
 * NULL. */
struct hold *hold_set_step(const struct hold_set *set);

/* Returns a held lock that somebody asks for (release --stop), or NULL. */
const struct hold *hold_set_asked(const struct hold_set *set);

/* Fills a slot for each lock. Returns when hold_set_step has something to do. */
int64_t hold_set_wait(const struct hold_set *set, struct pollfd *slots);

/* All locks are held: tells the server that COMMAND starts. Returns a lock for which it has not
 * confirmed that yet, or that waits for an answer: call hold_set_step, and this again.
 * NULL: COMMAND may start, no answer is due, and the next renewals say nothing of a start. */
struct hold *hold_set_start(const struct hold_set *set);

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
