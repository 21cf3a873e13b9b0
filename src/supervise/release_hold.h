#ifndef FAIRLOCK_RELEASE_HOLD_H
#define FAIRLOCK_RELEASE_HOLD_H

#include <stdint.h>

struct hold;
struct teller;

/* Gives a hold back, waiting until until_ms for the server, and tells how that went. */
void give_back(struct hold *hold, struct teller *teller, int64_t until_ms);

#endif
