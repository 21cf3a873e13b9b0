/* getent gets nothing from this process but its question, and cannot outlive it. */
#include "base/getent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"

#define TIMEOUT_MS 5000

/* The child leads a process group, so that one signal ends getent and its children. */
static _Noreturn void become(const char *const *words, int output, pid_t parent)
{
	char *const environment[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
	char *const *argv = (char *const *)(uintptr_t)words;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	if (dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0 && setpgid(0, 0) == 0 &&
	    prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
		close_descriptors_from(STDERR_FILENO + 1, UINT_MAX);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execvpe(words[0], argv, environment);
		execve("/usr/bin/getent", argv, environment);
	}
	_exit(127);
}

/* Returns how much it has read. */
static size_t read_until(int fd, int64_t until_ms, char *text, size_t size)
{
	struct pollfd slot = {.fd = fd, .events = POLLIN};
	int64_t left_ms;
	size_t length = 0;
	ssize_t got = 1;

	while (got > 0 && length < size && (left_ms = until_ms - clock_ms()) > 0) {
		if (poll(&slot, 1, (int)left_ms) <= 0)
			continue; /* or it was a signal */
		got = read(fd, text + length, size - length);
		length += got > 0 ? (size_t)got : 0;
	}
	return length;
}

/* Our caller may have reaped it among children of its own. */
static void end(pid_t child)
{
	if (waitpid(child, NULL, WNOHANG) != 0)
		return;
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Runs "getent passwd UID" until it ends, or for some seconds; then it is killed. Fills text with
 * what it has printed, as far as that fits: nothing if there is no getent. */
static void getent(uid_t uid, char *text, size_t size)
{
	char user[16];
	const char *const words[] = {"getent", "passwd", user, NULL};
	const pid_t us = getpid();
	int ends[2];
	pid_t child;

	*text = '\0';
	snprintf(user, sizeof(user), "%u", (unsigned int)uid);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0)
		become(words, ends[1], us);
	close(ends[1]);
	if (child > 0) {
		text[read_until(ends[0], clock_ms() + TIMEOUT_MS, text, size - 1)] = '\0';
		end(child);
	}
	close(ends[0]);
}

/* Returns the entry in a whole line of the password database; NULL: there is none. */
static const struct passwd *read_entry(char *line)
{
	FILE *file = strchr(line, '\n') ? fmemopen(line, strlen(line), "r") : NULL;
	const struct passwd *entry = file ? fgetpwent(file) : NULL;

	if (file)
		fclose(file);
	return entry;
}

static void find_home(uid_t uid, char home[PATH_MAX])
{
	const struct passwd *entry = getpwuid(uid);
	char line[PATH_MAX];

	if (!entry) {
		getent(uid, line, sizeof(line));
		entry = read_entry(line);
	}
	if (!entry || entry->pw_uid != uid ||
	    (size_t)snprintf(home, PATH_MAX, "%s", entry->pw_dir) >= PATH_MAX)
		*home = '\0';
}

const char *getent_home(uid_t uid)
{
	static char home[PATH_MAX];
	static uid_t owner = (uid_t)-1; /* nobody */

	if (owner != uid)
		find_home(uid, home);
	owner = uid;
	return *home ? home : NULL;
}
