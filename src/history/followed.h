/* The locks whose logs `log --follow` has printed, and the entries that it has printed of each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "history/log_reply.h"

struct client;

/* The id of an entry of a stream, MS-SEQUENCE. */
struct entry_id {
	uint64_t ms;
	uint64_t sequence;
};

struct followed {
	char *name;
	char *key;                      /* of its log */
	struct client *client;          /* of the node that has it */
	bool is_due;                    /* the server may have new entries */
	bool is_told;                   /* the user knows why the log cannot be read */
	char after[ENTRY_ID_MAX_BYTES]; /* the last entry, see struct log_query */
	struct entry_id newest;         /* the largest of ids */
	struct entry_id *ids; /* of the latest entries: the list is a ring when it is full */
	size_t count;         /* so many entries there were */
	size_t room;
};

/* In the order of their keys. Starts as {0}. */
struct followed_list {
	struct followed *list;
	size_t count;
	size_t room;
};

/* The lock with this log, or NULL. */
struct followed *followed_find(const struct followed_list *locks, const char *key);

/* Finds or adds the lock, with copies of the texts. NULL, with *err: there is no memory. Others'
 * addresses change. */
struct followed *followed_add(struct followed_list *locks, const char *name, const char *key,
			      struct error *err);

void followed_remove(struct followed_list *locks, struct followed *lock);

void followed_free(struct followed_list *locks);

/* Takes the entries out of *history that were printed before, and notes the others. A server that
 * has lost its latest entries, or whose log begins anew, sends all that it has. */
int followed_take_new(struct followed *lock, struct log_reply *history, struct error *err);
