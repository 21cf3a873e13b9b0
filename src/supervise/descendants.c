/* Reads all of /proc, since a descendant can leave the process group and the session. */
#include "supervise/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis/local_server.h"
#include "supervise/proc_stat.h"

/* For how many generations of processes that end at once SIGKILL is repeated. */
#define FLEETING_PASSES 100

struct process {
	pid_t pid;
	struct proc_stat stat;
	bool below; /* a descendant of the root */
};

struct processes {
	struct process *list;
	size_t count;
	size_t room;
};

static int add(struct processes *all, struct process process)
{
	if (all->count == all->room) {
		size_t room = all->room ? all->room * 2 : 256;
		struct process *list = realloc(all->list, room * sizeof(*list));

		if (!list)
			return -1;
		all->list = list;
		all->room = room;
	}
	all->list[all->count++] = process;
	return 0;
}

static int read_processes(struct processes *all)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int result = 0;

	if (!dir)
		return -1;
	while (result == 0 && (entry = readdir(dir))) {
		struct process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};

		if (process.pid > 0 && proc_stat_read(process.pid, &process.stat) == 0)
			result = add(all, process);
	}
	closedir(dir);
	return result == 0 && all->count > 0 ? 0 : -1;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static bool is_below(const struct processes *all, pid_t parent, pid_t root)
{
	const struct process key = {.pid = parent};
	const struct process *found;

	if (parent == root)
		return true;
	found = bsearch(&key, all->list, all->count, sizeof(key), by_pid);
	return found && found->below;
}

/* Children may stand before their parents in the list, so this goes on until nothing changes. */
static void mark(struct processes *all, pid_t root)
{
	bool changed = true;

	if (all->count > 0)
		qsort(all->list, all->count, sizeof(*all->list), by_pid);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *process = &all->list[i];

			if (!process->below && is_below(all, process->stat.parent, root))
				changed = process->below = true;
		}
	}
}

/* Signals and counts the children of this process, also those that have ended: the list may not yet
 * have a process that one of them forked. The caller has reaped all that it could. */
static int signal_children(int proc, int signo, pid_t spare)
{
	char path[48], text[4096];
	ssize_t length;
	int fd, count = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "%d/task/%d/children", (int)getpid(), (int)getpid());
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length < 0 ? 0 : length] = '\0';
	/* a number that no blank follows may be cut off, and is another process then */
	for (char *at = text; (pid = (pid_t)strtol(at, &at, 10)) > 0 && *at == ' ';) {
		if (pid == spare || local_server_is_ours(pid))
			continue;
		if (signo)
			kill(pid, signo);
		count++;
	}
	return count;
}

/* Reading all of /proc misses a process that forks and ends faster. But each generation becomes a
 * child of this process, which is a subreaper, and the list of its children is read quickly. */
static int signal_fleeting(int signo, pid_t spare)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int count = 0;

	if (proc < 0)
		return 0;
	for (int pass = 0; pass < (signo == SIGKILL ? FLEETING_PASSES : 1); pass++) {
		count = signal_children(proc, signo, spare);
		if (count == 0)
			break;
	}
	close(proc);
	return count;
}

int descendants_signal(int signo, pid_t spare)
{
	struct processes all = {0};
	int count = 0;

	if (read_processes(&all) < 0) {
		free(all.list);
		return -1;
	}
	mark(&all, getpid());
	for (size_t i = 0; i < all.count; i++) {
		const struct process *process = &all.list[i];

		if (!process->below || process->stat.state == 'Z' || process->stat.state == 'X' ||
		    process->pid == spare || local_server_is_ours(process->pid))
			continue;
		if (signo == 0 || kill(process->pid, signo) == 0)
			count++;
	}
	free(all.list);
	if (count == 0 || signo == SIGKILL)
		count += signal_fleeting(signo, spare);
	return count;
}
