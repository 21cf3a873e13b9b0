/* The state of a guard, for the files guard*.c. Other files use guard.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline_poll.h"
#include "base/signal_fd.h"
#include "lock/hold.h"
#include "redis/connection_trace.h"
#include "supervise/guard.h"
#include "supervise/kill_timer.h"
#include "supervise/stop.h"

struct guard {
	const struct job *job;
	struct shared_state *shared;
	const struct guard_ends *ends;
	int socket; /* of ends; -1 when the wrapper is gone */
	struct deadline_poll loop;
	struct signal_fd signals;
	struct kill_timer kill_timer;
	bool is_ready; /* these are open, and there is a process for COMMAND */
	struct hold hold;
	int64_t max_ms;   /* when --max-hold is over */
	struct stop stop; /* its command: 0 when it does not run */
	bool lost;
	bool killed; /* SIGKILL was sent */
	struct connection_trace steps;
};
