/* Reads the words as a command would, but passes over mistakes: a prompt is no place for them. */
#include "commands/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/argv_reader.h"
#include "cli/command.h"
#include "cli/front_words.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "commands/complete_value.h"

static void complete_commands(const struct command *const *commands,
			      const struct complete_target *target)
{
	for (; *commands; commands++)
		complete_offer(target, "", (*commands)->name, (*commands)->summary);
	complete_offer(target, "", "help", "show this list, or the help of a command");
	complete_offer(target, "", "version", "show the version");
}

/* Completes a word that begins with a dash: the beginning of an option, or an option with its value
 * in the same word. */
static void complete_option(struct settings *settings, const struct command *command, char *word,
			    const char *name)
{
	const struct complete_target whole = {word, 0};
	const struct option_row *row;
	struct arguments arguments;
	struct option_words words;
	char meaning[160];

	arguments_init(&arguments, command, 1, &word);
	while (arguments_next(&arguments) == ARGUMENT_OPTION) {
		if (arguments.value) {
			const struct complete_target value = {word,
							      (size_t)(arguments.value - word)};

			complete_value(settings, command, arguments.row, &value, name);
			return;
		}
	}
	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		if (!option_is_for(row, command->bit, SOURCE_FLAG))
			continue;
		option_words(&words, row, command->bit);
		snprintf(meaning, sizeof(meaning), "%s%s%s", row->argument,
			 *row->argument ? ": " : "", words.help);
		complete_offer(&whole, "--", row->name, meaning);
	}
}

static void set_option(struct options *options, const struct arguments *arguments)
{
	const struct option_row *row = arguments->row;
	struct error err;

	options_set(options, row, arguments->value ? arguments->value : "yes",
		    (struct origin){.source = SOURCE_FLAG}, arguments->command->bit);
	if (row->kind == OPTION_URL)
		options_take_url(options, arguments->value, &err);
}

static bool is_mistake(enum argument argument)
{
	return argument == ARGUMENT_MISTAKE || argument == ARGUMENT_UNKNOWN ||
	       argument == ARGUMENT_AMBIGUOUS;
}

/* Reads the words before the last one. Returns ARGUMENT_END (the last word is an option or an
 * operand), ARGUMENT_NEEDS_VALUE or ARGUMENT_COMMAND. Sets *name to the first NAME. */
static enum argument read_words(struct arguments *arguments, struct options *options,
				const char **name)
{
	for (;;) {
		const enum argument argument = arguments_next(arguments);

		if (argument == ARGUMENT_OPTION)
			set_option(options, arguments);
		else if (argument == ARGUMENT_OPERAND && !*name)
			*name = arguments->value;
		else if (argument != ARGUMENT_OPERAND && !is_mistake(argument))
			return argument;
	}
}

/* words stand behind the command's name, and in the whole line, behind first words. */
static void complete_words(struct settings *settings, const struct command *command, int first,
			   int count, char **words)
{
	const struct complete_target target = {words[count - 1], 0};
	struct arguments arguments;
	const char *name = NULL;
	enum argument next;

	arguments_init(&arguments, command, count - 1, words);
	next = read_words(&arguments, &settings->options, &name);
	if (next == ARGUMENT_NEEDS_VALUE) {
		complete_value(settings, command, arguments.row, &target, name);
	} else if (next == ARGUMENT_COMMAND) {
		printf("\tcommand %d\n", first + arguments.at);
	} else if (target.word[0] == '-' && !arguments.options_ended) {
		complete_option(settings, command, words[count - 1], name);
	} else if (command->runs_words && arguments.operands == 1) {
		if (settings->options.shell_command == NULL)
			printf("\tcommand %d\n", first + count - 1);
	} else if (arguments.operands < command->most) {
		complete_name(settings, command, &target);
	}
}

/* Reads the options before the command. Returns ARGUMENT_END (the last word is an option, or the
 * command), ARGUMENT_NEEDS_VALUE, or ARGUMENT_OPERAND (the command). */
static enum argument read_front(struct arguments *arguments, struct options *options)
{
	for (;;) {
		const enum argument argument = arguments_next(arguments);

		if (argument == ARGUMENT_OPTION)
			set_option(options, arguments);
		else if (!is_mistake(argument))
			return argument;
	}
}

/* The last word is the command, or an option before it. */
static void complete_front(struct settings *settings, const struct command *const *commands,
			   char *word)
{
	const struct complete_target target = {word, 0};

	if (word[0] == '-')
		complete_option(settings, &front_command, word, NULL);
	else
		complete_commands(commands, &target);
}

/* argc > 0 */
static void complete_line(struct settings *settings, const struct command *const *commands,
			  int argc, char **argv)
{
	const struct complete_target target = {argv[argc - 1], 0};
	struct arguments arguments;

	arguments_init(&arguments, &front_command, argc - 1, argv);
	switch (read_front(&arguments, &settings->options)) {
	case ARGUMENT_NEEDS_VALUE:
		complete_value(settings, &front_command, arguments.row, &target, NULL);
		return;
	case ARGUMENT_OPERAND:
		break;
	default:
		complete_front(settings, commands, argv[argc - 1]);
		return;
	}
	if (strcmp(arguments.value, "help") == 0)
		complete_commands(commands, &target);
	while (*commands && strcmp((*commands)->name, arguments.value) != 0)
		commands++;
	if (*commands)
		complete_words(settings, *commands, arguments.at, argc - arguments.at,
			       argv + arguments.at);
}

void complete(const struct command *const *commands, int argc, char **argv)
{
	char *empty = (char[]){""};
	struct settings settings;

	settings_init(&settings);
	complete_line(&settings, commands, argc > 0 ? argc : 1, argc > 0 ? argv : &empty);
	settings_free(&settings);
}
