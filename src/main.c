#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "complete.h"
#include "error.h"
#include "options.h"
#include "settings.h"

static const struct command *const commands[] = {
	&wrap_command,   &acquire_command, &renew_command, &release_command,
	&status_command, &queue_command,   NULL,
};

/* Fills slots 0 to 2 where nothing is open, so that no socket lands there and
 * gets our output. What goes in fails when it is used, as a closed slot would;
 * COMMAND finds the slot closed again. */
static int fill_standard_slots(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode | O_CLOEXEC) != fd)
			return -1;
	}
	return 0;
}

/* Tells a failure, and for a mistake in usage where to look. command may be
 * NULL. Returns the exit status. */
static int report(const struct error *err, const struct command *command)
{
	complain("%s", err->text);
	if (err->status == STATUS_USAGE)
		dprintf(STDERR_FILENO, "Try 'fairlock%s%s --help'.\n", command ? " " : "",
			command ? command->name : "");
	return (int)err->status;
}

static void print_help(void)
{
	puts("Usage: fairlock COMMAND [options] [NAME...]\n"
	     "\n"
	     "A fair (first come, first served) lock on Redis or Valkey.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; commands[i]; i++)
		printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n"
	     "Options:\n"
	     "  --help    show this help, or that of a command: fairlock COMMAND --help\n"
	     "  --version show the version\n"
	     "\n"
	     "See fairlock(1).");
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct settings settings;
	struct invocation invocation = {&settings.options, &settings.server, argc, argv};
	struct error err;
	int status = STATUS_OK;

	settings_init(&settings);
	if (options_parse(&settings.options, command, &invocation.argc, argv, &err))
		status = report(&err, command);
	else if (settings.options.help)
		options_help(command, stdout);
	else if (settings_merge(&settings, command, &err) ||
		 command->run(&invocation, &status, &err))
		status = report(&err, command);
	settings_free(&settings);
	return status;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	struct error err;

	if (word == NULL) {
		fail(&err, STATUS_USAGE, "cannot run: COMMAND is missing");
		return report(&err, NULL);
	}
	command = find_command(word);
	if (command)
		return run_command(command, argc - 2, argv + 2);
	if (strcmp(word, "--help") == 0) {
		print_help();
	} else if (strcmp(word, "--version") == 0) {
		puts("fairlock " FAIRLOCK_VERSION);
	} else if (strcmp(word, "--complete") == 0) {
		complete(commands, argc - 2, argv + 2);
	} else {
		fail(&err, STATUS_USAGE, "cannot run '%.100s': there is no such %s", word,
		     word[0] == '-' ? "option" : "command");
		return report(&err, NULL);
	}
	return STATUS_OK;
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
