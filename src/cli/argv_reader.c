/* getopt_long would permute the words of COMMAND, or with + not see an option
 * behind NAME; and it prints by itself. So: a reader of our own. */
#include "cli/argv_reader.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv)
{
	memset(arguments, 0, sizeof(*arguments));
	arguments->argc = argc;
	arguments->argv = argv;
	arguments->command = command->bit;
	arguments->runs_words = command->runs_words;
}

static bool applies(const struct arguments *arguments, const struct option_row *row)
{
	return (row->commands & arguments->command) && (row->sources & SOURCE_FLAG);
}

static const struct option_row *find_letter(const struct arguments *arguments, char letter)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		if (row->letter == letter && applies(arguments, row))
			return row;
	}
	return NULL;
}

/* Finds an option by its name, or by a beginning that no other one shares. */
static enum argument find_name(struct arguments *arguments, const char *name, size_t length)
{
	const struct option_row *row;
	int matches = 0;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		if (!applies(arguments, row) || strncmp(row->name, name, length) != 0)
			continue;
		arguments->row = row;
		if (row->name[length] == '\0')
			return ARGUMENT_OPTION;
		matches++;
	}
	if (matches == 0)
		return ARGUMENT_UNKNOWN;
	return matches == 1 ? ARGUMENT_OPTION : ARGUMENT_AMBIGUOUS;
}

static enum argument take_value(struct arguments *arguments)
{
	if (arguments->at >= arguments->argc)
		return ARGUMENT_NEEDS_VALUE;
	arguments->value = arguments->argv[arguments->at++];
	return ARGUMENT_OPTION;
}

static enum argument read_long(struct arguments *arguments, char *word)
{
	size_t length = strcspn(word, "=");
	enum argument found = find_name(arguments, word + 2, length - 2);
	const bool has_value = word[length] == '=';

	snprintf(arguments->option, sizeof(arguments->option), "%.*s", (int)length, word);
	if (found != ARGUMENT_OPTION)
		return found;
	if (!*arguments->row->argument)
		return has_value ? ARGUMENT_TAKES_NO_VALUE : ARGUMENT_OPTION;
	if (!has_value && arguments->row->kind == OPTION_PERIOD)
		return ARGUMENT_OPTION;
	if (!has_value)
		return take_value(arguments);
	arguments->value = word + length + 1;
	return ARGUMENT_OPTION;
}

static enum argument read_letter(struct arguments *arguments, char *letters)
{
	snprintf(arguments->option, sizeof(arguments->option), "-%c", letters[0]);
	arguments->bundle = NULL;
	arguments->row = find_letter(arguments, letters[0]);
	if (arguments->row == NULL)
		return ARGUMENT_UNKNOWN;
	if (!*arguments->row->argument) {
		arguments->bundle = letters[1] != '\0' ? letters + 1 : NULL;
		return ARGUMENT_OPTION;
	}
	if (letters[1] == '\0')
		return take_value(arguments);
	arguments->value = letters + 1;
	return ARGUMENT_OPTION;
}

static enum argument read_operand(struct arguments *arguments, char *word)
{
	if (arguments->runs_words && arguments->operands == 1) {
		arguments->at--;
		return ARGUMENT_COMMAND;
	}
	arguments->operands++;
	arguments->value = word;
	return ARGUMENT_OPERAND;
}

enum argument arguments_next(struct arguments *arguments)
{
	char *word;

	arguments->value = NULL;
	if (arguments->bundle)
		return read_letter(arguments, arguments->bundle);
	if (arguments->at >= arguments->argc)
		return ARGUMENT_END;
	word = arguments->argv[arguments->at++];
	if (strcmp(word, "--") == 0 && arguments->runs_words && arguments->operands == 1)
		return ARGUMENT_COMMAND;
	if (arguments->options_ended || word[0] != '-' || word[1] == '\0')
		return read_operand(arguments, word);
	if (word[1] != '-')
		return read_letter(arguments, word + 1);
	if (word[2] != '\0')
		return read_long(arguments, word);
	arguments->options_ended = true;
	return arguments_next(arguments);
}
