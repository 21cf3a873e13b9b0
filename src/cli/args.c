/* Reads a command line word by word, sets an option for each flag, and checks that the flags go
 * together. */
#include "cli/args.h"

#include <stdio.h>
#include <string.h>

#include "base/shorten.h"
#include "cli/command.h"
#include "cli/guess.h"
#include "cli/options.h"

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv)
{
	*arguments = (struct arguments){.argc = argc, .argv = argv, .command = command};
}

static enum argument refuse_word(struct arguments *arguments, const char *mistake)
{
	arguments->mistake = mistake;
	return ARGUMENT_MISTAKE;
}

static bool is_named(const struct option_row *row, const char *text, size_t length)
{
	return strncmp(row->name, text, length) == 0 && row->name[length] == '\0';
}

/* Finds an option by its letter, or by its name, or a beginning that no other name shares. */
static enum argument find_row(struct arguments *arguments, bool is_letter, const char *text,
			      size_t length)
{
	const struct option_row *row;
	int matches = 0;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		const bool is_exact = !is_letter && is_named(row, text, length);

		if (!option_is_for(row, arguments->command->bit, SOURCE_FLAG)) {
			if (is_exact) /* and no abbreviation, as --password is of --password-file */
				return ARGUMENT_UNKNOWN;
			continue;
		}
		if (is_letter ? row->letter != *text : strncmp(row->name, text, length) != 0)
			continue;
		arguments->row = row;
		if (is_exact)
			return ARGUMENT_OPTION;
		matches++;
	}
	if (matches == 1)
		return ARGUMENT_OPTION;
	return matches ? ARGUMENT_AMBIGUOUS : ARGUMENT_UNKNOWN;
}

/* attached: the value in the option's own word, or NULL. */
static enum argument take_value(struct arguments *arguments, char *attached)
{
	if (!attached && arguments->at < arguments->argc)
		attached = arguments->argv[arguments->at++];
	arguments->value = attached;
	return attached ? ARGUMENT_OPTION : ARGUMENT_NEEDS_VALUE;
}

static enum argument read_long(struct arguments *arguments, char *word)
{
	const size_t length = strcspn(word, "=");
	char *attached = word[length] == '=' ? word + length + 1 : NULL;
	enum argument found;

	snprintf(arguments->option, sizeof(arguments->option), "%.*s", (int)length, word);
	found = find_row(arguments, false, word + 2, length - 2);
	if (found != ARGUMENT_OPTION)
		return found;
	if (*arguments->row->argument && (attached || !option_is_open(arguments->row)))
		return take_value(arguments, attached);
	return attached ? refuse_word(arguments, "it takes no value") : ARGUMENT_OPTION;
}

static enum argument read_letter(struct arguments *arguments, char *letters)
{
	char *rest = letters[1] != '\0' ? letters + 1 : NULL;
	enum argument found;

	snprintf(arguments->option, sizeof(arguments->option), "-%c", letters[0]);
	arguments->bundle = NULL;
	found = find_row(arguments, true, letters, 1);
	if (found != ARGUMENT_OPTION)
		return found;
	if (*arguments->row->argument)
		return take_value(arguments, rest);
	arguments->bundle = rest;
	return ARGUMENT_OPTION;
}

enum argument arguments_next(struct arguments *arguments)
{
	arguments->value = NULL;
	if (arguments->bundle)
		return read_letter(arguments, arguments->bundle);
	if (arguments->at >= arguments->argc)
		return ARGUMENT_END;

	char *word = arguments->argv[arguments->at];
	const bool is_operand = arguments->options_ended || word[0] != '-' || word[1] == '\0';
	const bool is_end = strcmp(word, "--") == 0;

	if (arguments->command->runs_words && arguments->operands == 1 && (is_operand || is_end)) {
		arguments->at += is_end;
		return ARGUMENT_COMMAND;
	}
	arguments->at++;
	if (is_operand) {
		arguments->operands++;
		arguments->value = word;
		return ARGUMENT_OPERAND;
	}
	if (is_end) {
		arguments->options_ended = true;
		return arguments_next(arguments);
	}
	return word[1] == '-' ? read_long(arguments, word) : read_letter(arguments, word + 1);
}

const struct command front_command = {
	.name = "",
	.operands = "",
	.summary = "",
	.bit = COMMAND_FRONT,
	.most = OPERANDS_UNLIMITED,
};

void front_words_move(int count, char **words)
{
	struct arguments arguments;
	enum argument next;
	char *name;

	arguments_init(&arguments, &front_command, count, words);
	do
		next = arguments_next(&arguments);
	while (next == ARGUMENT_OPTION);
	if (next != ARGUMENT_OPERAND || arguments.options_ended)
		return;
	name = arguments.value;
	memmove(words + 1, words, (size_t)(arguments.at - 1) * sizeof(*words));
	words[0] = name;
}

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
