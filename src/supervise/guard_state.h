/* The state of a guard, for the files guard*.c. Others use guard.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline_poll.h"
#include "base/signal_fd.h"
#include "supervise/shared_state.h"
#include "supervise/signal_timer.h"
#include "supervise/stop.h"

/* The things that the guard gets from the wrapper. */
struct guard_ends {
	int socket; /* each byte is a signal to pass on, or 0; only the wrapper has the other end */
	pid_t wrapper;
	bool needs_connection; /* the guard cannot go on with those of the wrapper */
};

struct guard {
	const struct job *job;
	struct shared_state *shared;
	const struct guard_ends *ends;
	int socket; /* of ends; -1 when the wrapper is gone */
	struct deadline_poll loop;
	struct signal_fd signals;
	struct signal_timer waker; /* SIGCONT, for a guard that is stopped when it has work to do */
	struct signal_timer fuse;  /* SIGKILL, for one that waits for an exec that does not come */
	bool is_quick;             /* COMMAND's exec will be: see guard_command.h */
	int64_t max_ms;            /* when --max-hold is over */
	struct stop stop;          /* its command: 0 when it does not run */
};
