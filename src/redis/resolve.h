/* Looks names up without waiting: a resolver has no deadline, and a lease has one. Each look-up is
 * a thread of its own, which is left to itself when its answer is not wanted any more. */
#pragma once

#include "redis/connect.h"

/* Begins to look up an endpoint. Returns a close-on-exec descriptor that becomes readable when
 * there is an answer, or -1 with errno. Closing it drops the look-up. */
int resolve_start(const struct endpoint *endpoint);

/* Takes the answer, and closes the descriptor. Returns 0 with *addresses, or -1 with *cause. */
int resolve_finish(int fd, struct addresses *addresses, const char **cause);
