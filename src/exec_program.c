/* Executes one of the other programs in the place of this one: from the same folder, or from
 * libexec. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shorten.h"
#include "commands/program.h"

static void try_folder(const char *folder, const char *path, const char *name, char **argv)
{
	char program[PATH_MAX];

	if ((size_t)snprintf(program, sizeof(program), "%s/%s%s", folder, path, name) <
	    sizeof(program))
		execv(program, argv);
}

/* Of the folder in a message. */
#define FOLDER_CHARACTERS 60

int program_become(const char *name, char **argv)
{
	char self[PATH_MAX] = "", shown[4 * FOLDER_CHARACTERS + 1];
	char *slash;
	struct error err;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		snprintf(self, sizeof(self), "%s/bin/fairlock", FAIRLOCK_PREFIX);
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	try_folder(self, "", name, argv);
	if (errno == ENOENT)
		try_folder(self, "../libexec/", name, argv);
	fail(&err, STATUS_OS, "cannot run %s, which belongs beside %s/fairlock: %s", name,
	     shorten_middle(shown, FOLDER_CHARACTERS, self), strerror(errno));
	return report_failure(&err, NULL);
}
