/* One lock as one process sees it: its keys, its state, the requests about it and their replies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/shorten.h"
#include "base/signal_names.h"
#include "base/slots.h"
#include "lock/owner.h"
#include "redis/client.h"

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

/* How a process wants to hold a lock, and how it holds it: the words that the scripts have for
 * both. */
/* How a hold has the lock: MODE_EXCLUSIVE, MODE_SHARED, or a slot: its name behind MODE_SLOT. */
#define MODE_MAX_BYTES (SLOT_MAX_BYTES + 1)
#define MODE_EXCLUSIVE "x"
#define MODE_SHARED "s"
#define MODE_SLOT '='

/* Makes the word: x, the lock alone; s, a shared hold; #N, one of the slots 1 to N; =A,B, one of
 * these. slots: a valid value of --slots, or NULL. The word lives until the next call. */
const char *want_make(const char *slots, bool shared);

/* The words for the mode of a hold, for people: exclusive, shared, slots. */
const char *mode_word(const char *mode);

/* N of =N, which a script says where holders take one of N slots; 0 for any other mode. */
int64_t mode_slots(const char *mode);

/* The same for a want. */
const char *want_word(const char *want);

/* How many slots are named in a want; 0: none. */
int64_t want_slots(const char *want);

/* Whether a hold that was granted for this want has a slot. */
bool want_is_slot(const char *want);

/* ---- State and replies ---- */

#define DIGITS "0123456789"

/* Sixteen digits: a script's numbers are exact up to 2^53. */
#define TOKEN_MAX_BYTES 17

#define NUMBER_MAX_BYTES 24

enum lock_kind {
	LOCK_WRAP,
	LOCK_WRAP_EARLY, /* the server has not confirmed yet that wrap has all of its locks */
	LOCK_ACQUIRE,    /* with a keeper that renews it */
	LOCK_BY_HAND,    /* by acquire without one */
};

/* One process's dealings with one lock. The requests point into it. */
struct lock {
	struct lock_keys keys;
	enum lock_kind kind;
	char id[OWNER_MAX_BYTES];      /* in the queue; the owner of a new grant */
	char request[OWNER_MAX_BYTES]; /* of this process, in all of its requests */
	char owner[OWNER_MAX_BYTES]; /* of the hold: id, or an inherited owner that went in again */
	char by[BY_MAX_BYTES];
	const char *want;          /* see want_make */
	char mode[MODE_MAX_BYTES]; /* of the hold */
	int64_t lease_ms;
	int64_t replicas;    /* so many must know of a grant or renewal; 0: none */
	int64_t replicas_ms; /* how long they may take */
	int64_t wanted_ms;   /* when the wait began */
	int64_t since_ms; /* when we made the request that was granted, or were handed the lock */
	int64_t deadline_ms; /* until when it is surely ours, if the server's clock runs as ours */
	int64_t ttl_ms;      /* the time to live that deadline_ms was counted from */
	char lease[NUMBER_MAX_BYTES];
	char limit[NUMBER_MAX_BYTES];
	char min_hold[NUMBER_MAX_BYTES];
	char period[NUMBER_MAX_BYTES]; /* of --once-per or --once-ok, as the scripts have it */
	bool supersede;                /* it wins over earlier waiters that have this, too ... */
	char newest[NUMBER_MAX_BYTES]; /* ... from the first answer on: since when it waits, by the
					* server's clock; else "" */
	bool starts;       /* COMMAND is about to start, as renewals say: see hold_set_start */
	bool unused;       /* nothing was done under the lock: it is given back at once */
	bool handable;     /* the message that hands it over is enough; else we ask, which renews */
	bool handed;       /* it was: the server soon expects a renewal */
	int64_t heard_ms;  /* when we made the last request that queued us ... */
	int64_t server_ms; /* ... and what the server's clock said then */
	char ticket[24];
	char status[8];               /* of COMMAND, for the log; "": unknown ... */
	char cause[SIGNAL_MAX_BYTES]; /* ... and why it ended: see release.lua */
	char token[TOKEN_MAX_BYTES];
	char secret[SECRET_BYTES]; /* of our last request, or "" */
	int inherited_count;
	char (*inherited)[OWNER_MAX_BYTES]; /* owners that we may act as, too */
};

enum ask_outcome {
	ASK_GRANTED,
	ASK_UNSAFE, /* granted, but too few replicas know of it */
	ASK_QUEUED,
	ASK_BUSY,
	ASK_FULL,
	ASK_RAN,    /* a COMMAND was started too short a time ago */
	ASK_RAN_OK, /* --once-ok: a COMMAND has ended with 0 */
	ASK_REMOVED,
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
	long long waiters;    /* full */
	long long replicas;   /* unsafe: so many know */
	const char *mode;     /* misfit: of the hold that it is inside */
	const char *by;       /* superseded: by this process, or "" */
	int64_t ran_ms;       /* ran, ran ok: so long ago */
	struct holder holder; /* not granted, nor queued */
};

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

enum release_outcome {
	RELEASED,
	RELEASE_KEPT, /* given back; the lock stays held for the rest of its time */
	RELEASE_FORCED,
	RELEASE_FREE,
	RELEASE_FORGOT,
	RELEASE_NOT_HELD,
	RELEASE_NOT_ACQUIRED,
};

/* How a process wants to use a lock. Numbers that it leaves out are 0, but for max_queue. */
struct lock_options {
	const char *name;
	enum lock_kind kind;
	int64_t lease_ms;
	int64_t max_queue;   /* do not join behind so many; -1: no limit */
	int64_t replicas;    /* so many must know of each grant and renewal ... */
	int64_t replicas_ms; /* ... which may take them so long */
	int64_t min_hold_ms; /* the lock stays held so long, even if it is given back sooner */
	int64_t once_per_ms; /* not if a COMMAND was started less than nine tenths of so long ago */
	int64_t once_ok_ms;  /* nor if one ended with 0 that was; 0: this does not matter */
	const char *slots;   /* as --slots has them; NULL: none */
	bool shared;         /* others may share it */
	bool supersede;      /* takes over the place of an earlier waiter that has this, too */
	const char *owner;   /* to act as; NULL: as the owners of the enclosing holds */
	pid_t pid;           /* of the process that `queue` and `status` show; 0: ours */
	char *const *words;  /* its command, ended by NULL */
	const char *reason;  /* to show instead of the command's arguments; NULL: none */
};

/* Makes this process's id and collects what it inherited. */
int lock_init(struct lock *lock, const struct lock_options *options, struct error *err);

/* Reads the client's reply; a grant fills owner, token and deadline_ms. -1: see lock_refused. */
int lock_read_answer(struct lock *lock, const struct client *client, struct ask_reply *out,
		     struct error *err);

/* The slot of the hold, or NULL. */
const char *lock_slot(const struct lock *lock);

/* Whether more than three fifths of the granted lease are left. Then COMMAND can begin: the lease
 * is renewed before job_stop_ms would stop it. */
bool lock_is_fresh(const struct lock *lock);

/* Reads the client's reply; a renewal that enough replicas have moves deadline_ms. */
int lock_read_renewal(struct lock *lock, const struct client *client, struct renew_reply *out,
		      struct error *err);

/* A RELEASE_FORCED reply has an owner and its description for each hold that was broken, from its
 * second element on. That of RELEASE_FORGOT has there how many ms ago the start was; -1: there was
 * none. */
int lock_read_release(const struct redisReply *reply, enum release_outcome *outcome,
		      struct error *err);

/* Reads the elements that about() of the scripts has, from this one on. */
struct holder lock_read_holder(const struct lock *lock, const struct redisReply *reply, size_t at);

/* Reads what the leave script says of the holder; NULL: another reply, or nobody holds the lock. */
const struct holder *lock_read_leave(const struct lock *lock, const struct redisReply *reply,
				     struct holder *holder);

/* Turns a reply that the caller did not expect into an error: another spelling of the name is in
 * use (STATUS_USAGE), another version of fairlock uses the lock (STATUS_CONFIG), or it makes no
 * sense (STATUS_BUG). Returns -1. */
int lock_refused(const struct redisReply *reply, struct error *err);

/* Builds the requests of one lock, as the scripts in lua/ want their arguments. A request points
 * into *lock and the strings that it was given; lock.h reads the replies. */
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

/* Reads the message that hands the lock to a waiter. */
/* Accepts client->message, heard while no request was under way, if it hands the lock over: fills
 * owner, token and deadline_ms. Else changes nothing and returns false: the waiter must ask. */
bool handover_accept(struct lock *lock, const struct client *client);
