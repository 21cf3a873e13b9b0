#ifndef FAIRLOCK_KILL_TIMER_H
#define FAIRLOCK_KILL_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Kills this process at a certain time, by a timer of the kernel. Only that reaches a process that
 * is stopped. */
struct fuse {
	bool is_there; /* without it, which the system may refuse, nothing happens */
	timer_t timer;
	int64_t at_ms;
};

void fuse_open(struct fuse *fuse);

/* Sets the time by clock_ms(), in the place of the one before; NEVER_MS: none. */
void fuse_set(struct fuse *fuse, int64_t at_ms);

#endif
