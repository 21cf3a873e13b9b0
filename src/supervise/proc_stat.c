/* Opens, reads and closes a file of /proc once: there may be thousands. Forks by clone(2). */
#include "supervise/proc_stat.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t proc_fork(int end_signal, _Atomic pid_t *child)
{
	const int flags = end_signal | (child ? CLONE_PARENT_SETTID : 0);

	return (pid_t)syscall(SYS_clone, (unsigned long)flags, 0UL, child, 0UL, 0UL);
}

int proc_stat_read(pid_t pid, struct proc_stat *proc)
{
	char path[32], text[512];
	const char *behind_name;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return -1;
	text[length] = '\0';
	/* the name may contain anything, also ")" */
	behind_name = strrchr(text, ')');
	return behind_name && sscanf(behind_name + 1, " %c %d", &proc->state, &proc->parent) == 2
		       ? 0
		       : -1;
}
