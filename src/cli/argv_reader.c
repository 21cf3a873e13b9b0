/* Not getopt_long(3): it reads the same words, but its tables, its state, its one answer to three
 * mistakes, and the differences between glibc and musl need more code than this. */
#include "cli/argv_reader.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv)
{
	*arguments = (struct arguments){.argc = argc, .argv = argv, .command = command};
}

static enum argument refuse(struct arguments *arguments, const char *mistake)
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
	return attached ? refuse(arguments, "it takes no value") : ARGUMENT_OPTION;
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
