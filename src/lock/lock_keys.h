/* Derives the keys of a lock from its NAME. */
#pragma once

#include "base/error.h"
#include "base/shorten.h"

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
