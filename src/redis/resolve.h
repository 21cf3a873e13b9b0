#pragma once

#include "redis/connect.h"

/* Looks names up without waiting: a resolver has no deadline, and a lease has one. Each look-up is
 * a thread of its own, which is left to itself when nobody wants to know any more. */

/* Begins to look up an endpoint. Returns a close-on-exec descriptor that becomes readable when
 * there is an answer (close it to forget the matter), or -1 with errno. */
int resolve_start(const struct endpoint *endpoint);

/* Takes the answer, and closes the descriptor. Returns 0 with *addresses filled, or -1 with *cause.
 */
int resolve_finish(int fd, struct addresses *addresses, const char **cause);
