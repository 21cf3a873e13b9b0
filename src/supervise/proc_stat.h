/* Linux's own ways with processes: their state in /proc, and a fork with another exit signal. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A process in /proc/PID/stat (proc(5)). */
struct proc_stat {
	char state; /* T: stopped, Z or X: ended */
	pid_t parent;
	bool is_guard; /* it has called proc_name_guard */
};

/* Returns -1 if the process is gone, or cannot be looked at. */
int proc_stat_read(pid_t pid, struct proc_stat *proc);

/* From now on this process looks after a lock and its COMMAND. A wrap around it knows it by its
 * name in /proc, until it executes a program. A process that it forks has the name, too. */
void proc_name_guard(void);

/* fork(2), but the child's end sends this signal; unless that is SIGCHLD, wait for it with __WALL.
 * Writes the child's id to *child (NULL: nowhere) before either process goes on. */
pid_t proc_fork(int end_signal, _Atomic pid_t *child);
