/* The search goes on after the same errors as in the GNU library, and tells the same one. */
#include "supervise/exec_path.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"

#define DEFAULT_PATH "/bin:/usr/bin"

/* ---- The search ---- */

/* A name with a slash is not searched for. */
static const char *search_from(const char *name)
{
	const char *path = strchr(name, '/') ? "" : getenv("PATH");

	return path ? path : DEFAULT_PATH;
}

/* *path is what is left of PATH; NULL: nothing. Writes the next file that the name may mean, or ""
 * for one whose path is too long. Returns false behind the last one. */
static bool search_next(const char **path, const char *name, char file[PATH_MAX])
{
	int length;

	if (!*path)
		return false;
	length = (int)strcspn(*path, ":");
	if (snprintf(file, PATH_MAX, "%.*s%s%s", length, *path, length ? "/" : "", name) >=
	    PATH_MAX)
		*file = '\0';
	*path = (*path)[length] ? *path + length + 1 : NULL;
	return true;
}

/* ---- exec ---- */

static void execute(char *file, char *const *argv)
{
	size_t count = 1;
	char **words;

	execve(file, argv, environ);
	if (errno != ENOEXEC)
		return;
	while (argv[0] && argv[count])
		count++;
	words = calloc(count + 2, sizeof(*words));
	if (!words)
		return;
	words[0] = (char[]){"sh"};
	words[1] = file;
	memcpy(words + 2, argv + 1, (count - 1) * sizeof(*words));
	execve("/bin/sh", words, environ);
	free(words);
}

void exec_path(char *const *argv)
{
	const char *path = search_from(argv[0]);
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
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ESTALE &&
		    errno != ENODEV && errno != ETIMEDOUT)
			return;
	}
	if (denied)
		errno = EACCES;
}

/* ---- Does it wait for a disk? ---- */

/* Linux looks the path up in memory only, and reads from memory only; else EAGAIN. */
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

enum cached {
	CACHED_PROGRAM,
	CACHED_ABSENCE, /* there is no such file */
	CACHED_NOT,
};

/* The kernel reads the beginning before it lets go of the old program. */
static enum cached look_at(const char *file)
{
	char magic[4] = {0};
	const struct iovec into = {.iov_base = magic, .iov_len = sizeof(magic)};
	const struct how_to_open how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
					.resolve = RESOLVE_CACHED};
	const int fd = (int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
	bool is_program;

	if (fd < 0)
		return errno == ENOENT ? CACHED_ABSENCE : CACHED_NOT;
	is_program =
		syscall(SYS_preadv2, fd, &into, 1, 0L, 0L, RWF_NOWAIT) == (long)sizeof(magic) &&
		memcmp(magic, ELFMAG, SELFMAG) == 0 && access(file, X_OK) == 0;
	close(fd);
	return is_program ? CACHED_PROGRAM : CACHED_NOT;
}

bool exec_path_is_cached(char *const *argv)
{
	const char *path = search_from(argv[0]);
	enum cached cached = CACHED_ABSENCE;
	char file[PATH_MAX];

	while (cached == CACHED_ABSENCE && search_next(&path, argv[0], file))
		cached = look_at(file);
	return cached == CACHED_PROGRAM;
}

/* ---- Why did it fail? ---- */

/* A longer name loses its middle, so that the words behind it stay in the message. */
#define INTERPRETER_CHARACTERS 60

/* Returns the name of what runs a file that begins so, and ends it there; NULL: the file runs by
 * itself. For a program that is the first path in its headers. */
static char *find_interpreter(char *head, ssize_t length)
{
	static char sh[] = "/bin/sh";
	char *name = head + 2 + strspn(head + 2, " \t");

	if (memcmp(head, ELFMAG, SELFMAG) != 0) {
		name[strcspn(name, " \t\n")] = '\0';
		return strncmp(head, "#!", 2) == 0 && *name ? name : sh;
	}
	for (ssize_t i = 1; i < length; i++)
		if (head[i] == '/' && head[i - 1] == '\0' && strchr(head + i + 1, '/'))
			return head + i;
	return NULL;
}

/* Returns false if the program that is to run the file is not the cause. */
static bool blame_interpreter(char why[EXEC_WHY_BYTES], const char *file, int cause)
{
	char head[4096] = "", shown[4 * INTERPRETER_CHARACTERS + 1];
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const ssize_t length = fd < 0 ? 0 : read(fd, head, sizeof(head) - 2);
	const bool is_program = memcmp(head, ELFMAG, SELFMAG) == 0;
	char *name = find_interpreter(head, length), *cr;

	close(fd);
	if (length <= 0 || !name || access(name, X_OK) == 0 || errno != cause)
		return false;
	cr = strchr(name, '\r');
	if (cr)
		strcpy(cr, "\\r");
	snprintf(why, EXEC_WHY_BYTES, "its %s '%s' %s%s", is_program ? "loader" : "interpreter",
		 shorten_middle(shown, INTERPRETER_CHARACTERS, name),
		 cause == ENOENT ? "does not exist" : "cannot be executed",
		 cr ? "; its lines end with CR LF" : "");
	return true;
}

/* Whether it is a word of the shell, VAR=VALUE, or a whole command in one word, and no folder. */
static bool is_for_shell(char *const *argv)
{
	static const char words[] =
		" ! . [[ { alias case cd command eval exec exit export for hash if "
		"read set source trap type ulimit umask unset until wait while ";
	char word[16];

	if (snprintf(word, sizeof(word), " %s ", argv[0]) < (int)sizeof(word) &&
	    strstr(words, word))
		return true;
	if (access(argv[0], F_OK) == 0)
		return false;
	return (strchr(argv[0], '=') && !strchr(argv[0], '/')) ||
	       (!argv[1] && !strchr("./", *argv[0]) && strpbrk(argv[0], " \t;&|<>()`$"));
}

const char *exec_path_why(char why[EXEC_WHY_BYTES], char *const *argv, int cause)
{
	const char *path = search_from(argv[0]);
	char file[PATH_MAX];
	struct stat st;

	while (search_next(&path, argv[0], file))
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return blame_interpreter(why, file, cause) ? why : strerror(cause);
	return is_for_shell(argv) ? "there is no such program; for a shell command, use -c '...'"
				  : strerror(cause);
}
