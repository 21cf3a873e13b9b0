/* Finds the command, merges the settings, runs it, reports, flushes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/parse_args.h"
#include "cli/settings.h"
#include "commands/program.h"

/* Fills slots 0 to 2 where nothing is open, so that no socket lands there and gets our output. What
 * goes in fails when it is used, as a closed slot would; COMMAND finds the slot closed again. */
static int fill_standard_slots(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode | O_CLOEXEC) != fd)
			return -1;
	}
	return 0;
}

/* The words as they came: parse_args moves them about. */
static int leave_to_other(struct settings *settings, int argc, char **words, char **argv)
{
	options_restore_url(&settings->options);
	memcpy(argv, words, (size_t)argc * sizeof(*argv));
	return program_other(argc, argv, &settings->server);
}

static void open_teller(struct messenger *messenger, const struct options *options,
			const struct command *command)
{
	messenger_open(messenger, options->verbose, options->syslog && command->takes_lock);
}

static void tell_server(const struct messenger *messenger, const struct settings *settings)
{
	char where[600];

	if (!messenger->verbose)
		return;
	settings_where_url(&settings->options, where, sizeof(where));
	message_step(messenger, "the server is %s (%s)", settings->server.label,
		     *where ? where : "the default");
}

static int refuse(struct messenger *messenger, const struct settings *settings,
		  const struct command *command, const struct error *err)
{
	open_teller(messenger, &settings->options, command);
	message_syslog(messenger, LOG_ERR, err->text);
	return report_failure(err, command->name);
}

static int run_here(const struct invocation *invocation, const struct settings *settings,
		    const struct command *command)
{
	struct error err;
	int status = STATUS_OK;

	open_teller(invocation->messenger, &settings->options, command);
	tell_server(invocation->messenger, settings);
	if (command->run(invocation, &status, &err) == 0)
		return status;
	message_syslog(invocation->messenger, LOG_ERR, err.text);
	return report_failure(&err, command->name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct settings settings;
	struct messenger messenger;
	struct invocation invocation = {&settings.options, &settings.server, &messenger, argc - 2,
					argv + 2};
	char **words = malloc((size_t)argc * sizeof(*words));
	struct error err;
	int status = STATUS_OK;

	if (!words)
		return STATUS_OS;
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	messenger_init(&messenger);
	settings_init(&settings);
	if (parse_args(&settings.options, command, &invocation.argc, invocation.argv, &err))
		status = refuse(&messenger, &settings, command, &err);
	else if (settings.options.help)
		help_print(command, stdout);
	else if (settings_merge(&settings, command, &err))
		status = refuse(&messenger, &settings, command, &err);
	else if (!program_reaches(&settings.server))
		status = leave_to_other(&settings, argc, words, argv);
	else
		status = run_here(&invocation, &settings, command);
	settings_free(&settings);
	free(words);
	return status;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; program_commands[i]; i++) {
		if (strcmp(program_commands[i]->name, name) == 0)
			return program_commands[i];
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;

	return command ? run_command(command, argc, argv) : program_other(argc, argv, NULL);
}

/* Only here can it be told whether all that was printed arrived. */
static int flush_output(int status)
{
	int failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return status;
	complain("cannot write to standard output: %s", strerror(errno ? errno : EIO));
	return STATUS_OS;
}

int main(int argc, char **argv)
{
	if (fill_standard_slots())
		return STATUS_OS;
	return flush_output(run(argc, argv));
}
