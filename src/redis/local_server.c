/* The server, or the process that is about to become it, holds a flock on "lock" in its folder: so
 * the kernel sees to it that there is one for a folder, and knows when it is gone. */
#include "redis/local_server.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/getent.h"
#include "base/shorten.h"
#include "redis/connect.h"
#include "redis/local_launch.h"

#define BASE_PATH ".local/state/fairlock"
#define MACHINE_ID_LENGTH 32
#define FOLDER_NAME_MAX 80

/* Between two attempts to start a server that ends at once. */
#define START_AGAIN_MS 300
#define LOG_TAIL_BYTES 2048
#define LOG_PATH_CHARACTERS 58

/* ---- Finding the folder ---- */

static bool read_machine_id(const char *path, char *id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t length;

	if (fd < 0)
		return false;
	length = read(fd, id, MACHINE_ID_LENGTH);
	close(fd);
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

static int no_folder(struct error *err, const char *home, const char *cause)
{
	char folder[PATH_MAX], remedy[128];

	snprintf(folder, sizeof(folder), "%s/" BASE_PATH, home);
	snprintf(remedy, sizeof(remedy), "%s; mend that, or set FAIRLOCK_URL", cause);
	return fail_about(err, STATUS_CONFIG, "use", folder, remedy);
}

/* The folders above ours may be links. */
static int enter(int parent, const char *name, int flags)
{
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST) {
		const int cause = errno;

		/* a read-only file system says EROFS of a folder that exists, too */
		if (faccessat(parent, name, F_OK, 0) < 0) {
			errno = cause;
			return -1;
		}
	}
	return openat(parent, name, flags | O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int enter_all(int home, const char *last)
{
	const char *const above[] = {".local", "state", "fairlock"};
	int fd = home;

	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		int next = enter(fd, above[i], 0);

		if (fd != home)
			close(fd);
		if (next < 0)
			return -1;
		fd = next;
	}
	home = enter(fd, last, O_NOFOLLOW);
	close(fd);
	return home;
}

static int check_folder(int folder, const char *home, struct error *err)
{
	char cause[64];
	struct stat st;

	if (fstat(folder, &st) < 0)
		return no_folder(err, home, strerror(errno));
	if (st.st_uid != geteuid())
		return no_folder(err, home, "its folder belongs to another user");
	if ((st.st_mode & 0777) != 0700) {
		snprintf(cause, sizeof(cause), "its folder has mode %03o, not 700",
			 (unsigned int)st.st_mode & 0777);
		return no_folder(err, home, cause);
	}
	if (faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return no_folder(err, home, strerror(errno));
	return 0;
}

static int open_folder(const char *home, struct error *err)
{
	char name[FOLDER_NAME_MAX];
	int home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int folder;

	if (home_fd < 0)
		return no_folder(err, home, strerror(errno));
	folder_name(name);
	folder = enter_all(home_fd, name);
	close(home_fd);
	if (folder < 0 && (errno == ELOOP || errno == ENOTDIR))
		return no_folder(err, home, "a file or link is there instead of a folder");
	if (folder < 0)
		return no_folder(err, home, strerror(errno));
	if (check_folder(folder, home, err) < 0) {
		close(folder);
		return -1;
	}
	return folder;
}

int local_server_open(struct error *err)
{
	/* not $HOME: cron, sudo and units must come to the same place */
	const char *home = getent_home(geteuid());
	mode_t mask;
	int folder;

	if (!home || *home != '/')
		return fail(err, STATUS_CONFIG,
			    "cannot find a place for a private server: user %u has no home "
			    "directory; name a server with FAIRLOCK_URL",
			    (unsigned int)geteuid());
	mask = umask(077);
	folder = open_folder(home, err);
	umask(mask);
	return folder;
}

int local_server_connect(int folder)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/socket", folder);
	return connect_unix(path);
}

/* ---- Starting it ---- */

/* A server that cannot live must not be started as often as clients ask. */
static bool started_lately(int lock)
{
	struct timespec now;
	struct stat st;
	int64_t ms;

	if (fstat(lock, &st) < 0 || st.st_size == 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)(now.tv_sec - st.st_mtim.tv_sec) * 1000 +
	     (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
	return ms >= 0 && ms < START_AGAIN_MS;
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

static int start_unless_taken(int folder, int lock, struct error *err)
{
	if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return 0;
		return fail(err, STATUS_OS, "cannot lock the folder of the private server: %s",
			    strerror(errno));
	}
	if (server_listens(folder) || started_lately(lock))
		return 0;
	return local_launch(folder, lock, err);
}

int local_server_start(int folder, struct error *err)
{
	mode_t mask = umask(077);
	int lock = local_launch_open(folder, "lock", O_RDWR | O_CREAT);
	int result;

	if (lock < 0) {
		result = fail(err, STATUS_OS, "cannot open the lock of the private server: %s",
			      strerror(errno));
	} else {
		result = start_unless_taken(folder, lock, err);
		close(lock);
	}
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

static const char *last_line(int folder, char *text, size_t size)
{
	int fd = openat(folder, "server.log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t start = end < (off_t)size ? 0 : end - (off_t)size + 1;
	ssize_t length = fd < 0 ? 0 : pread(fd, text, size - 1, start);
	char *newline;

	if (fd >= 0)
		close(fd);
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	if (length <= 0)
		return NULL;
	text[length] = '\0';
	newline = strrchr(text, '\n');
	return message_of(newline ? newline + 1 : text);
}

static bool read_link(const char *link_path, char target[PATH_MAX])
{
	const ssize_t length = readlink(link_path, target, PATH_MAX - 1);

	if (length >= 0)
		target[length] = '\0';
	return length >= 0;
}

int local_server_failure(int folder, struct error *err)
{
	char text[LOG_TAIL_BYTES], path[PATH_MAX], link_path[32];
	char shown[SHORT_MAX_BYTES], shown_path[4 * LOG_PATH_CHARACTERS + 1];
	const char *line = last_line(folder, text, sizeof(text));
	const pid_t holder = local_server_pid(folder);
	char *host;

	if (holder && !local_server_is_ours(holder))
		return fail(
			err, STATUS_UNAVAILABLE,
			"cannot start a private server: process %d, perhaps of another host with "
			"this home and machine-id, has locked its folder; set FAIRLOCK_URL",
			(int)holder);
	snprintf(link_path, sizeof(link_path), "/proc/self/fd/%d", folder);
	host = read_link(link_path, path) ? strrchr(path, '/') : NULL;
	if (!host)
		strcpy(path, "its folder");
	else
		strcpy(host, "/*"); /* a pattern for shells is shorter than a machine id */
	return fail(err, STATUS_UNAVAILABLE,
		    "cannot start a private server: %s (see %s/server.log)",
		    shorten(shown, line ? line : "it does not listen"),
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
	int fd;
	bool is_server;

	snprintf(link_path, sizeof(link_path), "/proc/%ld/fd/%d", (long)pid, LAUNCH_LOCK_FD);
	name = read_link(link_path, path) ? strrchr(path, '/') : NULL;
	if (!name || strcmp(name, "/lock") != 0 || !strstr(path, "/" BASE_PATH "/"))
		return false;
	fd = open(link_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) /* we may have no descriptor left: so it is spared */
		return errno == EMFILE || errno == ENFILE;
	is_server = read_pid(fd) == pid;
	close(fd);
	return is_server;
}
