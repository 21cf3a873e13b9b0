/* How COMMAND is stopped, by the guard or, if that is gone, by the wrapper: a first signal and
 * SIGCONT, then SIGKILL, to COMMAND and everything that it started. The guard of a wrap inside
 * COMMAND is killed last, so that it can give its lock back: nothing else does so before the lease
 * ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stop {
	pid_t command;     /* reached even where there is no /proc; 0: not known */
	pid_t spare;       /* a child that is not COMMAND's; 0: none */
	int64_t kill_ms;   /* when SIGKILL is due, by clock_ms(); valid after stop_begin */
	int64_t guards_ms; /* until then it spares such guards; 0: it spares none */
};

/* Sends the first signal, and continues a process that is stopped, so that it can act on it. Sets
 * guards_ms: the caller lowers it if nothing may live so long. */
void stop_begin(struct stop *stop, int signo, int64_t kill_ms);

/* Sends SIGKILL, and sets kill_ms to be repeated soon: a process just forked may have escaped. */
void stop_kill(struct stop *stop);

/* Whether stop_kill would spare guards now. */
bool stop_spares_guards(const struct stop *stop);
