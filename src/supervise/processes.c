/* Looks through all of /proc, since a descendant can leave the process group and the session. A
 * process that forks can escape one look; one that is stopped cannot fork. So SIGKILL comes when
 * all that a whole look has found was stopped before. */
#include "supervise/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/local_server.h"
#include "supervise/job.h"

/* SIGKILL is repeated after so long; what does not die of it in a hundred rounds takes longer. */
#define KILL_REPEAT_MS 5
#define KILL_PAUSE_MS 100

/* How long processes may be looked for before those that were found are killed. */
#define LOOKING_MS 50
#define REAPED_AT_ONCE 20000

/* When a guard is this late, a timer continues it (WAKE), and then another one ends it (FUSE). A
 * wrapper that goes on then needs most of what is left of the lease. */
#define WAKE_MS 20
#define FUSE_MS 1000
#define FUSE_PART 3
#define FUSE_LEAST_MS (KILL_PAUSE_MS + WAKE_MS)

/* ---- The ground ---- */

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
	return fd >= 0 ||
	       (errno != ENXIO && (tcgetpgrp(0) >= 0 || tcgetpgrp(1) >= 0 || tcgetpgrp(2) >= 0));
}

void ground_look(struct ground *ground)
{
	*ground = (struct ground){.has_terminal = has_terminal(), .reserve = -1};
	ground->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ground->why = find_fault(ground->proc);
	if (!ground->why) {
		ground->reserve = fcntl(ground->proc, F_DUPFD_CLOEXEC, 0);
		if (ground->reserve >= 0)
			return;
		ground->why = strerror(errno);
	}
	close(ground->proc);
	ground->proc = -1;
	/* a process group in the background could not read from its terminal */
	ground->leads_group = !ground->has_terminal;
}

void ground_leave(struct ground *ground)
{
	close(ground->proc);
	close(ground->reserve);
	free(ground->older.list);
}

/* ---- Reading /proc ---- */

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

/* Keeps the descriptor as the new reserve if open_file has given up the old one. */
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

static struct process *find(const struct processes *all, pid_t pid)
{
	const struct process key = {.pid = pid};

	return all->count == 0 ? NULL : bsearch(&key, all->list, all->count, sizeof(key), by_pid);
}

/* Reads what is in /proc of process->pid. Returns -1 if the process is gone, or cannot be seen.
 * Opens, reads and closes a file once: there may be thousands. */
static int read_process(struct ground *ground, struct process *process)
{
	char path[32], text[512], state;
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
		   " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state,
		   &parent, &threads) != 3)
		return -1;
	process->parent = parent;
	process->is_stopped = state == 'T' || state == 't';
	/* a process whose first thread has ended lives on as long as another one */
	process->is_alive = (state != 'Z' && state != 'X') || threads > 1;
	return 0;
}

static int list_numbers(struct ground *ground, struct processes *all)
{
	const int fd = open_file(ground, ".", O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	pid_t pid;
	int result = 0;

	if (!dir) {
		close_file(ground, fd);
		return -1;
	}
	while (result == 0 && (entry = readdir(dir)))
		if ((pid = (pid_t)strtol(entry->d_name, NULL, 10)) > 0)
			result = add(all, pid);
	closedir(dir);
	return result;
}

/* Lists all processes, in place of what was in *all. Returns 0, or -1 if they cannot be listed now.
 * That takes long enough to be stopped more than once, so the waker stays ahead. */
static int list_all(const struct stop *stop, struct processes *all)
{
	struct ground *ground = stop->ground;
	size_t kept = 0;

	all->count = 0;
	if (ground->proc < 0 || list_numbers(ground, all) < 0)
		return -1;
	for (size_t i = 0; i < all->count; i++) {
		signal_timer_set(stop->waker, MAX(stop->kill_ms, clock_ms() + WAKE_MS));
		if (read_process(ground, &all->list[i]) == 0)
			all->list[kept++] = all->list[i];
	}
	all->count = kept;
	sort(all);
	return 0;
}

bool ground_is_below(struct ground *ground, pid_t pid, pid_t root)
{
	struct process process = {.parent = pid};

	while (process.parent != root) {
		process.pid = process.parent;
		if (process.pid <= 1 || read_process(ground, &process) < 0)
			return false;
	}
	return true;
}

/* ---- Children that are not COMMAND's ---- */

/* NULL: it is none, or was reaped. */
static struct process *find_older(const struct ground *ground, pid_t pid)
{
	struct process *found = find(&ground->older, pid);

	return found && found->is_alive ? found : NULL;
}

/* Lists the ids of our children, and nothing else of them, which takes little time. A kernel
 * without CONFIG_PROC_CHILDREN lists none. */
static void list_children(struct ground *ground, struct processes *all)
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

/* ---- Finding ---- */

/* Children of ours that are older are not, and a private server, with its children, is everybody's.
 */
static bool is_below(const struct stop *stop, const struct processes *all,
		     const struct process *process)
{
	const struct process *parent = find(all, process->parent);
	const bool is_child = process->parent == getpid();

	if (is_child ? find_older(stop->ground, process->pid) != NULL
		     : !parent || !parent->is_below)
		return false;
	return !local_server_is_ours(process->pid);
}

/* Marks what is COMMAND's. Children may stand before their parents in the list, so this goes on
 * until nothing changes. */
static void mark(const struct stop *stop, struct processes *all)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *process = &all->list[i];

			if (!process->is_below && is_below(stop, all, process))
				changed = process->is_below = true;
		}
	}
}

/* /proc may hide a child of ours from its own user (hidepid), or was listed before it was there. */
static void add_children(struct ground *ground, struct processes *found)
{
	struct processes children = {0};
	const size_t listed = found->count;

	list_children(ground, &children);
	for (size_t i = 0; i < children.count; i++) {
		const struct processes all = {.list = found->list, .count = listed};

		struct process *known = find(&all, children.list[i].pid);

		if (known) {
			known->parent = getpid(); /* perhaps only since it was read */
		} else if (add(found, children.list[i].pid) == 0) {
			found->list[found->count - 1].parent = getpid();
			found->list[found->count - 1].is_alive = true;
		}
	}
	sort(found);
	free(children.list);
}

/* Finds what is to be stopped. Returns -1 if the processes cannot be listed now. */
static int look(const struct stop *stop, struct processes *found)
{
	size_t kept = 0;

	if (list_all(stop, found) < 0)
		return -1;
	add_children(stop->ground, found);
	mark(stop, found);
	for (size_t i = 0; i < found->count; i++)
		if (found->list[i].is_below && found->list[i].is_alive)
			found->list[kept++] = found->list[i];
	found->count = kept;
	return 0;
}

void ground_note_older(struct ground *ground, pid_t except)
{
	list_children(ground, &ground->older);
	for (size_t i = 0; i < ground->older.count; i++)
		ground->older.list[i].is_alive = ground->older.list[i].pid != except;
}

/* ---- Signals ---- */

static void signal_each(const struct processes *found, int signo)
{
	for (size_t i = 0; i < found->count; i++)
		kill(found->list[i].pid, signo);
}

/* For a ground on which nothing can be found. */
static void signal_blindly(const struct stop *stop, int signo)
{
	if (stop->group)
		kill(-stop->group, signo);
	else if (stop->command)
		kill(stop->command, signo);
}

/* Many processes that fork would leave us little of the processors. The system may refuse this, and
 * musl does not even ask it. */
static void run_before_others(void)
{
	const struct sched_param param = {.sched_priority = 1};

	/* a filter of system calls may end who makes this one */
	if (prctl(PR_GET_SECCOMP) == 0 && syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER)
		syscall(SYS_sched_setscheduler, 0, SCHED_RR | SCHED_RESET_ON_FORK, &param);
}

void stop_begin(struct stop *stop, int signo, int64_t kill_ms)
{
	struct processes found = {0};

	run_before_others();
	stop->kill_ms = kill_ms;
	if (look(stop, &found) == 0) {
		signal_each(&found, signo);
		signal_each(&found, SIGCONT);
	} else {
		signal_blindly(stop, signo);
		signal_blindly(stop, SIGCONT);
	}
	free(found.list);
}

/* ---- SIGKILL ---- */

pid_t stop_reap(struct stop *stop, int *left, int options, int *status)
{
	struct process *older;
	pid_t pid;

	if (--*left < 0) {
		kill(getpid(), SIGCHLD);
		return 0;
	}
	pid = waitpid(-1, status, WNOHANG | options);
	if (pid <= 0)
		return 0;
	if (WIFSTOPPED(*status) || WIFCONTINUED(*status))
		return pid;
	older = find_older(stop->ground, pid);
	if (older)
		older->is_alive = false;
	if (pid == stop->command) {
		stop->shared->ending.wait_status = *status;
		stop->shared->ending.was_stopped = stop->shared->phase == GUARD_STOPPING;
		stop->shared->ending.is_reaped = true;
		stop->command = 0;
	}
	return pid;
}

/* Returns whether all that we may stop had been stopped before, and so cannot have forked since. */
static bool halt(const struct processes *found)
{
	bool were_stopped = true;

	for (size_t i = 0; i < found->count; i++)
		if (!found->list[i].is_stopped && kill(found->list[i].pid, SIGSTOP) == 0)
			were_stopped = false;
	return were_stopped;
}

void stop_kill(struct stop *stop)
{
	const int64_t until_ms = clock_ms() + LOOKING_MS;
	struct processes found = {0};
	int left = REAPED_AT_ONCE, ignored;

	do {
		const int64_t from_ms = clock_ms();
		const int64_t left_ms = stop->shared->deadline_ms - from_ms;
		int64_t fuse_ms = FUSE_MS;

		if (left_ms > 0 && getppid() == stop->wrapper)
			fuse_ms = earliest(MAX(left_ms / FUSE_PART, FUSE_LEAST_MS), FUSE_MS);
		/* a guard that is stopped now goes on, or ends, so that the wrapper goes on */
		stop->shared->repeat_ms = from_ms;
		signal_timer_set(stop->waker, from_ms + WAKE_MS);
		signal_timer_set(stop->fuse, from_ms + fuse_ms);
		while (stop_reap(stop, &left, 0, &ignored))
			;
		if (look(stop, &found) < 0) {
			found.count = 0;
			signal_blindly(stop, SIGKILL);
		}
		if (halt(&found))
			break;
		/* on a single processor they need it to stop, and to die */
		poll(NULL, 0, (int)(clock_ms() - from_ms) + 1);
	} while (clock_ms() < until_ms);
	signal_each(&found, SIGKILL);
	free(found.list);
	stop->rounds++;
	stop->kill_ms = clock_ms() + (stop->rounds < 100 ? KILL_REPEAT_MS : KILL_PAUSE_MS);
}

/* ---- The end ---- */

static bool is_over_blindly(struct stop *stop)
{
	siginfo_t ignored;

	/* a guard that died may have reaped COMMAND, and not have said so */
	if (stop->command &&
	    waitid(P_PID, (id_t)stop->command, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0)
		return false;
	if (stop->group && kill(-stop->group, 0) == 0)
		return false;
	/* once the group is empty, its number may be another's */
	stop->command = stop->group = 0;
	return true;
}

bool stop_is_over(struct stop *stop)
{
	struct processes found = {0};
	bool is_over;

	if (stop->ground->proc < 0)
		return is_over_blindly(stop);
	is_over = look(stop, &found) == 0 && found.count == 0;
	free(found.list);
	return is_over;
}

/* ---- The kernel's help ---- */

void signal_timer_open(struct signal_timer *timer, int signo)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};

	timer->at_ms = NEVER_MS;
	timer->is_there = timer_create(CLOCK_BOOTTIME, &event, &timer->timer) == 0;
}

void signal_timer_set(struct signal_timer *timer, int64_t at_ms)
{
	struct itimerspec when = {0};

	if (!timer || !timer->is_there || at_ms == timer->at_ms)
		return;
	if (at_ms != NEVER_MS) {
		when.it_value.tv_sec = at_ms / 1000;
		when.it_value.tv_nsec = at_ms % 1000 * 1000000;
	}
	timer_settime(timer->timer, TIMER_ABSTIME, &when, NULL);
	timer->at_ms = at_ms;
}

pid_t proc_fork(int end_signal, _Atomic pid_t *child)
{
	const int flags = end_signal | (child ? CLONE_PARENT_SETTID : 0);

	return (pid_t)syscall(SYS_clone, (unsigned long)flags, 0UL, child, 0UL, 0UL);
}
