#ifndef FAIRLOCK_REPLY_LIMITS_H
#define FAIRLOCK_REPLY_LIMITS_H

#include <stdbool.h>

struct redisReader;

/* What a server may make us read. A few bytes can announce more elements than there is memory, or
 * be nested until the stack is full, and hiredis has no limit that would help. */
struct bounds;

/* Bounds the replies of a new reader. Returns NULL when there is no memory. To be freed, with
 * bounds_free, after the reader. */
struct bounds *bounds_set(struct redisReader *reader);

/* Whether a reply went beyond them: then that is why the reader failed. */
bool bounds_exceeded(const struct bounds *bounds);

void bounds_free(struct bounds *bounds);

#endif
