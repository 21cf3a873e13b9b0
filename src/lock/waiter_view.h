/* The things that a waiter may know about its lock: place, holder, usual times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"
#include "redis/client.h"

/* How long holds usually last, as the log has it. */
struct usual {
	int64_t count; /* how many they were */
	int64_t ms;
};

/* A waiter's view of its lock. */
struct waiter_view {
	bool is_known; /* there has been an answer */
	int64_t at_ms; /* when the last one was true */
	int64_t place; /* 0: not in the queue */
	int64_t waiters;
	int64_t held_ms; /* how long it was held at at_ms; below 0: as in struct holder */
	char mode;       /* how it is held, as in struct holder */
	int64_t holders; /* how many hold it */
	int64_t slots;   /* as in struct holder */
	int64_t next_ms; /* as in struct holder, at at_ms */
	bool by_hand;    /* as in struct holder */
	char owner[OWNER_MAX_BYTES]; /* of the holder whose lease ends first */
	char by[BY_MAX_BYTES];
	char token[24];
	struct usual of_job; /* holds of the same user and command as that one */
	struct usual of_all;
};

/* Builds the request, which points into *view and *lock. */
void waiter_view_ask(const struct waiter_view *view, const struct lock *lock,
		     struct request *request);

/* How long it has been held by now; below 0: as in struct holder. */
int64_t waiter_view_held_ms(const struct waiter_view *view);

/* The holder, for messages to this waiter. The texts belong to the view. */
struct holder waiter_view_holder(const struct waiter_view *view, const struct lock *lock);

/* Reads the client's reply; one that makes no sense leaves what was known. */
void waiter_view_read(struct waiter_view *view, const struct client *client);
