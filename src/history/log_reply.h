/* Asks the log script, and reads its answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/client.h"

struct lock_keys;

/* A time or duration that is not known. */
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
	int64_t time_ms; /* since the epoch, by the server's clock, as all times here */
	int64_t waited_ms;
	int64_t held_ms;
};

/* The last hold that the server remembers; it may be over. */
struct last_hold {
	const char *owner; /* "": there is none */
	const char *token;
	const char *by;
	int64_t since_ms;
	int64_t until_ms; /* when its lease ends */
	int64_t waited_ms;
};

/* A waiter that is there now. */
struct present {
	int64_t since_ms;
	const char *by;
};

/* The answer of the log script. The texts live as long as its reply. */
struct log_reply {
	int64_t now_ms;
	int64_t from_ms;     /* nothing of before that was asked for; UNKNOWN_MS: all was */
	const char *last_id; /* of the newest entry, whether asked for or not; "": there is none */
	struct log_event *events; /* oldest first */
	size_t count;
	bool may_lack;      /* earlier events, which the server dropped: a log has an end */
	const char *holder; /* "": the lock is free, or nobody asked */
	struct last_hold hold;
	struct present *waiters; /* first is next */
	size_t waiter_count;
};

/* A question for the log script. */
struct log_query {
	char after[ENTRY_ID_MAX_BYTES]; /* only what came after this entry; "": all */
	char since[24];                 /* only what happened so many ms ago or later; "": all */
	bool wants_now;                 /* who holds and waits, too */
	int64_t from_ms; /* since when that is, once the first answer told the time */
};

/* A time of the server, or UNKNOWN_MS for what is none. */
int64_t log_reply_number(const char *text);

void log_reply_request(const struct log_query *question, const struct lock_keys *keys,
		       struct request *request);

/* Reads the reply to it. Returns 0, or -1 when it makes no sense. Call log_reply_free in both
 * cases.
 */
int log_reply_read(struct log_reply *history, struct log_query *question,
		   const struct redisReply *reply, struct error *err);

void log_reply_free(struct log_reply *history);
