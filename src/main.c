/* Finds the command, merges the settings, runs it, reports, flushes. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/guess.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "commands/complete.h"
#include "lock/owner.h"
#include "output/table.h"

/* stdio drops what a descriptor does not take at once. So a terminal or a pipe that another program
 * has made non-blocking is opened anew, for us alone; what cannot be, such as a socket, is made
 * blocking. A file takes all. */
static void block_output(void)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		const int flags = fcntl(fd, F_GETFL);
		struct stat status;
		char path[32];
		int ours;

		if (flags < 0 || !(flags & O_NONBLOCK) || fstat(fd, &status) < 0 ||
		    S_ISREG(status.st_mode))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		/* blocking, it would wait for a reader of a pipe that has none */
		ours = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (ours >= 0) {
			dup2(ours, fd);
			close(ours);
		}
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	}
}

/* ---- Help ---- */

/* Prints what --help, --version or -o help asks for. */
static void print_help(const struct command *command, const struct options *options)
{
	if (options->version) {
		puts("fairlock " FAIRLOCK_VERSION);
	} else if (!options->help) {
		column_help_list(command->table, stdout);
	} else if (command == &front_command) {
		help_print_commands(stdout);
	} else {
		help_print(command, stdout);
		if (command->table) {
			column_help_names(command->table, stdout);
			putchar('\n');
		}
		help_print_end(command, stdout);
	}
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
		     guess_command(cause, words[0], count > 1));
	return report_failure(&err, NULL);
}

/* fairlock help [COMMAND] */
static int run_help(int count, char **words)
{
	const struct command *command;

	front_words_move(count, words);
	command = count > 0 ? command_named(words[0]) : NULL;
	if (command)
		print_help(command, &(struct options){.help = true});
	else if (count == 0 || words[0][0] == '-' || strcmp(words[0], "help") == 0 ||
		 strcmp(words[0], "version") == 0)
		help_print_commands(stdout);
	else
		return refuse_command(1, words);
	return STATUS_OK;
}

/* The words begin neither with a command of the list nor with an option. */
static int run_other(int count, char **words)
{
	if (count <= 0) {
		help_print_commands(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(words[0], "--complete") == 0)
		complete(count - 1, words + 1);
	else if (strcmp(words[0], "help") == 0)
		return run_help(count - 1, words + 1);
	else if (strcmp(words[0], "version") == 0)
		print_help(&front_command, &(struct options){.version = true});
	else
		return refuse_command(count, words);
	return STATUS_OK;
}

/* ---- Commands ---- */

static void tell_server(const struct messenger *messenger, const struct settings *settings)
{
	char where[600];

	settings_where(&settings->options, option_named("url"), where, sizeof(where));
	message_step(messenger, "the server is %s (%s)", settings->server.label,
		     *where ? where : "the default");
}

/* Other users and other hosts do not see a lock there: a job that should run once runs once more.
 */
static void tell_default(struct messenger *messenger, const char *lock)
{
	char name[SHORT_MAX_BYTES], user[SHORT_MAX_BYTES], host[SHORT_MAX_BYTES], by[BY_MAX_BYTES];
	char *const no_words[] = {NULL};
	struct owner_process us;

	owner_describe(by, getpid(), no_words, NULL);
	owner_parse(&us, by);
	message(messenger, LOG_WARNING,
		"no url is set, so lock %s is for %s on %s only: set url in /etc/fairlock.conf "
		"('url = local:' if that is meant)",
		shorten_to(name, 20, lock), shorten_to(user, 10, us.user),
		shorten_to(host, 14, us.host));
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct settings settings;
	const struct options *options = &settings.options;
	struct messenger messenger;
	struct invocation invocation = {options, &settings.server, &messenger, argc, argv};
	struct error err;
	int failed, status = STATUS_OK;

	messenger_init(&messenger);
	settings_init(&settings);
	failed = parse_args(&settings.options, command, &invocation.argc, argv, &err);
	if (!failed && options_want_help(options)) {
		block_output();
		print_help(command, options);
		settings_free(&settings);
		return STATUS_OK;
	}
	if (!failed && command == &front_command)
		failed = fail(&err, STATUS_USAGE,
			      "cannot run fairlock: COMMAND is missing, as in 'fairlock status'");
	if (!failed)
		failed = settings_merge(&settings, command, &err);
	if (command != &front_command)
		messenger_open(&messenger, options->verbose,
			       options->syslog && command->takes_lock);
	if (!failed) {
		tell_server(&messenger, &settings);
		if (command->takes_lock && !options->url)
			tell_default(&messenger, argv[0]);
		failed = command->run(&invocation, &status, &err);
	}
	if (failed) {
		message_syslog(&messenger, LOG_ERR, err.text);
		status = report_failure(&err, command == &front_command ? NULL : command->name);
	}
	settings_free(&settings);
	return status;
}

/* ---- Standard descriptors ---- */

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
	static char output[1 << 16]; /* so that flush_output writes most, and sees why that fails */
	const struct command *command;

	signal_fd_outlive_full_files();
	if (fill_standard_descriptors()) {
		complain("cannot open /dev/null: %s", strerror(errno));
		return STATUS_OS;
	}
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (argc > 2 && argv[1][0] == '-')
		front_words_move(argc - 1, argv + 1);
	command = argc > 1 ? command_named(argv[1]) : NULL;
	if (!command || !command->runs_words) /* COMMAND gets the descriptors as they are */
		block_output();
	if (command)
		return flush_output(run_command(command, argc - 2, argv + 2));
	if (argc > 1 && argv[1][0] == '-' && strcmp(argv[1], "--complete") != 0)
		return flush_output(run_command(&front_command, argc - 1, argv + 1));
	return flush_output(run_other(argc - 1, argv + 1));
}
