/* Linux's own ways with processes: their state in /proc, and a fork with another exit signal. */
#pragma once

#include <sys/types.h>

/* A process in /proc/PID/stat (proc(5)). */
struct proc_stat {
	char state; /* T: stopped, Z or X: ended */
	pid_t parent;
};

/* Returns -1 if the process is gone, or cannot be looked at. */
int proc_stat_read(pid_t pid, struct proc_stat *proc);

/* fork(2), but the child's end sends this signal; unless that is SIGCHLD, wait for it with __WALL.
 * Writes the child's id to *child (NULL: nowhere) before either process goes on. */
pid_t proc_fork(int end_signal, _Atomic pid_t *child);
