/* The search goes on after the same errors as in the GNU library, and tells the same one. */
#include "supervise/exec_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PATH "/bin:/usr/bin"

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

static bool may_be_elsewhere(int cause)
{
	return cause == ENOENT || cause == ENOTDIR || cause == EACCES || cause == ESTALE ||
	       cause == ENODEV || cause == ETIMEDOUT;
}

void exec_path(char *const *argv)
{
	const char *path = getenv("PATH");
	bool denied = false;
	char file[PATH_MAX];

	errno = ENOENT;
	if (!*argv[0])
		return;
	if (strchr(argv[0], '/')) {
		execute(argv[0], argv);
		return;
	}
	for (path = path ? path : DEFAULT_PATH;; path++) {
		int length = (int)strcspn(path, ":");
		int written = snprintf(file, sizeof(file), "%.*s%s%s", length, path,
				       length ? "/" : "", argv[0]);

		if (written < (int)sizeof(file)) {
			execute(file, argv);
			denied = denied || errno == EACCES;
			if (!may_be_elsewhere(errno))
				return;
		}
		path += length;
		if (!*path)
			break;
	}
	if (denied)
		errno = EACCES;
}
