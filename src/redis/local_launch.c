/* The private server outlives this process, so it inherits nothing from it: no descriptors, limits,
 * signals, session or environment. */
#include "redis/local_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/close_range.h"

#define LOG_MAX_BYTES 262144

/* Our descriptors stay above those that the server gets. */
#define OURS_MIN_FD 10

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define EXTRA_PATH SYSTEM_PATH ":/opt/redis/bin:/opt/valkey/bin:/opt/redis-stack/bin"

/* The folder is the server's working directory, so paths are relative: no path of a home has to be
 * quoted here, and a socket's 108 bytes do not matter. */
static const char server_conf[] = "# Written by fairlock whenever it starts this server.\n"
				  "port 0\n"
				  "unixsocket socket\n"
				  "unixsocketperm 700\n"
				  "daemonize no\n"
				  "supervised no\n"
				  "logfile \"\"\n"
				  "always-show-logo no\n"
				  "databases 16\n"
				  "maxmemory-policy noeviction\n"
				  "save \"\"\n"
				  "appendonly yes\n"
				  /* everysec holds writes back behind a slow disk; no loses
				   * nothing when only the server dies */
				  "appendfsync no\n";

/* ---- Finding the program ---- */

static bool find_in(const char *path, const char *name, char program[PATH_MAX])
{
	while (*path) {
		size_t length = strcspn(path, ":");
		int written = snprintf(program, PATH_MAX, "%.*s/%s", (int)length, path, name);
		struct stat st;

		/* in another folder, a relative entry would mean another file */
		if (path[0] == '/' && written < PATH_MAX && stat(program, &st) == 0 &&
		    S_ISREG(st.st_mode) && access(program, X_OK) == 0)
			return true;
		path += length;
		path += *path == ':';
	}
	return false;
}

static bool find_program(char program[PATH_MAX])
{
	const char *const names[] = {"redis-server", "valkey-server"};
	const char *path = getenv("PATH");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((path && find_in(path, names[i], program)) ||
		    find_in(EXTRA_PATH, names[i], program))
			return true;
	return false;
}

/* ---- Starting it ---- */

/* The words of the private server's command line; the descriptors are at least OURS_MIN_FD. */
struct start {
	const char *program;
	int folder;
	int lock;
	int log;
	int null;
};

#ifdef __GLIBC__
typedef __rlimit_resource_t resource_type;
#else
typedef int resource_type;
#endif

/* The caller's limits are not meant for a server that outlives it. */
static void lift_limits(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	const resource_type unlimited[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS};
	const resource_type as_allowed[] = {RLIMIT_CPU, RLIMIT_FSIZE,  RLIMIT_DATA,
					    RLIMIT_AS,  RLIMIT_NOFILE, RLIMIT_NPROC};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++)
		setrlimit(unlimited[i], &none);
	for (size_t i = 0; i < sizeof(as_allowed) / sizeof(as_allowed[0]); i++) {
		if (getrlimit(as_allowed[i], &limit) == 0) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(as_allowed[i], &limit);
		}
	}
}

/* The same holds for the caller's processors and priorities; only root may raise some of them. */
static void lift_priorities(void)
{
	unsigned char all[8192 / CHAR_BIT]; /* the kernel leaves out those that there are not */
	const struct sched_param none = {0};
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	memset(all, 0xff, sizeof(all));
	syscall(SYS_sched_setaffinity, 0, sizeof(all), all);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
	syscall(SYS_ioprio_set, 1, 0, 0); /* of this process: no class, so that of its nice value */
	setpriority(PRIO_PROCESS, 0, 0);
	(void)!write(fd, "0", 1);
	close(fd);
}

static void default_signals(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int write_pid(int lock)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (pwrite(lock, text, (size_t)length, 0) != length)
		return -1;
	return ftruncate(lock, length);
}

__attribute__((noreturn)) static void become_server(const struct start *start)
{
	char *const argv[] = {(char *)(uintptr_t)start->program, (char[]){"server.conf"}, NULL};
	char *const environment[] = {(char[]){"PATH=" SYSTEM_PATH}, NULL};

	if (dup2(start->null, STDIN_FILENO) >= 0 && dup2(start->log, STDOUT_FILENO) >= 0 &&
	    dup2(start->log, STDERR_FILENO) >= 0 && dup2(start->lock, LAUNCH_LOCK_FD) >= 0 &&
	    fchdir(start->folder) == 0 && write_pid(LAUNCH_LOCK_FD) == 0) {
		close_descriptors_from(LAUNCH_LOCK_FD + 1, UINT_MAX);
		lift_limits();
		lift_priorities();
		umask(077);
		default_signals();
		execve(start->program, argv, environment);
	}
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", start->program, strerror(errno));
	_exit(STATUS_NOT_EXECUTABLE);
}

/* Runs the server detached: as a child of init, or of a subreaper above us. The process in between
 * ends without SIGCHLD, and only __WALL waits for it: callers may ignore that signal, or wait for
 * children of their own when it comes. */
static int detach(const struct start *start, struct error *err)
{
	sigset_t all, before;
	pid_t between;
	int status = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	between = (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
	if (between == 0) {
		pid_t server;

		setsid();
		server = fork();
		if (server == 0)
			become_server(start);
		_exit(server < 0 ? errno : 0);
	}
	if (between < 0)
		status = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (between > 0) {
		while (waitpid(between, &status, __WALL) < 0 && errno == EINTR)
			;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	}
	if (status)
		return fail_about(err, STATUS_OS, "start", start->program, strerror(status));
	return 0;
}

int local_launch_open(int folder, const char *name, int flags)
{
	int low = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	int fd;

	if (low < 0 || low >= OURS_MIN_FD)
		return low;
	fd = fcntl(low, F_DUPFD_CLOEXEC, OURS_MIN_FD);
	close(low);
	return fd;
}

static int write_conf(int folder)
{
	const size_t length = sizeof(server_conf) - 1;
	int fd = local_launch_open(folder, "server.conf.new", O_WRONLY | O_CREAT | O_TRUNC);
	ssize_t written;

	if (fd < 0)
		return -1;
	errno = ENOSPC;
	written = write(fd, server_conf, length);
	close(fd);
	if (written != (ssize_t)length)
		return -1;
	return renameat(folder, "server.conf.new", folder, "server.conf");
}

static int open_log(int folder)
{
	int fd = local_launch_open(folder, "server.log", O_WRONLY | O_CREAT | O_APPEND);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX_BYTES && ftruncate(fd, 0) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int local_launch(int folder, int lock, struct error *err)
{
	char program[PATH_MAX];
	struct start start = {
		.program = program, .folder = -1, .lock = lock, .log = -1, .null = -1};
	int result = -1;

	if (!find_program(program))
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot start a private server: neither redis-server nor "
			    "valkey-server is installed; install one, or set FAIRLOCK_URL");
	start.folder = fcntl(folder, F_DUPFD_CLOEXEC, OURS_MIN_FD);
	start.log = open_log(folder);
	start.null = local_launch_open(AT_FDCWD, "/dev/null", O_RDWR);
	if (start.folder < 0 || start.log < 0 || start.null < 0 || write_conf(folder) < 0 ||
	    ftruncate(lock, 0) < 0)
		fail_about(err, STATUS_OS, "start", program, strerror(errno));
	else
		result = detach(&start, err);
	close(start.folder);
	close(start.log);
	close(start.null);
	return result;
}
