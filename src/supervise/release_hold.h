#pragma once

#include <stdint.h>

struct hold;
struct messenger;

/* Gives a hold back, waiting until until_ms for the server, and tells how that went. */
void release_hold(struct hold *hold, struct messenger *messenger, int64_t until_ms);
