/* Sets an option for each flag that argv_reader.h finds, and checks that the flags go together. */
#include "cli/parse_args.h"

#include <string.h>

#include "base/shorten.h"
#include "cli/argv_reader.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/suggest.h"

/* The value of an option that was given without one. */
static const char *implied(const struct option_row *row)
{
	return option_is_open(row) ? row->fallback : "yes";
}

/* --watch 2 means --watch and NAME 2, but nobody means that. */
static int check_open(const struct arguments *arguments, struct error *err)
{
	const struct option_row *row = arguments->row;
	const char *next = arguments->at < arguments->argc ? arguments->argv[arguments->at] : "";

	if (!option_is_open(row) || arguments->value ||
	    options_set(NULL, row, next, (struct origin){0}, arguments->command->bit))
		return 0;
	return fail(err, STATUS_USAGE,
		    "cannot use option '--%s': its %s stands behind '=', not behind a blank",
		    row->name, row->argument);
}

static int set_flag(struct options *options, const struct arguments *arguments, struct error *err)
{
	const struct option_row *row = arguments->row;
	char *value = arguments->value, cause[VALUE_CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];

	if (check_open(arguments, err))
		return -1;
	if (options_set(options, row, value ? value : implied(row),
			(struct origin){.source = SOURCE_FLAG}, arguments->command->bit)) {
		if (strcmp(arguments->option, "-s") == 0) /* flock's letter for a shared lock */
			return fail(err, STATUS_USAGE,
				    "cannot use option '-s': '%s' is not a signal; for a shared "
				    "lock use --shared",
				    shorten(shown, value));
		return fail(err, STATUS_USAGE, "cannot use option '--%s': %s", row->name,
			    options_refuse(cause, row, value, arguments->command->bit));
	}
	options->column_help = options->columns && strcmp(options->columns, "help") == 0;
	return row->kind == OPTION_URL ? options_take_url(options, value, err) : 0;
}

/* Digits, a colon and a digit, as in 3:00. */
static bool is_clock(const char *word)
{
	const size_t digits = strspn(word, "0123456789");

	return digits > 0 && digits < 3 && word[digits] == ':' && word[digits + 1] >= '0' &&
	       word[digits + 1] <= '9';
}

/* Refuses --since 2026-11-23 03:00, where the shell has made two words of the time. */
static int check_since(const struct options *options, char **operands, int count, struct error *err)
{
	char day[SHORT_MAX_BYTES], clock[SHORT_MAX_BYTES];

	if (!options->since || strchr(options->since, ':') || !strpbrk(options->since, "-y"))
		return 0;
	for (int i = 0; i < count; i++)
		if (is_clock(operands[i]))
			return fail(err, STATUS_USAGE,
				    "cannot use option '--since': quote a time with a blank: "
				    "--since '%s %s'",
				    shorten(day, options->since),
				    shorten_to(clock, 8, operands[i]));
	return 0;
}

static int check_operands(const struct options *options, const struct command *command, int count,
			  struct error *err)
{
	const bool has_words = count > 1, has_text = options->shell_command != NULL;

	if (count < command->least)
		return fail(err, STATUS_USAGE, "cannot run '%s': NAME is missing", command->name);
	if (count > command->most)
		return fail(err, STATUS_USAGE, "cannot run '%s': there is more than one NAME",
			    command->name);
	if (!command->runs_words || has_words != has_text)
		return 0;
	return fail(err, STATUS_USAGE,
		    has_text ? "cannot run '%s': give either COMMAND or --command, not both"
			     : "cannot run '%s': COMMAND is missing",
		    command->name);
}

/* Options that exclude others on the command line. */
static const struct {
	char name[12], excluded[8][20];
} exclusions[] = {
	{"json", {"raw"}},
	{"shared", {"slots"}},
	{"also", {"slots", "shared", "once-per", "once-ok", "supersede"}},
	{"slot", {"owner"}},
	{"once-ok", {"once-per"}},
	{"forget-run", {"force", "owner"}},
	{"skip", {"wait", "conflict-exit-code"}},
	{"supersede", {"no-wait", "skip", "slots", "shared"}},
	{"stop", {"force", "token", "forget-run"}},
	/* The format is fixed. */
	{"prometheus", {"watch", "json", "raw", "noheadings", "output", "quiet", "sort"}},
	/* A screen is for people, and has no end. */
	{"watch", {"json", "raw", "remove"}},
	/* Figures and drawings have no columns, and an end. */
	{"plot", {"stats", "json", "follow", "raw", "noheadings", "output", "sort", "lines"}},
	{"stats", {"follow", "raw", "noheadings", "output", "sort", "lines"}},
	/* Lines that come later cannot stand before those that were printed. */
	{"follow", {"sort"}},
};

static bool is_given(const struct options *options, const char *name)
{
	return options_has(options, option_named(name));
}

/* Checks combinations of options that no file or variable can set. */
static int check_flags(const struct options *options, const struct command *command,
		       struct error *err)
{
	if (options->token >= 0 && !options->force)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--token': it needs --force, too");
	if (options->wait_ms >= 0 && command->bit == COMMAND_RELEASE && !options->stop)
		return fail(err, STATUS_USAGE, "cannot use option '--wait': it needs --stop, too");
	if (options->slot && !options->force && !options->stop)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--slot': it needs --stop or --force, too");
	if (command->bit == COMMAND_ACQUIRE && is_given(options, "max-hold") && !options->while_pid)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--max-hold': it needs --while-pid, too");
	if (is_given(options, "no-wait") && options->wait_ms > 0)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--wait': it does not go with --no-wait");
	if (is_given(options, "max-hold") && options->max_hold_ms < options->min_hold_ms)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--max-hold': it is less than --min-hold");
	for (size_t i = 0; i < sizeof(exclusions) / sizeof(exclusions[0]); i++) {
		const char *name = exclusions[i].name, (*excluded)[20] = exclusions[i].excluded;

		for (size_t k = 0; is_given(options, name) && k < 8 && *excluded[k]; k++)
			if (is_given(options, excluded[k]))
				return fail(err, STATUS_USAGE,
					    "cannot use option '--%s': it does not go with --%s",
					    excluded[k], name);
	}
	return 0;
}

/* What follows the name of a long option may have a password: --url:redis://... */
static const char *show_option(char shown[SHORT_MAX_BYTES], const struct arguments *arguments)
{
	return arguments->option[1] == '-' ? shorten_word(shown, arguments->option)
					   : shorten(shown, arguments->option);
}

int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err)
{
	struct arguments arguments;
	char cause[CAUSE_MAX_BYTES], shown[SHORT_MAX_BYTES];
	int count = 0;

	arguments_init(&arguments, command, *argc, argv);
	for (;;) {
		const enum argument next = arguments_next(&arguments);

		switch (next) {
		case ARGUMENT_OPTION:
			if (set_flag(options, &arguments, err))
				return -1;
			if (options_want_help(options))
				return 0;
			break;
		case ARGUMENT_OPERAND:
			argv[count++] = arguments.value;
			break;
		case ARGUMENT_COMMAND:
			while (arguments.at < *argc)
				argv[count++] = argv[arguments.at++];
			break;
		case ARGUMENT_UNKNOWN:
		case ARGUMENT_AMBIGUOUS:
			suggest_option(cause, &arguments, next == ARGUMENT_AMBIGUOUS);
			return fail(err, STATUS_USAGE, "cannot use option '%s': %s",
				    show_option(shown, &arguments), cause);
		case ARGUMENT_NEEDS_VALUE:
			return fail(err, STATUS_USAGE, "cannot use option '%s': its %s is missing",
				    shorten(shown, arguments.option), arguments.row->argument);
		case ARGUMENT_MISTAKE:
			return fail(err, STATUS_USAGE, "cannot use option '%s': %s",
				    shorten(shown, arguments.option), arguments.mistake);
		case ARGUMENT_END:
			argv[count] = NULL;
			*argc = count;
			if (check_since(options, argv, count, err) ||
			    check_operands(options, command, count, err))
				return -1;
			return check_flags(options, command, err);
		}
	}
}
