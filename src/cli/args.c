/* Not getopt_long(3): it reads the same words, but its tables, its state, its one answer to three
 * mistakes, and the differences between glibc and musl need more code than this. */
#include "cli/args.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "redis/server.h"

/* ---- Words ---- */

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv)
{
	*arguments = (struct arguments){.argc = argc, .argv = argv, .command = command};
}

/* Finds an option by its letter, or by its name, or a beginning that no other name shares. */
static enum argument find_row(struct arguments *arguments, bool is_letter, const char *text,
			      size_t length)
{
	const struct option_row *row;
	int matches = 0;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		const bool is_for = option_is_for(row, arguments->command->bit, SOURCE_FLAG);

		if (is_letter ? row->letter != *text : strncmp(row->name, text, length) != 0)
			continue;
		if (is_for)
			arguments->row = row;
		matches += is_for;
		if (!is_letter && row->name[length] == '\0') {
			/* no abbreviation of another, as --password is of --password-file */
			matches = is_for;
			break;
		}
	}
	if (matches == 1)
		return ARGUMENT_OPTION;
	guess_option(arguments->cause, arguments, matches > 1);
	return ARGUMENT_MISTAKE;
}

/* attached: the value in the option's own word, or NULL. */
static enum argument take_value(struct arguments *arguments, char *attached)
{
	if (!attached && arguments->at < arguments->argc)
		attached = arguments->argv[arguments->at++];
	arguments->value = attached;
	if (attached)
		return ARGUMENT_OPTION;
	snprintf(arguments->cause, sizeof(arguments->cause), "its %s is missing",
		 arguments->row->argument);
	return ARGUMENT_NEEDS_VALUE;
}

static enum argument read_long(struct arguments *arguments, char *word)
{
	const size_t length = strcspn(word, "=");
	char *attached = word[length] == '=' ? word + length + 1 : NULL;

	snprintf(arguments->option, sizeof(arguments->option), "%.*s", (int)length, word);
	if (find_row(arguments, false, word + 2, length - 2) == ARGUMENT_MISTAKE)
		return ARGUMENT_MISTAKE;
	if (*arguments->row->argument && (attached || !option_is_open(arguments->row)))
		return take_value(arguments, attached);
	strcpy(arguments->cause, "it takes no value");
	return attached ? ARGUMENT_MISTAKE : ARGUMENT_OPTION;
}

static enum argument read_letter(struct arguments *arguments, char *letters)
{
	char *rest = letters[1] != '\0' ? letters + 1 : NULL;

	snprintf(arguments->option, sizeof(arguments->option), "-%c", letters[0]);
	arguments->bundle = NULL;
	if (find_row(arguments, true, letters, 1) == ARGUMENT_MISTAKE)
		return ARGUMENT_MISTAKE;
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

/* ---- Values ---- */

static int refuse(struct error *err, const char *name, const char *cause)
{
	return fail(err, STATUS_USAGE, "cannot use option '--%s': %s", name, cause);
}

/* Copies a --url, and wipes its password from argv. */
static int take_url(struct options *options, char *url, struct error *err)
{
	assert(url);
	free(options->url_copy);
	options->url_copy = strdup(url);
	if (options->url_copy == NULL)
		return fail(err, STATUS_OS, "cannot copy the URL: out of memory");
	server_hide_password(url);
	options->url = options->url_copy;
	options->url_is_flag = true;
	return 0;
}

int arguments_set(struct options *options, const struct arguments *arguments, struct error *err)
{
	const struct option_row *row = arguments->row;
	const unsigned command = arguments->command->bit;
	const struct origin flag = {.source = SOURCE_FLAG};
	const char *next = arguments->at < arguments->argc ? arguments->argv[arguments->at] : "";
	const char *value = arguments->value;
	char cause[VALUE_CAUSE_MAX_BYTES];

	assert(row);
	if (!value && option_is_open(row)) {
		/* --watch 2 means --watch and NAME 2, but nobody means that */
		if (options_set(NULL, row, next, flag, command) == 0)
			return fail(err, STATUS_USAGE,
				    "cannot use option '--%s': its %s stands behind '=', not "
				    "behind a blank",
				    row->name, row->argument);
		value = row->fallback;
	}
	if (options_set(options, row, value ? value : "yes", flag, command)) {
		options_refuse(cause, row, value, command);
		if (strcmp(arguments->option, "-s") == 0) /* flock's letter for a shared lock */
			strcat(cause, "; for a shared lock use --shared");
		return refuse(err, row->name, cause);
	}
	return row->kind == OPTION_URL ? take_url(options, arguments->value, err) : 0;
}

/* ---- Checks ---- */

/* Refuses --since 2026-11-23 03:00, where the shell has made two words of the time. */
static int check_since(const struct options *options, char **operands, int count, struct error *err)
{
	char day[SHORT_MAX_BYTES], clock[SHORT_MAX_BYTES];

	if (!options->since || strchr(options->since, ':') || !strpbrk(options->since, "-y"))
		return 0;
	for (int i = 0; i < count; i++) {
		const size_t digits = strspn(operands[i], "0123456789");

		if (digits == 0 || digits > 2 || operands[i][digits] != ':' ||
		    !isdigit((unsigned char)operands[i][digits + 1]))
			continue;
		return fail(
			err, STATUS_USAGE,
			"cannot use option '--since': quote a time with a blank: --since '%s %s'",
			shorten(day, options->since), shorten_to(clock, 8, operands[i]));
	}
	return 0;
}

static int check_operands(const struct options *options, const struct command *command, int count,
			  struct error *err)
{
	const bool has_words = count > 1, has_text = options->shell_command != NULL;
	const char *cause = count < command->least  ? "NAME is missing"
			    : count > command->most ? "there is more than one NAME"
			    : !command->runs_words || has_words != has_text ? NULL
			    : has_text ? "give either COMMAND or --command, not both"
				       : "COMMAND is missing";

	return cause ? fail(err, STATUS_USAGE, "cannot run '%s': %s", command->name, cause) : 0;
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
	{"acl", {"json", "quiet"}},
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

static int check_exclusions(const struct options *options, struct error *err)
{
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

/* Checks combinations of options that no file or variable can set. */
static int check_flags(const struct options *options, const struct command *command,
		       struct error *err)
{
	if (options->token >= 0 && !options->force)
		return refuse(err, "token", "it needs --force, too");
	if (options->wait_ms >= 0 && command->bit == COMMAND_RELEASE && !options->stop)
		return refuse(err, "wait", "it needs --stop, too");
	if (options->slot && !options->force && !options->stop)
		return refuse(err, "slot", "it needs --stop or --force, too");
	if (is_given(options, "max-hold") && command->bit == COMMAND_ACQUIRE && !options->while_pid)
		return refuse(err, "max-hold", "it needs --while-pid, too");
	if (is_given(options, "max-hold") && options->max_hold_ms < options->min_hold_ms)
		return refuse(err, "max-hold", "it is less than --min-hold");
	if (is_given(options, "no-wait") && options->wait_ms > 0)
		return refuse(err, "wait", "it does not go with --no-wait");
	return check_exclusions(options, err);
}

/* ---- All of it ---- */

int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err)
{
	struct arguments arguments;
	char shown[SHORT_MAX_BYTES];
	int count = 0;

	arguments_init(&arguments, command, *argc, argv);
	for (;;) {
		switch (arguments_next(&arguments)) {
		case ARGUMENT_OPTION:
			if (arguments_set(options, &arguments, err))
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
		case ARGUMENT_NEEDS_VALUE:
		case ARGUMENT_MISTAKE:
			/* behind the name may stand a password: --url:redis://... */
			return fail(err, STATUS_USAGE, "cannot use option '%s': %s",
				    arguments.option[1] == '-'
					    ? shorten_word(shown, arguments.option)
					    : shorten(shown, arguments.option),
				    arguments.cause);
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
