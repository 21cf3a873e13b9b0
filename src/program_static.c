/* The static fairlock knows the commands and the servers that most jobs need. */
#include "commands/program.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "redis/server_url.h"

const struct command *const program_commands[] = {
	&wrap_command, &acquire_command, &renew_command, &release_command, NULL,
};

/* musl looks in /etc/passwd only. The user may stand in another database. */
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

	/* the user's configuration file was not looked for */
	if (!(home && *home) && !knows_user(getuid()))
		return false;
	if (server->tls)
		return false;
	switch (server->kind) {
	case SERVER_LOCAL:
		return knows_user(geteuid());
	case SERVER_UNIX:
		return true;
	case SERVER_TCP:
	case SERVER_SENTINEL:
		for (size_t i = 0; i < server->seed_count; i++)
			if (!is_found_without_names(server->seeds[i].host))
				return false;
		return true;
	}
	return false;
}

int program_help(const struct command *command, const struct options *options, char **argv)
{
	(void)command;
	(void)options;
	return program_become("fairlock-full", argv);
}

int program_other(int argc, char **argv, const struct server *server)
{
	(void)argc;
	return program_become(server && server->tls ? "fairlock-tls" : "fairlock-full", argv);
}
