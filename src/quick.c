#include "program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "server.h"

const struct command *const program_commands[] = {
	&wrap_command, &acquire_command, &renew_command, &release_command, NULL,
};

/* musl asks /etc/passwd; there may be others to ask. */
static bool knows_user(uid_t uid)
{
	return getpwuid(uid) != NULL;
}

static bool is_found_without_names(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 ||
	       inet_pton(AF_INET6, host, &address) == 1 || strcmp(host, "localhost") == 0;
}

bool program_reaches(const struct server *server)
{
	const char *home = getenv("HOME");

	/* its configuration file may not have been found */
	if (!(home && *home) && !knows_user(getuid()))
		return false;
	switch (server->kind) {
	case SERVER_LOCAL:
		return knows_user(geteuid());
	case SERVER_UNIX:
		return true;
	case SERVER_TCP:
		for (size_t i = 0; i < server->seed_count; i++)
			if (!is_found_without_names(server->seeds[i].host))
				return false;
		return true;
	}
	return false;
}

/* The full program lies beside this one, or where an installation puts it. */
static void become(const char *folder, const char *path, char **argv)
{
	char program[PATH_MAX];

	if ((size_t)snprintf(program, sizeof(program), "%s/%s", folder, path) < sizeof(program))
		execv(program, argv);
}

int program_other(int argc, char **argv)
{
	char self[PATH_MAX] = "";
	char *slash;
	struct error err;

	(void)argc;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		snprintf(self, sizeof(self), "%s/bin/fairlock", FAIRLOCK_PREFIX);
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	become(self, "fairlock-full", argv);
	if (errno == ENOENT)
		become(self, "../libexec/fairlock-full", argv);
	fail(&err, STATUS_OS, "cannot run fairlock-full, which belongs beside %s/fairlock: %s",
	     self, strerror(errno));
	return report_failure(&err, NULL);
}
