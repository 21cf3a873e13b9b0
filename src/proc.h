#ifndef FAIRLOCK_PROC_H
#define FAIRLOCK_PROC_H

#include <sys/types.h>

/* What the kernel says of a process (proc(5)). */
struct proc {
	char state; /* T: stopped, Z or X: ended */
	pid_t parent;
};

/* Returns a descriptor of what there is to read of a process, the caller's, or -1. */
int proc_open(pid_t pid);

/* Reads how it is now. Returns -1 when it is gone, or nobody may look. */
int proc_read(int fd, struct proc *proc);

#endif
