/* A lock that is held: renews it in time, and gives it back. Knows no processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "lock/lock.h"
#include "redis/client.h"

struct messenger;

enum hold_state {
	HOLD_HELD,
	HOLD_RELEASED, /* somebody gave this hold back */
	HOLD_LOST,     /* the server says that it is not ours any more */
};

/* A held lock that is renewed. lock->deadline_ms says until when it is surely held. */
struct hold {
	struct lock *lock;
	struct client *client;
	enum hold_state state;
	bool is_told;        /* of a release, since the last renewal */
	int64_t renew_ms;    /* when the next renewal is due */
	struct pace pace;    /* of the renewals: anybody who may publish could demand more */
	unsigned renewals;   /* so many have been answered */
	int64_t took_ms;     /* the last of them */
	int64_t patience_ms; /* how long a request may take, as the client was told */
	int64_t left_ms;     /* of the lease, when it was asked for */
	char why[400];       /* lost, or about to be: why, for people; or "" */
};

/* Takes over a lock that was just granted over this client. */
void hold_init(struct hold *hold, struct lock *lock, struct client *client);

/* Renews when it is time and takes in what the server says; never waits. An unreachable
 * server is tried again and again; only its own word ends the hold. */
void hold_step(struct hold *hold);

/* Why the lease is about to end. */
const char *hold_trouble(const struct hold *hold);

/* Fills *slot for poll. Returns when hold_step has something to do. */
int64_t hold_wait(const struct hold *hold, struct pollfd *slot);

/* Gives the hold back, waiting until until_ms for the server. Returns 0; 1 if the server keeps the
 * lock for the rest of --min-hold; or -1. */
int hold_release(struct hold *hold, int64_t until_ms, struct error *err);

/* The same, and tells how that went. */
void hold_release_and_tell(struct hold *hold, struct messenger *messenger, int64_t until_ms);

/* Gives back a lock that was just granted and will not be used, so that nobody waits for its lease;
 * closes the client. */
void hold_give_up(struct lock *lock, struct client *client);
