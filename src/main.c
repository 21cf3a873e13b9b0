/* Finds the command, merges the settings, runs it, reports, flushes. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/front_words.h"
#include "cli/options.h"
#include "cli/parse_args.h"
#include "cli/settings.h"
#include "commands/program.h"

/* Fills descriptors 0 to 2 if they are closed, so that no socket gets one of them, and then our
 * output. To use such a descriptor fails as if it were closed; for COMMAND it is closed again. */
static int fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode | O_CLOEXEC) != fd)
			return -1;
	}
	return 0;
}

/* words is argv as it was before parse_args moved them. */
static int leave_to_other(struct settings *settings, int argc, char **words, char **argv)
{
	options_restore_url(&settings->options);
	memcpy(argv, words, (size_t)argc * sizeof(*argv));
	return program_other(argc, argv, &settings->server);
}

static int help(const struct command *command, const struct options *options, int argc,
		char **words, char **argv)
{
	options_restore_url(options);
	memcpy(argv, words, (size_t)argc * sizeof(*argv));
	return program_help(command, options, argv);
}

static void tell_server(const struct messenger *messenger, const struct settings *settings)
{
	char where[600];

	settings_where(&settings->options, option_named("url"), where, sizeof(where));
	message_step(messenger, "the server is %s (%s)", settings->server.label,
		     *where ? where : "the default");
}

static int report(struct messenger *messenger, const struct command *command,
		  const struct error *err)
{
	message_syslog(messenger, LOG_ERR, err->text);
	return report_failure(err, command->name);
}

static int run_here(const struct invocation *invocation, const struct settings *settings,
		    const struct command *command)
{
	struct error err;
	int status = STATUS_OK;

	tell_server(invocation->messenger, settings);
	if (command->run(invocation, &status, &err))
		return report(invocation->messenger, command, &err);
	return status;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct settings settings;
	const struct options *options = &settings.options;
	struct messenger messenger;
	struct invocation invocation = {options, &settings.server, &messenger, argc - 2, argv + 2};
	char **words = malloc((size_t)argc * sizeof(*words));
	struct error err;
	bool failed, wants_help;
	int status = STATUS_OK;

	if (!words)
		return STATUS_OS;
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	messenger_init(&messenger);
	settings_init(&settings);
	failed = parse_args(&settings.options, command, &invocation.argc, invocation.argv, &err);
	wants_help = !failed && options_want_help(options);
	if (!failed && !wants_help)
		failed = settings_merge(&settings, command, &err);
	if (wants_help) {
		status = help(command, options, argc, words, argv);
	} else if (!failed && !program_reaches(&settings.server)) {
		status = leave_to_other(&settings, argc, words, argv);
	} else {
		messenger_open(&messenger, options->verbose,
			       options->syslog && command->takes_lock);
		status = failed ? report(&messenger, command, &err)
				: run_here(&invocation, &settings, command);
	}
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

/* Output that was printed may still fail to arrive: only now it is known. */
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
	const struct command *command;

	if (fill_standard_descriptors())
		return STATUS_OS;
	if (argc > 2 && argv[1][0] == '-')
		front_words_move(argc - 1, argv + 1);
	command = argc > 1 ? find_command(argv[1]) : NULL;
	return flush_output(command ? run_command(command, argc, argv)
				    : program_other(argc, argv, NULL));
}
