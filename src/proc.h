#ifndef FAIRLOCK_PROC_H
#define FAIRLOCK_PROC_H

#include <sys/types.h>

/* What the kernel says of a process (proc(5)). */
struct proc {
	char state; /* T: stopped, Z or X: ended */
	pid_t parent;
};

/* Returns -1 when the process is gone, or nobody may look. */
int proc_read(pid_t pid, struct proc *proc);

#endif
