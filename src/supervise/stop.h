/* How COMMAND is stopped, by the guard or, if that is gone, by the wrapper: a first signal and
 * SIGCONT, then SIGKILL, to COMMAND and everything that it started, in any process group and
 * session. The process that does it is a child subreaper. A private server is spared. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervise/ground.h"

struct stop {
	struct ground *ground;
	pid_t command; /* 0 when its end was seen */
	pid_t group; /* COMMAND's process group, if the ground is such that it leads one; else 0 */
	/* Between two looks: reaps what has ended, and may note that there is progress. */
	void (*between)(void *context);
	void *context;
	int64_t kill_ms; /* when SIGKILL is due, by clock_ms(); NEVER_MS before stop_begin */
};

/* Reaps the next child of those that `options` means (waitpid(2); WNOHANG is always on). Returns
 * its id, or 0 if there is none. Children may end as fast as they are reaped: after begin_ms this
 * goes on for some time only, and then has SIGCHLD come once more. */
pid_t stop_reap(int64_t begin_ms, int options, int *status);

/* Sends the first signal, and continues a process that is stopped, so that it can act on it. */
void stop_begin(struct stop *stop, int signo, int64_t kill_ms);

/* Sends SIGKILL, and sets kill_ms to be repeated soon, until stop_is_over. */
void stop_kill(struct stop *stop);

/* Whether all are gone, as far as they can be seen. What has ended was reaped. */
bool stop_is_over(struct stop *stop);
