/* fairlock release --stop: asks the holders to stop, and waits until they have given the lock back.
 */
#pragma once

#include "lock/owner.h"

struct error;
struct options;
struct owner_call;

/* Writes which hold --owner or --slot means, as the release script wants it. Returns text. */
const char *release_only(char text[OWNER_MAX_BYTES], const struct options *options);

/* Closes the client of the call. */
int release_stop(struct owner_call *call, int *status, struct error *err);
