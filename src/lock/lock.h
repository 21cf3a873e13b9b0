/* One lock as one process sees it: its keys, its state, the requests about it and their replies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/signals.h"
#include "base/text.h"
#include "lock/owner.h"
#include "redis/client.h"

struct options;

/* ---- Keys ---- */

#define NAME_MAX_BYTES 512
#define KEY_MAX_BYTES (NAME_MAX_BYTES + 64)

/* The keys in the order in which every script takes them, and the prefix of the channels. */
struct lock_keys {
	char name[NAME_MAX_BYTES + 1];
	char queue[KEY_MAX_BYTES];
	char timeouts[KEY_MAX_BYTES];
	char state[KEY_MAX_BYTES];
	char log[KEY_MAX_BYTES];
	char ours[KEY_MAX_BYTES];
	char holders[KEY_MAX_BYTES];
	char done[KEY_MAX_BYTES]; /* of the keys of requests: their beginning */
	char channel[KEY_MAX_BYTES];
	char shown[SHORT_MAX_BYTES]; /* NAME for messages, cut */
};

/* Checks NAME and derives its keys. Returns 0, or -1 with STATUS_USAGE. */
int lock_keys_make(struct lock_keys *keys, const char *name, struct error *err);

/* ---- State ---- */

/* Sixteen digits: a script's numbers are exact up to 2^53. */
#define TOKEN_MAX_BYTES 17

#define NUMBER_MAX_BYTES 24

enum lock_kind {
	LOCK_WRAP,
	LOCK_WRAP_EARLY, /* the server has not confirmed yet that wrap has all of its locks */
	LOCK_ACQUIRE,    /* with a keeper that renews it */
	LOCK_BY_HAND,    /* by acquire without one */
};

/* A process wants a lock in this way, in the words of the scripts. */
struct lock_wish {
	const char *mode;
	char lease[NUMBER_MAX_BYTES];
	char limit[NUMBER_MAX_BYTES];  /* of --max-queue, or "" */
	char period[NUMBER_MAX_BYTES]; /* of --once-per or --once-ok */
};

/* A waiter. */
struct lock_place {
	int64_t wanted_ms;             /* when the wait began */
	int64_t asked_ms;              /* when we made the last request that queued us, */
	int64_t heard_ms;              /* and heard the answer */
	int64_t server_ms;             /* what the server's clock said between these */
	char newest[NUMBER_MAX_BYTES]; /* --supersede: since when it waits, by the server's clock */
	char ticket[24];
	char secret[SECRET_BYTES]; /* of our last request, or "" */
};

/* The release request tells the server this. */
struct lock_end {
	bool unused; /* nothing was done under the lock: it is given back at once */
	char min_hold[NUMBER_MAX_BYTES];
	char status[8];               /* of COMMAND, for the log; "": unknown ... */
	char cause[SIGNAL_MAX_BYTES]; /* ... and why it ended: see release.lua */
};

/* One process's dealings with one lock. The requests point into it. */
struct lock {
	struct lock_keys keys;
	const struct options *options;
	enum lock_kind kind;
	char id[OWNER_MAX_BYTES];      /* in the queue; the owner of a new grant */
	char request[OWNER_MAX_BYTES]; /* of this process, in all of its requests */
	char by[BY_MAX_BYTES];
	int inherited_count;
	char (*inherited)[OWNER_MAX_BYTES]; /* owners that we may act as, too */
	int64_t lease_ms;
	struct lock_wish wish;
	struct lock_place place;
	/* the hold: */
	char owner[OWNER_MAX_BYTES]; /* id, or an inherited owner that went in again */
	char mode[MODE_MAX_BYTES];
	char token[TOKEN_MAX_BYTES];
	int64_t since_ms; /* when we made the request that was granted, or were handed the lock */
	int64_t deadline_ms; /* until when it is surely ours, if the server's clock runs as ours */
	int64_t ttl_ms;      /* the time to live that deadline_ms was counted from */
	bool handed;         /* to a waiter: the server soon expects a renewal */
	bool was_told;       /* while it waited; that may have been for the holder, as of --stop */
	bool starts;         /* COMMAND is about to start, as renewals say: see hold_set_start */
	struct lock_end end;
};

/* Whether a process around us holds locks as this owner. */
bool lock_inherits(const struct lock *lock, const char *owner);

/* Makes this process's id and collects what it inherited. words: the command to show, ended by
 * NULL. */
int lock_init(struct lock *lock, const char *name, enum lock_kind kind,
	      const struct options *options, char *const *words, struct error *err);

/* The slot of the hold, or NULL. */
const char *lock_slot(const struct lock *lock);

/* ---- Requests, as the scripts in lua/ want their arguments ---- */

/* Adds arguments: strings, none of them NULL. */
#define wire_add(request, ...) wire_add_all(request, __VA_ARGS__, (const char *)NULL)
__attribute__((sentinel)) void wire_add_all(struct request *request, ...);

/* Asks for the lock as it is: what is "status", "queue", "view" or "log", as look.lua has it. */
void wire_look(const struct lock_keys *keys, struct request *request, const char *what);

/* The channel of an owner id, a request, or a marker. */
void wire_channel(const struct lock_keys *keys, const char *id, char channel[CHANNEL_MAX_BYTES]);

/* Asks for the lock, or else for a place in the queue; also a waiter's sign of life. try: don't
 * queue. Draws a new secret. */
void wire_ask(struct lock *lock, struct request *request, bool try);

/* Renews the hold of this process; or any hold of an owner. */
void wire_renew(const struct lock *lock, struct request *request);
void wire_renew_as(const struct lock *lock, struct request *request, const char *owner);

/* Gives back the hold of this process; or any hold of an owner. */
void wire_release(const struct lock *lock, struct request *request);
void wire_release_as(const struct lock *lock, struct request *request, const char *owner);

/* For `release`. what: "force" breaks the lock, if the token is still the holder's, or is "";
 * "stop" asks the holders to stop, and has one more argument: the holds that it asked before, as
 * the script has told them, with a newline between ("": those that there are); "forget" forgets
 * when a COMMAND was last started, and when one last ended with 0. only: the hold of this owner, or
 * of =SLOT, alone; or "". */
void wire_intervene(const struct lock *lock, struct request *request, const char *what,
		    const char *token, const char *only);

/* Leaves the queue; undoes a grant that was made meanwhile. */
void wire_leave(const struct lock *lock, struct request *request);

/* Takes a waiter out of the queue; own_id and by: of this process. */
void wire_remove(const struct lock_keys *keys, struct request *request, const char *id,
		 const char *own_id, const char *by);

/* ---- Replies ---- */

/* Turns a reply that the caller did not expect into an error: another spelling of the name is in
 * use (STATUS_USAGE), another version of fairlock uses the lock (STATUS_CONFIG), or it makes no
 * sense (STATUS_BUG). Returns -1. */
int lock_refused(const struct redisReply *reply, struct error *err);

enum ask_outcome {
	ASK_GRANTED,
	ASK_UNSAFE, /* granted, but too few replicas know of it */
	ASK_QUEUED,
	ASK_BUSY,
	ASK_FULL,
	ASK_RAN,    /* a COMMAND was started too short a time ago */
	ASK_RAN_OK, /* --once-ok: a COMMAND has ended with 0 */
	ASK_REMOVED,
	ASK_FORCED,     /* our hold was broken by force */
	ASK_SUPERSEDED, /* by a newer waiter with --supersede */
	ASK_MISFIT,     /* this process is inside a hold of another mode */
};

/* The answer of the acquire script. Fields belong to outcomes; texts live as long as the reply. */
struct ask_reply {
	enum ask_outcome outcome;
	int64_t ask_in_ms;    /* queued: when to ask again at the latest */
	bool first;           /* queued: no waiter stands before us */
	int64_t ttl_ms;       /* queued: of the lock; -1: it has none */
	const char *marker;   /* queued: a channel to listen on, as wire_channel has it; or "" */
	int64_t number;       /* full: so many wait; ran, ran ok: so many ms ago */
	const char *word;     /* misfit: the mode of the hold that it is inside; superseded: by
			       * this process, or "" */
	struct holder holder; /* not granted, nor queued */
};

/* Reads the client's reply; a grant fills owner, token and deadline_ms. -1: see lock_refused. */
int lock_read_answer(struct lock *lock, const struct client *client, struct ask_reply *out,
		     struct error *err);

/* Accepts client->message, heard while no request was under way, if it hands the lock over: fills
 * owner, token and deadline_ms. Else changes nothing and returns false: the waiter must ask. */
bool handover_accept(struct lock *lock, const struct client *client);

enum renew_outcome {
	RENEWED,
	RENEW_UNSAFE, /* renewed, but too few replicas know of it: the deadline stays */
	RENEW_LATE,   /* past the deadline, which stays: perhaps taken up after a loss of data */
	RENEW_RELEASED,
	RENEW_NOT_BY_HAND, /* the lease is longer than any but a hold by hand may have */
	RENEW_LOST,
};

struct renew_reply {
	enum renew_outcome outcome;
	int64_t ttl_ms;
	const char *why; /* lost: "forced", "taken" or "gone" */
	const char *by; /* lost: about the new holder, or ""; renewed: who asks it to stop, or "" */
};

/* Reads the client's reply; a renewal that enough replicas have moves deadline_ms. */
int lock_read_renewal(struct lock *lock, const struct client *client, struct renew_reply *out,
		      struct error *err);

enum release_outcome {
	RELEASED,
	RELEASE_KEPT, /* given back; the lock stays held for the rest of its time */
	RELEASE_FORCED,
	RELEASE_FREE,
	RELEASE_FORGOT,
	RELEASE_NOT_HELD,
	RELEASE_NOT_ACQUIRED,
};

/* A RELEASE_FORCED reply has an owner and its description for each hold that was broken, from its
 * second element on. That of RELEASE_FORGOT has there how many ms ago the start was; -1: there was
 * none. */
int lock_read_release(const struct redisReply *reply, enum release_outcome *outcome,
		      struct error *err);

/* Reads the elements that about() of the scripts has, from this one on. */
struct holder lock_read_holder(const struct lock *lock, const struct redisReply *reply, size_t at);
