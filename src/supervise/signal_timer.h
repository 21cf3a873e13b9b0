/* Sends this process a signal at a set time, and again and again until that is changed, even while
 * the process is stopped: a timer of the kernel does that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct signal_timer {
	bool is_there; /* the system may refuse it: then nothing happens */
	timer_t timer;
	int64_t at_ms;
};

void signal_timer_open(struct signal_timer *timer, int signo);

/* Sets the time by clock_ms(), in place of the one before; NEVER_MS: none. */
void signal_timer_set(struct signal_timer *timer, int64_t at_ms);
