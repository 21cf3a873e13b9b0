/* Opens, reads and closes a file of /proc once: there may be thousands. */
#include "supervise/ground.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- What there is ---- */

/* In a /proc of another PID namespace our numbers are those of strangers. */
static const char *find_fault(int proc)
{
	char self[24] = "", number[24];

	if (proc < 0)
		return errno == ENOENT ? "there is no /proc" : strerror(errno);
	if (readlinkat(proc, "self", self, sizeof(self) - 1) < 0)
		return "there is no /proc of this PID namespace";
	snprintf(number, sizeof(number), "%d", (int)getpid());
	return strcmp(self, number) == 0 ? NULL : "/proc is not this PID namespace's";
}

static bool has_terminal(void)
{
	const int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != ENXIO && (tcgetpgrp(0) >= 0 || tcgetpgrp(1) >= 0));
}

void ground_look(struct ground *ground)
{
	*ground = (struct ground){
		.session = getsid(0), .has_terminal = has_terminal(), .reserve = -1};
	ground->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ground->why = find_fault(ground->proc);
	if (!ground->why) {
		ground->reserve = fcntl(ground->proc, F_DUPFD_CLOEXEC, 0);
		if (ground->reserve >= 0)
			return;
		ground->why = strerror(errno);
	}
	if (ground->proc >= 0)
		close(ground->proc);
	ground->proc = -1;
	/* a process group in the background could not read from its terminal */
	ground->leads_group = !ground->has_terminal;
}

void ground_leave(struct ground *ground)
{
	if (ground->proc >= 0)
		close(ground->proc);
	if (ground->reserve >= 0)
		close(ground->reserve);
	free(ground->older.list);
}

/* ---- Reading ---- */

static int open_file(struct ground *ground, const char *path, int flags)
{
	int fd = openat(ground->proc, path, flags | O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE) && ground->reserve >= 0) {
		close(ground->reserve);
		ground->reserve = -1;
		fd = openat(ground->proc, path, flags | O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

/* What was opened with the reserve is the next reserve. */
static void close_file(struct ground *ground, int fd)
{
	if (ground->reserve < 0)
		ground->reserve = fd;
	else
		close(fd);
}

static int add(struct processes *all, pid_t pid)
{
	if (all->count == all->room) {
		size_t room = all->room ? all->room * 2 : 256;
		struct process *list = realloc(all->list, room * sizeof(*list));

		if (!list)
			return -1;
		all->list = list;
		all->room = room;
	}
	all->list[all->count++] = (struct process){.pid = pid};
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static void sort(const struct processes *all)
{
	if (all->count > 0)
		qsort(all->list, all->count, sizeof(*all->list), by_pid);
}

struct process *ground_find(const struct processes *all, pid_t pid)
{
	const struct process key = {.pid = pid};

	return all->count == 0 ? NULL : bsearch(&key, all->list, all->count, sizeof(key), by_pid);
}

/* Reads those whose ids were added, and drops those that are gone. */
static void read_all(struct ground *ground, struct processes *all, int64_t until_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->count && clock_ms() < until_ms; i++)
		if (ground_read(ground, &all->list[i]) == 0)
			all->list[kept++] = all->list[i];
	all->count = kept;
}

static int list_numbers(struct ground *ground, struct processes *all)
{
	const int fd = open_file(ground, ".", O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	pid_t pid;
	int result = 0;

	if (!dir) {
		if (fd >= 0)
			close_file(ground, fd);
		return -1;
	}
	while (result == 0 && (entry = readdir(dir)))
		if ((pid = (pid_t)strtol(entry->d_name, NULL, 10)) > 0)
			result = add(all, pid);
	closedir(dir);
	return result;
}

int ground_list(struct ground *ground, struct processes *all, int64_t until_ms)
{
	all->count = 0;
	if (ground->proc < 0 || list_numbers(ground, all) < 0)
		return -1;
	read_all(ground, all, until_ms);
	sort(all);
	return 0;
}

void ground_list_children(struct ground *ground, struct processes *all)
{
	char path[48], text[4096];
	ssize_t length;
	pid_t pid = 0;
	int fd;

	all->count = 0;
	snprintf(path, sizeof(path), "self/task/%d/children", (int)getpid());
	fd = open_file(ground, path, 0);
	if (fd < 0)
		return;
	while ((length = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < length; i++)
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
			} else {
				(void)!add(all, pid);
				pid = 0;
			}
	close_file(ground, fd);
	sort(all);
}

int ground_read(struct ground *ground, struct process *process)
{
	char path[32], text[512];
	const char *behind_name;
	ssize_t length;
	int fd, parent, threads;

	snprintf(path, sizeof(path), "%d/stat", (int)process->pid);
	fd = open_file(ground, path, 0);
	if (fd < 0)
		return -1;
	length = read(fd, text, sizeof(text) - 1);
	close_file(ground, fd);
	if (length <= 0)
		return -1;
	text[length] = '\0';
	/* the name may contain anything, also ")" */
	behind_name = strrchr(text, ')');
	if (!behind_name ||
	    sscanf(behind_name + 1,
		   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
		   &process->state, &parent, &threads) != 3)
		return -1;
	process->parent = parent;
	/* a process whose first thread has ended lives on as long as another one */
	process->is_alive = (process->state != 'Z' && process->state != 'X') || threads > 1;
	return 0;
}

bool ground_is_below(struct ground *ground, pid_t pid, pid_t root)
{
	struct process process = {.parent = pid};

	while (process.parent != root) {
		process.pid = process.parent;
		if (process.pid <= 1 || ground_read(ground, &process) < 0)
			return false;
	}
	return true;
}

/* ---- Children that are not COMMAND's ---- */

void ground_note_older(struct ground *ground)
{
	siginfo_t ignored;
	size_t kept = 0;

	ground->older.count = 0;
	if (ground->proc < 0 || waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) < 0)
		return; /* most often there are none */
	(void)!ground_list(ground, &ground->older, NEVER_MS);
	for (size_t i = 0; i < ground->older.count; i++)
		if (ground->older.list[i].parent == getpid())
			ground->older.list[kept++] = ground->older.list[i];
	ground->older.count = kept;
}

bool ground_is_older(const struct ground *ground, pid_t pid)
{
	const struct process *found = ground_find(&ground->older, pid);

	return found && found->is_alive;
}

void ground_forget_older(struct ground *ground, pid_t pid)
{
	struct process *found = ground_find(&ground->older, pid);

	if (found)
		found->is_alive = false;
}

/* ---- clone(2) ---- */

pid_t proc_fork(int end_signal, _Atomic pid_t *child)
{
	const int flags = end_signal | (child ? CLONE_PARENT_SETTID : 0);

	return (pid_t)syscall(SYS_clone, (unsigned long)flags, 0UL, child, 0UL, 0UL);
}
