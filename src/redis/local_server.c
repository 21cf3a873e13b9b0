/* The server, or the process that is about to become it, holds a flock on "lock" in its folder: so
 * the kernel sees to it that there is one for a folder, and knows when it is gone. It outlives this
 * process, so it inherits nothing else from it: no descriptors, limits, signals, session or
 * environment. */
#include "redis/local_server.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/getent.h"
#include "base/text.h"

#define BASE_PATH ".local/state/fairlock"
#define MACHINE_ID_LENGTH 32
#define FOLDER_NAME_MAX 80

/* The descriptor under which a private server keeps the lock of its folder open. */
#define LOCK_FD 3

/* How to open a file in its folder. */
#define NO_LINK (O_NOFOLLOW | O_NOCTTY)

/* Between two attempts to start a server that ends at once. */
#define START_AGAIN_MS 300
#define LINE_MAX_BYTES 2048 /* Redis cuts its lines at 1,024 */
#define LOG_PATH_CHARACTERS 58
#define LOG_MAX_BYTES 262144

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

/* ---- Finding the folder ---- */

static bool read_machine_id(const char *path, char *id)
{
	const ssize_t length = read_file(path, id, MACHINE_ID_LENGTH);

	id[MACHINE_ID_LENGTH] = '\0';
	return length == MACHINE_ID_LENGTH &&
	       strspn(id, "0123456789abcdefABCDEF") == MACHINE_ID_LENGTH;
}

/* Each host has its own folder: homes are shared over networks, sockets are not. */
static void folder_name(char name[FOLDER_NAME_MAX])
{
	char host[FOLDER_NAME_MAX - sizeof("host-")] = "";

	if (read_machine_id("/etc/machine-id", name) ||
	    read_machine_id("/var/lib/dbus/machine-id", name))
		return;
	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-')
			*c = '_';
	snprintf(name, FOLDER_NAME_MAX, "host-%s", host);
}

/* Makes the folder if it is not there, and opens it. Those above it may be links. */
static int enter(const char *home)
{
	char name[FOLDER_NAME_MAX], path[PATH_MAX + sizeof(BASE_PATH) + FOLDER_NAME_MAX];
	const char *const names[] = {".local", "state", "fairlock", name};
	size_t length = (size_t)snprintf(path, PATH_MAX, "%s", home);
	int cause = 0, folder;

	folder_name(name);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		length += (size_t)snprintf(path + length, sizeof(path) - length, "/%s", names[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST && !cause)
			cause = errno;
	}
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* a read-only file system says EROFS of a folder that exists, too */
	if (folder < 0 && cause)
		errno = cause;
	return folder;
}

/* Why the folder cannot be used; NULL: it can. */
static const char *fault_of(int folder, char text[64])
{
	struct stat st;

	if (folder < 0 && (errno == ELOOP || errno == ENOTDIR))
		return "a file or link is there instead of a folder";
	if (folder < 0 || fstat(folder, &st) < 0)
		return strerror(errno);
	if (st.st_uid != geteuid())
		return "its folder belongs to another user";
	snprintf(text, 64, "its folder has mode %03o, not 700", (unsigned int)st.st_mode & 0777);
	if ((st.st_mode & 0777) != 0700)
		return text;
	return faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) < 0 ? strerror(errno) : NULL;
}

int local_server_open(struct error *err)
{
	/* not $HOME: cron, sudo and units must come to the same place */
	const char *home = getent_home(geteuid()), *fault;
	char text[64], path[PATH_MAX], remedy[128];
	mode_t mask;
	int folder;

	if (!home || *home != '/')
		return fail(err, STATUS_CONFIG,
			    "cannot find a place for a private server: user %u has no home "
			    "directory; name a server with FAIRLOCK_URL",
			    (unsigned int)geteuid());
	mask = umask(077);
	folder = enter(home);
	fault = fault_of(folder, text);
	umask(mask);
	if (!fault)
		return folder;
	if (folder >= 0)
		close(folder);
	snprintf(path, sizeof(path), "%s/" BASE_PATH, home);
	snprintf(remedy, sizeof(remedy), "%s; mend that, or set FAIRLOCK_URL", fault);
	return fail_about(err, STATUS_CONFIG, "use", path, remedy);
}

int local_server_connect(int folder)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/socket", folder);
	return connect_unix(path);
}

/* ---- Starting the program ---- */

/* Finds a program in a list of folders. A relative one would be another folder for the server. */
static bool find_in(const char *path, const char *name, char program[PATH_MAX])
{
	size_t length;

	for (; *path; path += length + (path[length] == ':')) {
		struct stat st;

		length = strcspn(path, ":");
		if (path[0] == '/' &&
		    snprintf(program, PATH_MAX, "%.*s/%s", (int)length, path, name) < PATH_MAX &&
		    stat(program, &st) == 0 && S_ISREG(st.st_mode) && access(program, X_OK) == 0)
			return true;
	}
	return false;
}

static bool find_program(char program[PATH_MAX])
{
	const char *path = getenv("PATH");

	return (path && find_in(path, "redis-server", program)) ||
	       find_in(EXTRA_PATH, "redis-server", program) ||
	       (path && find_in(path, "valkey-server", program)) ||
	       find_in(EXTRA_PATH, "valkey-server", program);
}

#ifdef __GLIBC__
typedef __rlimit_resource_t resource_type;
#else
typedef int resource_type;
#endif

/* The caller's limits are not meant for a server that outlives it. Where there must be a limit, or
 * the caller may not lift it, the server gets the most that the caller may have. */
static void lift_limits(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	const resource_type types[] = {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_CPU,
				       RLIMIT_FSIZE,  RLIMIT_DATA,  RLIMIT_AS};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (setrlimit(types[i], &none) == 0 || getrlimit(types[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(types[i], &limit);
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

static _Noreturn void become_server(char *program)
{
	char *const argv[] = {program, (char[]){"server.conf"}, NULL};
	char *const environment[] = {(char[]){"PATH=" SYSTEM_PATH}, NULL};

	lift_limits();
	lift_priorities();
	default_signals();
	/* its process id stands in its lock, which is empty yet */
	if (dprintf(LOCK_FD, "%ld\n", (long)getpid()) > 0)
		execve(program, argv, environment);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", program, strerror(errno));
	_exit(STATUS_NOT_EXECUTABLE);
}

static bool write_conf(void)
{
	const ssize_t length = sizeof(server_conf) - 1;
	const int fd = open("server.conf", O_WRONLY | O_CREAT | O_TRUNC | NO_LINK, 0600);
	bool is_written;

	if (fd < 0)
		return false;
	is_written = write(fd, server_conf, (size_t)length) == length;
	close(fd);
	errno = ENOSPC; /* if not */
	return is_written;
}

/* Standard input, output and error, in the server's folder. */
static bool open_files(void)
{
	struct stat st;

	if (open("/dev/null", O_RDWR) != STDIN_FILENO ||
	    open("server.log", O_WRONLY | O_CREAT | O_APPEND | NO_LINK, 0600) != STDOUT_FILENO ||
	    dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || fstat(STDOUT_FILENO, &st) < 0)
		return false;
	return st.st_size <= LOG_MAX_BYTES || ftruncate(STDOUT_FILENO, 0) == 0;
}

/* In a child: takes over the lock and nothing else of this process, which may have any descriptors
 * open or closed, and starts the program. The child's status is 0, or the errno of what failed. */
static _Noreturn void start_program(char *program, int folder, int lock)
{
	pid_t server;

	setsid();
	if (fchdir(folder) < 0 || dup2(lock, LOCK_FD) < 0 || fcntl(LOCK_FD, F_SETFD, 0) < 0)
		_exit(errno);
	close_descriptors_from(0, LOCK_FD - 1);
	close_descriptors_from(LOCK_FD + 1, UINT_MAX);
	if (!open_files() || !write_conf())
		_exit(errno);
	server = fork();
	if (server == 0)
		become_server(program);
	_exit(server < 0 ? errno : 0);
}

/* Runs the server detached: as a child of init, or of a subreaper above us. The process in between
 * ends without SIGCHLD, and only __WALL waits for it: callers may ignore that signal, or wait for
 * children of their own when it comes. Does not wait until the server listens. Returns 0 or an
 * errno. */
static int detach(char *program, int folder, int lock)
{
	sigset_t all, before;
	pid_t between;
	int status;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	between = (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
	if (between == 0)
		start_program(program, folder, lock);
	status = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (between < 0)
		return status;
	while (waitpid(between, &status, __WALL) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int launch(int folder, int lock, struct error *err)
{
	char program[PATH_MAX];
	int status;

	if (!find_program(program))
		return fail(err, STATUS_UNAVAILABLE,
			    "cannot start a private server: neither redis-server nor "
			    "valkey-server is installed; install one, or set FAIRLOCK_URL");
	status = ftruncate(lock, 0) < 0 ? errno : detach(program, folder, lock);
	return status ? fail_about(err, STATUS_OS, "start", program, strerror(status)) : 0;
}

/* A server that cannot live must not be started as often as clients ask. */
static bool started_lately(int lock)
{
	struct stat st;
	int64_t ago_ms;

	if (fstat(lock, &st) < 0 || st.st_size == 0)
		return false;
	ago_ms = wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000 - st.st_mtim.tv_nsec / 1000000;
	return ago_ms >= 0 && ago_ms < START_AGAIN_MS;
}

/* Another process's server may have come up after our caller tried to connect. */
static bool server_listens(int folder)
{
	int fd = local_server_connect(folder);

	if (fd < 0)
		return errno == EAGAIN;
	close(fd);
	return true;
}

int local_server_start(int folder, struct error *err)
{
	const mode_t mask = umask(077);
	const int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | NO_LINK, 0600);
	int result = 0;

	if (lock < 0)
		result = fail(err, STATUS_OS, "cannot open the lock of the private server: %s",
			      strerror(errno));
	else if (flock(lock, LOCK_EX | LOCK_NB) == 0)
		result = server_listens(folder) || started_lately(lock) ? 0
									: launch(folder, lock, err);
	else if (errno != EWOULDBLOCK) /* another process is starting it, or it runs */
		result = fail(err, STATUS_OS, "cannot lock the folder of the private server: %s",
			      strerror(errno));
	if (lock >= 0)
		close(lock);
	umask(mask);
	return result;
}

/* ---- Looking at it ---- */

/* Cuts "PID:ROLE DATE TIME LEVEL " off a line of the server's log. */
static const char *message_of(const char *line)
{
	for (const char *c = line; (c = strchr(c, ' ')); c++)
		if (c[1] && strchr("#*-.", c[1]) && c[2] == ' ')
			return c + 3;
	return line;
}

/* "": there is none. */
static const char *last_line(int folder, char line[LINE_MAX_BYTES])
{
	const int fd = openat(folder, "server.log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *log = fd < 0 ? NULL : fdopen(fd, "r");
	char next[LINE_MAX_BYTES];

	*line = '\0';
	while (log && fgets(next, sizeof(next), log)) {
		next[strcspn(next, "\r\n")] = '\0';
		if (next[strspn(next, " ")])
			strcpy(line, next);
	}
	if (log)
		fclose(log);
	return message_of(line);
}

int local_server_failure(int folder, struct error *err)
{
	char text[LINE_MAX_BYTES], path[PATH_MAX];
	char shown[SHORT_MAX_BYTES], shown_path[4 * LOG_PATH_CHARACTERS + 1];
	const char *line = last_line(folder, text);
	const pid_t holder = local_server_pid(folder);
	const char *home = getent_home(geteuid());

	if (holder && !local_server_is_ours(holder))
		return fail(
			err, STATUS_UNAVAILABLE,
			"cannot start a private server: process %d, perhaps of another host with "
			"this home and machine-id, has locked its folder; set FAIRLOCK_URL",
			(int)holder);
	/* a pattern for shells is shorter than a machine id */
	snprintf(path, sizeof(path), "%s/" BASE_PATH "/*", home ? home : "~");
	return fail(err, STATUS_UNAVAILABLE,
		    "cannot start a private server: %s (see %s/server.log)",
		    shorten(shown, *line ? line : "it does not listen"),
		    shorten_middle(shown_path, LOG_PATH_CHARACTERS, path));
}

static pid_t read_pid(int fd)
{
	char text[16];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	char *end;
	long pid;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	pid = strtol(text, &end, 10);
	return *end == '\n' && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

pid_t local_server_pid(int folder)
{
	int fd = openat(folder, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	pid_t pid = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		pid = read_pid(fd);
	close(fd);
	return pid;
}

/* The lock that it keeps open names it. Its name and its environment do not: it overwrites both. */
bool local_server_is_ours(pid_t pid)
{
	char link_path[48], path[PATH_MAX];
	const char *name;
	ssize_t length;
	int fd;
	bool is_server;

	snprintf(link_path, sizeof(link_path), "/proc/%ld/fd/%d", (long)pid, LOCK_FD);
	length = readlink(link_path, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	name = strrchr(path, '/');
	if (!name || strcmp(name, "/lock") != 0 || !strstr(path, "/" BASE_PATH "/"))
		return false;
	fd = open(link_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) /* we may have no descriptor left: so it is spared */
		return errno == EMFILE || errno == ENFILE;
	is_server = read_pid(fd) == pid;
	close(fd);
	return is_server;
}
