#pragma once

#include <sys/types.h>

/* A process as the kernel shows it in /proc/PID/stat (proc(5)). */
struct proc_stat {
	char state; /* T: stopped, Z or X: ended */
	pid_t parent;
};

/* fork, after which the end of the child sends us this signal: SIGCHLD, or another one, and then
 * it is waited for with __WALL. The child's id is written there (NULL: nowhere) before either goes
 * on. */
pid_t proc_fork(int end_signal, _Atomic pid_t *child);

/* Returns -1 when the process is gone, or nobody may look. */
int proc_stat_read(pid_t pid, struct proc_stat *proc);
