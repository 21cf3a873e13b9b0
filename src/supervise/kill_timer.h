/* Kills this process at a set time, even if it is stopped: a timer of the kernel does that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct kill_timer {
	bool is_there; /* the system may refuse it: then nothing happens */
	timer_t timer;
	int64_t at_ms;
};

void kill_timer_open(struct kill_timer *kill_timer);

/* Sets the time by clock_ms(), in place of the one before; NEVER_MS: none. */
void kill_timer_set(struct kill_timer *kill_timer, int64_t at_ms);
