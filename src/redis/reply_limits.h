/* Limits for the replies that we read. A few bytes can announce more elements than there is memory,
 * or be nested until the stack is full, and hiredis has no limit that would help. */
#pragma once

#include <stdbool.h>

struct redisReader;
struct reply_limits;

/* Bounds the replies of a new reader. Returns NULL when there is no memory. The caller frees it
 * after the reader. */
struct reply_limits *reply_limits_set(struct redisReader *reader);

/* Whether a reply went beyond the limits: then that is why the reader failed. */
bool reply_limits_exceeded(const struct reply_limits *bounds);

void reply_limits_free(struct reply_limits *bounds);
