/* How COMMAND is stopped, by the guard or, if that is gone, by the wrapper: a first signal and
 * SIGCONT, then SIGKILL, to COMMAND and everything that it started. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct stop {
	pid_t command;   /* reached even where there is no /proc; 0: not known */
	pid_t spare;     /* a child that is not COMMAND's; 0: none */
	int64_t kill_ms; /* when SIGKILL is due, by clock_ms(); valid after stop_begin */
};

/* Sends the first signal, and continues a process that is stopped, so that it can act on it. */
void stop_begin(struct stop *stop, int signo, int64_t kill_ms);

/* Sends SIGKILL, and sets kill_ms to be repeated soon: a process just forked may have escaped. */
void stop_kill(struct stop *stop);
