/* The guard before COMMAND begins: it opens what it needs, makes the process that is to become
 * COMMAND, and waits until the wrapper lets that go. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/deadline_poll.h"
#include "base/signal_fd.h"
#include "supervise/kill_timer.h"
#include "supervise/shared_state.h"

/* The descriptors that the guard gets from the wrapper, and how it goes on. */
struct guard_ends {
	int socket; /* its other end only the wrapper has: its bytes are signals to pass on */
	int start;  /* of a pipe: a byte in it lets COMMAND go */
	pid_t wrapper;
	bool needs_connection; /* the guard cannot go on with the wrapper's */
};

/* The caller fills the first three, and sets loop.timer and signals.fd to -1. */
struct guard_standby {
	const struct job *job;
	struct shared_state *shared;
	const struct guard_ends *ends;
	struct deadline_poll loop;
	struct signal_fd signals;
	struct kill_timer kill_timer;
	bool is_ready;
};

/* Returns when the wrapper has let COMMAND go. Ends the process if the wrapper dies, or the process
 * that is to become COMMAND. */
void guard_standby_run(struct guard_standby *standby);

/* Tries once more what failed before the start. Returns whether there is a process for COMMAND; if
 * not, shared->ending says why. */
bool guard_standby_has_command(struct guard_standby *standby);
