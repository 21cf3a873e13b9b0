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

int program_become(const char *name, char **argv)
{
	char self[PATH_MAX] = "", shown[SHORT_MAX_BYTES];
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
	     shorten_middle(shown, SHORT_CHARACTERS, self), strerror(errno));
	return report_failure(&err, NULL);
}
