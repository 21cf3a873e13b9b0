/* The commands that fairlock-full and fairlock-tls know: all. Servers with TLS need the latter. A
 * program with redis/tls.c reaches all servers, so it never becomes another one. */
#include "commands/program.h"

#include <stdio.h>
#include <string.h>

#include "base/shorten.h"
#include "cli/command.h"
#include "cli/front_words.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/parse_args.h"
#include "cli/suggest.h"
#include "commands/complete.h"
#include "output/column_help.h"
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

static int print_version(void)
{
	puts("fairlock " FAIRLOCK_VERSION);
	return STATUS_OK;
}

static void print_command_help(const struct command *command)
{
	help_print(command, stdout);
	if (command->table) {
		column_help_names(command->table, stdout);
		putchar('\n');
	}
	help_print_end(command, stdout);
}

int program_help(const struct command *command, const struct options *options, char **argv)
{
	(void)argv;
	if (options->version)
		print_version();
	else if (options->column_help)
		column_help_list(command->table, stdout);
	else
		print_command_help(command);
	return STATUS_OK;
}

static int refuse_command(int count, char **words)
{
	char shown[SHORT_MAX_BYTES], cause[CAUSE_MAX_BYTES];
	struct error err;

	/* a URL may have a password */
	if (strstr(words[0], "://"))
		fail(&err, STATUS_USAGE,
		     "cannot run a URL as a command: name the server with -u URL");
	else
		fail(&err, STATUS_USAGE, "cannot run '%s': %s", shorten(shown, words[0]),
		     suggest_command(cause, program_commands, words[0], count > 1));
	return report_failure(&err, NULL);
}

/* fairlock help [COMMAND] */
static int print_help(int count, char **words)
{
	const struct command *const *command = program_commands;

	front_words_move(count, words);
	if (count == 0 || words[0][0] == '-' || strcmp(words[0], "help") == 0 ||
	    strcmp(words[0], "version") == 0) {
		help_print_commands(program_commands, stdout);
		return STATUS_OK;
	}
	while (*command && strcmp((*command)->name, words[0]) != 0)
		command++;
	if (!*command)
		return refuse_command(1, words);
	print_command_help(*command);
	return STATUS_OK;
}

/* The words are options, and none is a command; or there are no words. */
static int read_options(int count, char **words)
{
	struct options options;
	struct error err;
	int status = STATUS_OK;

	options_init(&options);
	if (parse_args(&options, &front_command, &count, words, &err)) {
		status = report_failure(&err, NULL);
	} else if (options.help) {
		help_print_commands(program_commands, stdout);
	} else if (options.version) {
		print_version();
	} else {
		fail(&err, STATUS_USAGE,
		     "cannot run fairlock: COMMAND is missing, as in 'fairlock status'");
		status = report_failure(&err, NULL);
	}
	options_free(&options);
	return status;
}

int program_other(int argc, char **argv, const struct server *server)
{
	const char *word = argc > 1 ? argv[1] : "-";

	if (server)
		return program_become("fairlock-tls", argv);
	if (strcmp(word, "--complete") == 0)
		return complete(program_commands, argc - 2, argv + 2)
			       ? STATUS_OK
			       : program_become("fairlock-tls", argv);
	if (word[0] == '-')
		return read_options(argc > 0 ? argc - 1 : 0, argv + 1);
	if (strcmp(word, "help") == 0)
		return print_help(argc - 2, argv + 2);
	if (strcmp(word, "version") == 0)
		return print_version();
	return refuse_command(argc - 1, argv + 1);
}
