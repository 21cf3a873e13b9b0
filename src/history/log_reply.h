/* The request to the log script, and its reply. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

struct lock_keys;

/* A time or duration that is not known. Times are the server's, in milliseconds since the epoch. */
#define UNKNOWN_MS (-1)

/* The id of an entry of a stream: two numbers of 64 bits. */
#define ENTRY_ID_MAX_BYTES 48

/* An entry of the log. Texts are "" when they are not known. */
struct log_event {
	const char *id;
	const char *name; /* "granted", "released", ... */
	const char *owner;
	const char *token;
	const char *by;
	const char *status; /* of COMMAND, ... */
	const char *cause;  /* ... and why it ended */
	const char *slot;
	const char *actor; /* description of the process that did it, if it was another one */
	int64_t time_ms;
	int64_t waited_ms;
	int64_t held_ms;
};

/* A hold whose end the log does not have; it may be over. */
struct last_hold {
	const char *owner;
	const char *token;
	const char *by;
	int64_t since_ms;
	int64_t until_ms; /* when its lease ends */
	int64_t waited_ms;
	bool is_alone; /* no other hold can be beside it */
};

struct present_waiter {
	int64_t since_ms;
	const char *by;
};

/* The reply of the log script. Its texts live as long as the client's reply. */
struct log_reply {
	int64_t now_ms;
	int64_t from_ms;          /* events from here on were asked for; UNKNOWN_MS: all */
	const char *last_id;      /* of the newest entry, asked for or not; "": there is none */
	struct log_event *events; /* oldest first */
	size_t count;
	bool may_lack;      /* the server may have dropped earlier events: a log has an end */
	const char *holder; /* "": the lock is free, or wants_now was not set */
	struct last_hold *holds;
	size_t hold_count;
	struct present_waiter *waiters; /* in the order of the queue */
	size_t waiter_count;
};

struct log_query {
	char after[ENTRY_ID_MAX_BYTES]; /* only entries behind this one; "": all */
	char since[24];  /* only events of the last so many ms, or since "@TIME" in ms; "": all */
	bool wants_now;  /* also the holder and the waiters */
	int64_t from_ms; /* what since means, UNKNOWN_MS until the first reply has told the server's
			    time */
};

/* Reads a number that others wrote: a time, a duration, a token. UNKNOWN_MS: it is none. */
int64_t log_reply_number(const char *text);

/* Settles what since means if it is a duration: so long before now_ms, by the server's clock. */
void log_query_begin(struct log_query *query, int64_t now_ms);

void log_reply_request(const struct log_query *query, const struct lock_keys *keys,
		       struct request *request);

/* Returns 0, or -1 when the reply makes no sense. Call log_reply_free in both cases. */
int log_reply_read(struct log_reply *history, struct log_query *query,
		   const struct redisReply *reply, struct error *err);

void log_reply_free(struct log_reply *history);
