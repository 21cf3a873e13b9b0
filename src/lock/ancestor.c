/* /proc/PID/stat may be read by all users, unlike the environment of root's processes. */
#include "lock/ancestor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_file.h"

struct process {
	pid_t pid;
	pid_t parent; /* 0: none in this PID namespace */
	uint32_t mark;
	char name[20]; /* of its program, in brackets */
};

/* A PID namespace and the time of the start tell a process from others with its number, here or in
 * another container. Returns false if it cannot be seen. */
static bool look_at(struct process *process, const char *folder)
{
	unsigned long long start;
	char path[40], text[512];
	struct stat space;
	ssize_t length;
	char *name, *end;

	snprintf(path, sizeof(path), "/proc/%s/stat", folder);
	length = read_file(read_file_open(path), text, sizeof(text) - 1);
	if (length <= 0 || stat("/proc/self/ns/pid", &space) < 0)
		return false;
	text[length] = '\0';
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end ||
	    sscanf(end,
		   ") %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%llu",
		   &process->parent, &start) != 2)
		return false;
	end[1] = '\0';
	process->pid = (pid_t)strtol(text, NULL, 10);
	snprintf(process->name, sizeof(process->name), "%s", name);
	process->mark = (uint32_t)((start << 32 ^ space.st_ino) * 0x9e3779b97f4a7c15 >> 32);
	return true;
}

static bool look_at_us(struct process *us)
{
	return look_at(us, "self") && us->pid == getpid();
}

/* Goes from a process to its parent. */
static bool go_up(struct process *process)
{
	char folder[16];

	snprintf(folder, sizeof(folder), "%d", (int)process->parent);
	return process->parent > 0 && look_at(process, folder);
}

uint32_t ancestor_mark(void)
{
	struct process us;

	return look_at_us(&us) ? us.mark : 0;
}

bool ancestor_runs_program(void)
{
	struct process us, above;

	if (!look_at_us(&us))
		return false;
	above = us;
	while (go_up(&above))
		if (strcmp(above.name, us.name) == 0)
			return true;
	return false;
}

bool ancestor_drew(const char *owner)
{
	struct process above;
	char end[24];

	if (!look_at_us(&above))
		return false;
	while (go_up(&above)) {
		const int length =
			snprintf(end, sizeof(end), "%08x:%d", (unsigned)above.mark, (int)above.pid);

		if (strlen(owner) > (size_t)length &&
		    strcmp(owner + strlen(owner) - length, end) == 0)
			return true;
	}
	return false;
}
