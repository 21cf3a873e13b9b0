#ifndef FAIRLOCK_LOCK_H
#define FAIRLOCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "lock/lock_keys.h"
#include "lock/owner.h"
#include "redis/client.h"

/* Sixteen digits: a script's numbers are exact up to 2^53. */
#define TOKEN_MAX_BYTES 17

enum lock_kind {
	LOCK_WRAP,
	LOCK_ACQUIRE,
};

/* One process's dealings with one lock. The requests that the functions below
 * build point into it. */
struct lock {
	struct lock_keys keys;
	enum lock_kind kind;
	char id[OWNER_MAX_BYTES];      /* in the queue; the owner of a new grant */
	char request[OWNER_MAX_BYTES]; /* of this process, in all of its requests */
	char owner[OWNER_MAX_BYTES];   /* who holds: id, or an inherited owner that went in again */
	char by[BY_MAX_BYTES];
	int64_t lease_ms;
	int64_t replicas;    /* so many must know of a grant or renewal, 0: none */
	int64_t replicas_ms; /* how long they may take */
	int64_t wanted_ms;   /* when we began to wait for it */
	int64_t since_ms;    /* when we asked and got it, or were handed it */
	int64_t deadline_ms; /* until when it is surely ours, if the server's clock runs as ours */
	int64_t ttl_ms;      /* what deadline_ms was counted from: the server gave us so long */
	char lease[24];
	char limit[24];
	char min_hold[24];
	char once_per[24];
	bool unused;       /* nothing was done under the lock: it is given back at once */
	bool handable;     /* it may be handed to us while we wait */
	bool handed;       /* it was: the server waits for a renewal, and not long */
	int64_t heard_ms;  /* when we asked last and were queued ... */
	int64_t server_ms; /* ... and what the server's clock said then */
	char ticket[24];
	char token[TOKEN_MAX_BYTES];
	char secret[SECRET_BYTES]; /* of our last question: a message that hands us the lock
				    * repeats it. "": it has none, and no message does */
	int inherited_count;
	char (*inherited)[OWNER_MAX_BYTES]; /* as whom we may act, too */
};

enum ask_outcome {
	ASK_GRANTED,
	ASK_UNSAFE, /* granted, but too few replicas know of it */
	ASK_QUEUED,
	ASK_BUSY,
	ASK_FULL,
	ASK_RAN, /* a COMMAND was started too short a time ago */
	ASK_REMOVED,
};

/* What the acquire script answered. The strings live as long as the reply. */
struct ask_reply {
	enum ask_outcome outcome;
	int64_t ask_in_ms;  /* queued: when to ask again at the latest */
	bool first;         /* queued: nobody stands before us */
	int64_t ttl_ms;     /* queued: of the lock; -1: it has none */
	long long waiters;  /* full */
	long long replicas; /* unsafe: so many know */
	int64_t ran_ms;     /* ran: so long ago */
	const char *by;     /* busy: about the holder */
};

enum renew_outcome {
	RENEWED,
	RENEW_UNSAFE, /* renewed, but too few replicas know of it: the deadline stays */
	RENEW_RELEASED,
	RENEW_LOST,
};

struct renew_reply {
	enum renew_outcome outcome;
	int64_t ttl_ms;
	const char *why; /* lost: "forced", "taken" or "gone" */
	const char *by;  /* lost: about the new holder, or "" */
};

enum release_outcome {
	RELEASED,
	RELEASE_KEPT, /* given back; the lock stays held for the rest of its time */
	RELEASE_FORCED,
	RELEASE_FREE,
	RELEASE_NOT_HELD,
	RELEASE_NOT_ACQUIRED,
};

struct release_reply {
	enum release_outcome outcome;
	const char *owner;
	const char *by;
};

/* Makes this process's id and collects what it inherited. limit: as --max-queue, -1 for none. words
 * is what `queue` and `status` show as its command. */
int lock_init(struct lock *lock, const char *name, enum lock_kind kind, int64_t lease_ms,
	      int64_t limit, char *const *words, struct error *err);

/* Demands that so many replicas know of each grant and renewal, which may take them so long. */
void lock_need_replicas(struct lock *lock, int64_t replicas, int64_t timeout_ms);

/* Demands that the lock stays held so long from its grant on, also when it is given back sooner. */
void lock_keep(struct lock *lock, int64_t min_hold_ms);

/* Does not want the lock if a COMMAND of it was started less than nine tenths of so long ago. */
void lock_once_per(struct lock *lock, int64_t once_per_ms);

/* Takes the lock also when it is handed over while we wait: nobody needs to ask for it then.
 * Replicas and lock_once_per rule that out. */
void lock_let_hand_over(struct lock *lock);

/* Acts as this owner (NULL: as before), not as those of the enclosing holds. */
int lock_act_as(struct lock *lock, const char *owner, struct error *err);

/* Takes the lock or a place in the queue; also a waiter's sign of life. try: don't queue. */
void lock_ask(struct lock *lock, struct request *request, bool try);

/* Reads the client's reply; a grant fills owner, token and deadline_ms. Returns -1 with STATUS_BUG
 * for a reply that makes no sense. */
int lock_asked(struct lock *lock, const struct client *client, struct ask_reply *out,
	       struct error *err);

/* Whether more than three fifths are left of the lease that was granted: then COMMAND can begin,
 * and is not stopped (job_stop_ms) before the lease can be renewed. */
bool lock_is_fresh(const struct lock *lock);

/* Whether the client's message, heard while nothing was asked, hands the lock over: then owner,
 * token and deadline_ms are filled. If not, nothing has changed, and the waiter had better ask. */
bool lock_was_handed(struct lock *lock, const struct client *client);

/* Renews the hold of this process. */
void lock_renew(struct lock *lock, struct request *request);

/* Reads the client's reply; a renewal that enough replicas have moves deadline_ms. */
int lock_renewed(struct lock *lock, const struct client *client, struct renew_reply *out,
		 struct error *err);

/* Gives back the hold of this process. */
void lock_release(struct lock *lock, struct request *request);

int lock_released(const struct redisReply *reply, struct release_reply *out, struct error *err);

/* Leaves the queue; undoes a grant that was made meanwhile. */
void lock_leave(struct lock *lock, struct request *request);

/* Turns a reply that the caller did not expect into an error: another spelling of the name is in
 * use (STATUS_USAGE), another version of fairlock uses the lock (STATUS_CONFIG), or it makes no
 * sense. Returns -1. */
int lock_refused(const struct redisReply *reply, struct error *err);

/* The arguments that every script of this lock begins with. */
void lock_request(const struct lock_keys *keys, struct request *request,
		  const struct script *script);

void request_add(struct request *request, const char *argument);

/* Adds how many requests the client has left under way: every script that changes something wants
 * to know, so that a late copy of a request changes nothing. */
void request_add_strays(struct request *request);

/* The channel of an owner id. */
void lock_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES]);

#endif
