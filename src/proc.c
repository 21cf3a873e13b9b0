#include "proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int proc_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int proc_read(int fd, struct proc *proc)
{
	char text[512];
	const ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	const char *behind_name;

	if (length <= 0)
		return -1;
	text[length] = '\0';
	/* the name may contain anything, also ")" */
	behind_name = strrchr(text, ')');
	return behind_name && sscanf(behind_name + 1, " %c %d", &proc->state, &proc->parent) == 2
		       ? 0
		       : -1;
}
