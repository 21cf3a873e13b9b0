#ifndef FAIRLOCK_PAGES_H
#define FAIRLOCK_PAGES_H

/* Whom fork has left with pages that it shares gets its own of those that it will write to: static
 * data, and the stack that callers have used and callees will. Each would else be copied when it is
 * written to first, which takes 2 to 8 us, and there is more time now than when a lock is granted.
 * Before Linux 5.14 nothing is done. */
void pages_fetch(void);

#endif
