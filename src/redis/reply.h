/* Reads the elements of a reply, whatever type they turn out to have. Texts live as long as the
 * reply. A list may be NULL, as reply_at returns it: it has no elements. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct redisReply;

/* Whether a reply is a list that begins with elements of these types: 's' a string, 'i' an integer,
 * 'l' a list. */
bool reply_fits(const struct redisReply *reply, const char *types);

/* How many elements a list has; 0 if the reply is no list. */
size_t reply_count(const struct redisReply *reply);

/* The element, or NULL. */
const struct redisReply *reply_at(const struct redisReply *list, size_t index);

/* The element as text; "" if it is no text, or has a NUL in it, which would hide the rest. */
const char *reply_text(const struct redisReply *list, size_t index);

/* The element as a number; 0 if it is none. */
long long reply_number(const struct redisReply *list, size_t index);

/* The whole reply as a number; 0 if it is none. */
long long reply_integer(const struct redisReply *reply);

/* The whole reply as text; NULL if it is none. */
const char *reply_string(const struct redisReply *reply);

/* The text that a map has for a key; NULL if it has none. */
const char *reply_field(const struct redisReply *map, const char *key);

/* Fills *err with STATUS_BUG and returns -1. */
int reply_nonsense(struct error *err);
