/* Not getopt_long(3): it reads the same words, but its tables, its state, its one answer to three
 * mistakes, and the differences between glibc and musl need more code than this. */
#include "cli/args.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/guess.h"

/* ---- Commands ---- */

const struct command *const all_commands[] = {
	&wrap_command,    &acquire_command, &renew_command,
	&release_command, &status_command,  &queue_command,
	&log_command,     &doctor_command,  NULL,
};

const struct command front_command = {
	.name = "",
	.operands = "",
	.summary = "",
	.bit = COMMAND_FRONT,
};

bool command_takes(const struct command *command, int count)
{
	return count == 0 || strstr(command->operands, "...");
}

/* ---- Guesses. A word of other programs counts first, then an option that only other commands
 * have, then a word that is spelled nearly so. ---- */

/* words: each with a blank before and behind it. */
static const struct {
	const char *words, *meant;
} synonyms[] = {
	{" run exec ", "wrap"},
	{" lock ", "wrap or acquire"},
	{" unlock ", "release"},
	{" ls list ps ", "status"},
	{" --timeout -t ", "--wait"},
	{" --ttl ", "--lease"},
	{" --nonblock --nb ", "--no-wait"},
	{" --jobs -j ", "--slots"},
	{" --host -p ", "--url redis://HOST:PORT"},
};

/* Finds what the word means, or NULL. An option means one that the command has. */
static const char *find_synonym(const char *word, const struct command *command)
{
	char whole[NEAREST_MAX_BYTES + 2];

	snprintf(whole, sizeof(whole), " %.*s ", NEAREST_MAX_BYTES - 1, word);
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
		const char *meant = synonyms[i].meant;
		/* NULL: a command, or the URL, which all have */
		const struct option_row *row = *meant == '-' ? option_named(meant + 2) : NULL;

		if (strstr(synonyms[i].words, whole))
			return !row || option_is_for(row, command->bit, SOURCE_FLAG) ? meant : NULL;
	}
	return NULL;
}

/* The cause in a message: word is no command. more: other words follow. */
static const char *guess_command(char cause[CAUSE_MAX_BYTES], const char *word, bool more)
{
	const char *meant = find_synonym(word, &front_command);
	char said[NEAREST_SAID_BYTES];
	struct nearest nearest;

	nearest_begin(&nearest, word);
	for (size_t i = 0; all_commands[i]; i++)
		nearest_try(&nearest, all_commands[i]->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	if (!meant && !*nearest.best && (more || strchr(word, '/')))
		meant = "'fairlock wrap NAME COMMAND'";
	if (meant)
		strcpy(nearest.best, meant);
	snprintf(cause, CAUSE_MAX_BYTES, "there is no such command%s",
		 nearest_say(said, &nearest, ""));
	return cause;
}

/* The option is one of other commands, or stands before its command. */
static void name_commands(char cause[CAUSE_MAX_BYTES], const struct option_row *row, bool is_front)
{
	size_t used = (size_t)snprintf(cause, CAUSE_MAX_BYTES, "only ");
	unsigned left = row->commands;
	int count = 0;

	for (size_t i = 0; all_commands[i]; i++) {
		const unsigned bit = all_commands[i]->bit;
		const char *join = count == 0 ? "" : left == bit ? " and " : ", ";

		if (!(left & bit))
			continue;
		used += (size_t)snprintf(cause + used, CAUSE_MAX_BYTES - used, "%s%s", join,
					 all_commands[i]->name);
		left &= ~bit;
		count++;
	}
	snprintf(cause + used, CAUSE_MAX_BYTES - used, " %s it%s", count > 1 ? "have" : "has",
		 is_front ? "; put it behind the command" : "");
}

/* Finds the row of an option as it is written, -x or --name, among those of all commands. */
static const struct option_row *find_anywhere(const char *option)
{
	for (const struct option_row *row = option_rows; row->name; row++)
		if (option_is_for(row, COMMAND_ALL, SOURCE_FLAG) &&
		    (option[1] == '-' ? strcmp(row->name, option + 2) == 0
				      : row->letter && row->letter == option[1]))
			return row;
	return NULL;
}

/* The command does not have the option, "-x" or "--name". */
static void guess_option(char cause[CAUSE_MAX_BYTES], const char *option,
			 const struct command *command)
{
	const struct option_row *elsewhere = find_anywhere(option);
	const char *synonym = find_synonym(option, command);
	struct nearest nearest;
	char name[NEAREST_MAX_BYTES], said[NEAREST_SAID_BYTES];

	/* --url:URL is meant as --url=URL */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, ":"), option);
	nearest_begin(&nearest, name[1] == '-' ? name + 2 : "");
	for (const struct option_row *row = option_rows; row->name; row++)
		if (option_is_for(row, command->bit, SOURCE_FLAG))
			nearest_try(&nearest, row->name);
	if (synonym)
		strcpy(nearest.best, synonym + strlen("--"));
	snprintf(cause, CAUSE_MAX_BYTES, "there is no such option%s",
		 nearest_say(said, &nearest, "--"));
	if (elsewhere && !synonym)
		name_commands(cause, elsewhere, command == &front_command);
}

/* ---- Words ---- */

/* Finds an option by its letter, or by its name, or a beginning that no other name shares. */
static enum argument find_row(struct arguments *arguments, bool is_letter, const char *text,
			      size_t length)
{
	const struct option_row *found = NULL, *other = NULL;
	bool is_whole = false;

	for (const struct option_row *row = option_rows; !is_whole && row->name; row++) {
		if (is_letter ? row->letter != *text : strncmp(row->name, text, length) != 0)
			continue;
		/* no abbreviation of another, as --password is of --password-file */
		is_whole = !is_letter && row->name[length] == '\0';
		if (is_whole)
			found = other = NULL;
		if (option_is_for(row, arguments->command->bit, SOURCE_FLAG)) {
			other = found;
			found = row;
		}
	}
	arguments->row = found;
	if (found && !other)
		return ARGUMENT_OPTION;
	if (other)
		snprintf(arguments->cause, sizeof(arguments->cause),
			 "it is ambiguous: --%s or --%s", other->name, found->name);
	else
		guess_option(arguments->cause, arguments->option, arguments->command);
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
	if (*arguments->row->argument && (attached || !arguments->row->is_open))
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

/* The first operand is the command. The words help and version are also options. */
static enum argument read_command(struct arguments *arguments, char *word)
{
	const struct command *const *command = all_commands;

	while (*command && strcmp((*command)->name, word) != 0)
		command++;
	arguments->row = strcmp(word, "help") == 0 || strcmp(word, "version") == 0
				 ? option_named(word)
				 : NULL;
	if (arguments->row)
		return ARGUMENT_OPTION;
	if (!*command) {
		arguments->value = word;
		return ARGUMENT_NO_COMMAND;
	}
	arguments->command = *command;
	return arguments_next(arguments);
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
	if (is_operand && arguments->command == &front_command && !arguments->options_ended)
		return read_command(arguments, word);
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

/* ---- Values ---- */

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
	char cause[80];

	assert(row);
	if (!value && row->is_open) {
		/* --watch 2 means --watch and NAME 2, but nobody means that */
		if (options_set(NULL, row, next, flag, command, err) == 0) {
			snprintf(cause, sizeof(cause),
				 "its %s stands behind '=', not behind a blank", row->argument);
			return options_refuse(row, &flag, cause, err);
		}
		value = row->fallback;
	}
	if (options_set(options, row, value ? value : "yes", flag, command, err))
		return -1;
	return row->kind == OPTION_URL ? take_url(options, arguments->value, err) : 0;
}

/* ---- All of it ---- */

static int check_operands(const struct options *options, const struct command *command, int count,
			  struct error *err)
{
	const bool has_words = count > 1, has_text = options->shell_command != NULL;
	const char *cause = count == 0 && *command->operands != '[' ? "NAME is missing"
			    : count > 0 && !command_takes(command, count - 1)
				    ? "there is more than one NAME"
			    : !command->runs_words || has_words != has_text ? NULL
			    : has_text ? "give either COMMAND or --command, not both"
				       : "COMMAND is missing";

	if (command == &front_command)
		return fail(err, STATUS_USAGE,
			    "cannot run fairlock: COMMAND is missing, as in 'fairlock status'");
	return cause ? fail(err, STATUS_USAGE, "cannot run '%s': %s", command->name, cause) : 0;
}

static int refuse_command(const struct arguments *arguments, struct error *err)
{
	char shown[SHORT_MAX_BYTES], cause[CAUSE_MAX_BYTES];

	if (strstr(arguments->value, "://")) /* it may have a password */
		return fail(err, STATUS_USAGE,
			    "cannot run a URL as a command: name the server with -u URL");
	return fail(err, STATUS_USAGE, "cannot run '%s': %s", shorten(shown, arguments->value),
		    guess_command(cause, arguments->value, arguments->at < arguments->argc));
}

static int refuse_option(const struct arguments *arguments, struct error *err)
{
	const char *option = arguments->option;
	char shown[SHORT_MAX_BYTES];

	/* behind the name may stand a password: --url:redis://... */
	return fail(err, STATUS_USAGE, "cannot use option '%s': %s",
		    option[1] == '-' ? shorten_word(shown, option) : shorten(shown, option),
		    arguments->cause);
}

/* Whether all is known for help: which command it is for may stand behind --help. */
static bool is_help(const struct options *options, const struct arguments *arguments,
		    enum argument next)
{
	return options_want_help(options) &&
	       (arguments->command != &front_command ||
		(next != ARGUMENT_OPTION && next != ARGUMENT_NO_COMMAND));
}

int parse_args(struct options *options, const struct command **command, int *argc, char **argv,
	       struct error *err)
{
	struct arguments arguments = {.argc = *argc, .argv = argv, .command = *command};
	int count = 0;

	for (;;) {
		const enum argument next = arguments_next(&arguments);

		*command = arguments.command;
		if (is_help(options, &arguments, next))
			return 0;
		switch (next) {
		case ARGUMENT_OPTION:
			if (arguments_set(options, &arguments, err))
				return -1;
			break;
		case ARGUMENT_OPERAND:
			argv[count++] = arguments.value;
			break;
		case ARGUMENT_COMMAND:
			while (arguments.at < *argc)
				argv[count++] = argv[arguments.at++];
			break;
		case ARGUMENT_NO_COMMAND:
			return refuse_command(&arguments, err);
		case ARGUMENT_NEEDS_VALUE:
		case ARGUMENT_MISTAKE:
			return refuse_option(&arguments, err);
		case ARGUMENT_END:
			argv[count] = NULL;
			*argc = count;
			return check_operands(options, *command, count, err);
		}
	}
}
