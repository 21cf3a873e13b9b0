/* The search goes on after the same errors as in the GNU library, and tells the same one. */
#include "supervise/exec_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin"

/* ---- The search for a name without a slash ---- */

static const char *search_from(void)
{
	const char *path = getenv("PATH");

	return path ? path : DEFAULT_PATH;
}

/* *path is what is left of PATH; NULL: nothing. Writes the next file that the name may mean, or ""
 * for one whose path is too long. Returns false behind the last one. */
static bool search_next(const char **path, const char *name, char file[PATH_MAX])
{
	int length, written;

	if (!*path)
		return false;
	length = (int)strcspn(*path, ":");
	written = snprintf(file, PATH_MAX, "%.*s%s%s", length, *path, length ? "/" : "", name);
	if (written >= PATH_MAX)
		*file = '\0';
	*path = (*path)[length] ? *path + length + 1 : NULL;
	return true;
}

static bool may_be_elsewhere(int cause)
{
	return cause == ENOENT || cause == ENOTDIR || cause == EACCES || cause == ESTALE ||
	       cause == ENODEV || cause == ETIMEDOUT;
}

/* ---- exec ---- */

static void execute_script(char *file, char *const *argv)
{
	size_t count = 1;

	while (argv[0] && argv[count])
		count++;
	char **words = calloc(count + 2, sizeof(*words));

	if (!words)
		return;
	words[0] = (char[]){"sh"};
	words[1] = file;
	memcpy(words + 2, argv + 1, (count - 1) * sizeof(*words));
	execve("/bin/sh", words, environ);
	free(words);
}

static void execute(char *file, char *const *argv)
{
	execve(file, argv, environ);
	if (errno == ENOEXEC)
		execute_script(file, argv);
}

void exec_path(char *const *argv)
{
	const char *path = search_from();
	bool denied = false;
	char file[PATH_MAX];

	errno = ENOENT;
	if (!*argv[0])
		return;
	if (strchr(argv[0], '/')) {
		execute(argv[0], argv);
		return;
	}
	while (search_next(&path, argv[0], file)) {
		if (!*file)
			continue;
		execute(file, argv);
		denied = denied || errno == EACCES;
		if (!may_be_elsewhere(errno))
			return;
	}
	if (denied)
		errno = EACCES;
}

/* ---- Does it wait for a disk? ---- */

/* Of Linux: the path is looked up in memory only (EAGAIN), and so is what is read. */
#define RESOLVE_CACHED 0x20
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* The kernel's struct open_how. */
struct how_to_open {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

static int open_cached(const char *file)
{
	const struct how_to_open how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
					.resolve = RESOLVE_CACHED};

	return (int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
}

/* The kernel reads the beginning before it lets go of the old program. */
static bool is_cached_program(int fd)
{
	char magic[4] = {0};
	const struct iovec into = {.iov_base = magic, .iov_len = sizeof(magic)};

	return syscall(SYS_preadv2, fd, &into, 1, 0L, 0L, RWF_NOWAIT) == (long)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

enum cached {
	CACHED_PROGRAM,
	CACHED_ABSENCE, /* there is no such file */
	CACHED_NOT,
};

static enum cached look_at(const char *file)
{
	const int fd = open_cached(file);
	bool is_program;

	if (fd < 0)
		return errno == ENOENT ? CACHED_ABSENCE : CACHED_NOT;
	is_program = is_cached_program(fd) && access(file, X_OK) == 0;
	close(fd);
	return is_program ? CACHED_PROGRAM : CACHED_NOT;
}

bool exec_path_is_cached(char *const *argv)
{
	const char *path = search_from();
	enum cached cached = CACHED_ABSENCE;
	char file[PATH_MAX];

	if (strchr(argv[0], '/'))
		return look_at(argv[0]) == CACHED_PROGRAM;
	while (cached == CACHED_ABSENCE && search_next(&path, argv[0], file))
		cached = look_at(file);
	return cached == CACHED_PROGRAM;
}
