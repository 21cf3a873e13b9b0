#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Kills this process at a certain time, by a timer of the kernel. Only that reaches a process that
 * is stopped. */
struct kill_timer {
	bool is_there; /* without it, which the system may refuse, nothing happens */
	timer_t timer;
	int64_t at_ms;
};

void kill_timer_open(struct kill_timer *kill_timer);

/* Sets the time by clock_ms(), in the place of the one before; NEVER_MS: none. */
void kill_timer_set(struct kill_timer *kill_timer, int64_t at_ms);
