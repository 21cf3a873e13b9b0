/* Finds the command, merges the settings, runs it, reports, flushes; prints help. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/args.h"
#include "cli/command.h"
#include "lock/lock.h"
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

/* ---- Help: options in groups, and each group in two columns ---- */

#define HELP_AT 31 /* the column where the texts begin */
#define HELP_WIDTH 79

/* All texts are ASCII. */
static const struct terminal plain;

static void print_row(const struct option_row *row, unsigned bit, FILE *out)
{
	const struct option_words words = option_words(row, bit);
	const char *before = row->is_open ? "[=" : *row->argument ? " " : "";
	char left[48], right[200];

	snprintf(left, sizeof(left), row->letter ? "-%c, --%s%s%s%s" : "%c   --%s%s%s%s",
		 row->letter ? row->letter : ' ', row->name, before, row->argument,
		 row->is_open ? "]" : "");
	snprintf(right, sizeof(right), *words.fallback ? "%s (default: %s)" : "%s", words.help,
		 words.fallback);
	fprintf(out, "  %-*s", HELP_AT - 2, left);
	terminal_wrap(&plain, out, right, HELP_AT,
		      strlen(left) < HELP_AT - 2 ? HELP_AT : HELP_WIDTH, HELP_WIDTH);
}

/* Prints the options of the server, which are the first section, or the others. heading: one for
 * all; NULL: that of each section. */
static void print_options(const struct command *command, bool of_server, const char *heading,
			  FILE *out)
{
	const char *section = NULL, *told = NULL;

	for (const struct option_row *row = option_rows; row->name; row++) {
		if (row->section)
			section = row->section;
		if ((section == option_rows->section) != of_server ||
		    !option_is_for(row, command->bit, SOURCE_FLAG))
			continue;
		if (!told || (!heading && told != section))
			fprintf(out, "\n%s:\n", heading ? heading : section);
		told = section;
		print_row(row, command->bit, out);
	}
}

static void print_column_names(const struct layout *layout)
{
	static const char title[] = "Columns (-o help tells what they are):";
	char names[1000] = "";
	size_t length = 0;

	for (enum column_id id = 0; id < COLUMN_COUNT; id++)
		if (column_name(layout, id))
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   length > 0 ? ", " : "", column_name(layout, id));
	fputs(title, stdout);
	terminal_wrap(&plain, stdout, names, 2, (int)strlen(title), HELP_WIDTH);
	putchar('\n');
}

static void print_command(const struct command *command)
{
	printf("Usage: fairlock %s [options] %s\n\nExamples of how to %s:\n%s", command->name,
	       command->operands, command->summary, command->examples);
	/* only wrap and acquire have enough of them for sections */
	print_options(command, false, command->takes_lock ? NULL : "Options", stdout);
	putchar('\n');
	if (command->table)
		print_column_names(command->table);
	printf("DUR: a number with a unit (ms s m h d w; none: seconds), or a sum: 90, 1h30m.\n"
	       "The server's options: fairlock --help. More: fairlock-%s(1), fairlock(1).\n",
	       command->name);
}

static void print_commands(FILE *out)
{
	fputs("Usage: fairlock COMMAND [options] [NAME...]\n"
	      "\n"
	      "A fair lock on Redis or Valkey: the first to ask is the first to get it.\n"
	      "\n"
	      "Examples:\n"
	      "  fairlock wrap backup ./backup.sh      wait for the lock, then run it\n"
	      "  fairlock wrap -n backup ./backup.sh   exit with 75 if the lock is busy\n"
	      "  fairlock status                       show who holds the locks\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; all_commands[i]; i++)
		fprintf(out, "  %-9s %s\n", all_commands[i]->name, all_commands[i]->summary);
	print_options(&front_command, false, "Options of all commands, before or behind COMMAND",
		      out);
	print_options(&front_command, true, NULL, out);
	fputs("\nThe help of a command: fairlock help COMMAND, or its page fairlock-COMMAND(1).\n"
	      "The version: fairlock version. Servers and variables: fairlock(1).\n",
	      out);
}

/* Prints what --help, --version or -o help asks for. */
static void print_help(const struct command *command, const struct options *options)
{
	if (options->version)
		puts("fairlock " FAIRLOCK_VERSION);
	else if (options->help && command == &front_command)
		print_commands(stdout);
	else if (options->help)
		print_command(command);
	for (enum column_id id = 0; !options->version && !options->help && id < COLUMN_COUNT; id++)
		if (column_name(command->table, id))
			printf("%-11s %s\n", column_name(command->table, id), column_meaning(id));
}

/* ---- Commands ---- */

/* Steps count from the start; the first step tells when that was. */
static void begin_messages(struct messenger *messenger, const struct options *options,
			   const struct command *command)
{
	char now[TIMESTAMP_MAX_BYTES];

	messenger->verbose = options->verbose;
	messenger->syslog = options->syslog && command->takes_lock;
	messenger->pid = getpid();
	if (messenger->verbose)
		message_step(messenger, "fairlock %s, pid %d, %s", FAIRLOCK_VERSION,
			     (int)messenger->pid, timestamp_local(now, wall_ms(), "%F %T %z"));
}

static void tell_server(const struct messenger *messenger, const struct settings *settings)
{
	char where[WHERE_MAX_BYTES];

	options_where(&settings->options, "url", where);
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

/* Mistakes in usage are told before the server is asked anything. */
static int check_names(const struct command *command, const struct invocation *invocation,
		       struct error *err)
{
	const int names = command->runs_words ? 1 : invocation->argc;
	struct lock_keys keys;

	for (int i = 0; i < names; i++)
		if (lock_keys_make(&keys, invocation->argv[i], err) < 0)
			return -1;
	return 0;
}

static int run_command(const struct command *command, const struct invocation *invocation,
		       const struct settings *settings, int *status, struct error *err)
{
	if (check_names(command, invocation, err) < 0)
		return -1;
	tell_server(invocation->messenger, settings);
	if (command->takes_lock && !invocation->options->url)
		tell_default(invocation->messenger, invocation->argv[0]);
	return command->run(invocation, status, err);
}

/* After a mistake in usage it says where to look. Returns the exit status. */
static int report_failure(const struct error *err, const struct command *command)
{
	const bool is_front = command == &front_command;

	complain("%s", err->text);
	if (err->status == STATUS_USAGE)
		fprintf(stderr, "Try 'fairlock%s%s --help'.\n", is_front ? "" : " ",
			is_front ? "" : command->name);
	/* a failure without a status must not look like success */
	return err->status == STATUS_OK ? STATUS_BUG : (int)err->status;
}

static int run_words(int argc, char **argv)
{
	const struct command *command = &front_command;
	struct settings settings;
	const struct options *options = &settings.options;
	struct messenger messenger = {.start_ms = clock_ms()};
	struct invocation invocation = {options, &settings.server, &messenger, argc, argv};
	struct error err;
	int status = STATUS_OK;

	settings_init(&settings);

	int failed = parse_args(&settings.options, &command, &invocation.argc, argv, &err);
	const bool wants_help = !failed && options_want_help(options);

	if (failed || wants_help || !command->runs_words) /* COMMAND gets them as they are */
		block_output();
	if (wants_help) {
		print_help(command, options);
		settings_free(&settings);
		return STATUS_OK;
	}
	if (!failed)
		failed = settings_merge(&settings, command, &err);
	if (command != &front_command)
		begin_messages(&messenger, options, command);
	if (!failed)
		failed = run_command(command, &invocation, &settings, &status, &err);
	if (failed) {
		message_syslog(&messenger, LOG_ERR, err.text);
		status = report_failure(&err, command);
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

/* A handler ends with exec, and is no business of the programs that we start; SIG_IGN would stay.
 */
static void go_on(int signo)
{
	(void)signo;
}

/* A write beyond the limit of `ulimit -f` just fails. */
static void outlive_full_files(void)
{
	if (!signal_fd_ignores(SIGXFSZ))
		signal(SIGXFSZ, go_on);
}

int main(int argc, char **argv)
{
	static char output[1 << 16]; /* so that flush_output writes most, and sees why that fails */

	outlive_full_files();
	if (fill_standard_descriptors()) {
		complain("cannot open /dev/null: %s", strerror(errno));
		return STATUS_OS;
	}
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (argc < 2) {
		block_output();
		print_commands(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "--complete") == 0) {
		block_output();
		complete(argc - 2, argv + 2);
		return flush_output(STATUS_OK);
	}
	return flush_output(run_words(argc - 1, argv + 1));
}
