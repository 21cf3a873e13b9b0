/* The commands that fairlock-full and fairlock-tls know: all. Servers with TLS need the latter. */
#include "commands/program.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "commands/complete.h"
#include "redis/server_url.h"
#include "redis/tls.h"

const struct command *const program_commands[] = {
	&wrap_command,    &acquire_command, &renew_command,
	&release_command, &status_command,  &queue_command,
	&log_command,     &doctor_command,  NULL,
};

bool program_reaches(const struct server *server)
{
	return !server->tls || tls_is_here;
}

static void print_help(void)
{
	puts("Usage: fairlock COMMAND [options] [NAME...]\n"
	     "\n"
	     "A fair (first come, first served) lock on Redis or Valkey.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; program_commands[i]; i++)
		printf("  %-9s %s\n", program_commands[i]->name, program_commands[i]->summary);
	puts("\n"
	     "Options:\n"
	     "  --help    show this help, or that of a command: fairlock COMMAND --help\n"
	     "  --version show the version\n"
	     "\n"
	     "See fairlock(1), and for a command fairlock-COMMAND(1).");
}

int program_other(int argc, char **argv, const struct server *server)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	struct error err;

	if (server)
		return program_become("fairlock-tls", argv);
	if (word == NULL) {
		fail(&err, STATUS_USAGE, "cannot run: COMMAND is missing");
		return report_failure(&err, NULL);
	}
	if (strcmp(word, "--help") == 0) {
		print_help();
	} else if (strcmp(word, "--version") == 0) {
		puts("fairlock " FAIRLOCK_VERSION);
	} else if (strcmp(word, "--complete") == 0) {
		if (!complete(program_commands, argc - 2, argv + 2))
			return program_become("fairlock-tls", argv);
	} else {
		fail(&err, STATUS_USAGE, "cannot run '%.100s': there is no such %s", word,
		     word[0] == '-' ? "option" : "command");
		return report_failure(&err, NULL);
	}
	return STATUS_OK;
}
