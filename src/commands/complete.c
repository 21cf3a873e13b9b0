/* Reads the words as a command would, but passes over mistakes: a prompt is no place for them. */
#include "commands/complete.h"

#include <stdio.h>
#include <string.h>

#include "base/signal_names.h"
#include "cli/argv_reader.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "commands/program.h"
#include "lock/lock_keys.h"
#include "lock/lock_list.h"

/* The word that is being completed. If it is an option and a value (--lease=30), head is the length
 * of the part before the value. */
struct target {
	const char *word;
	size_t head;
};

/* Prints start + text as a candidate if it goes on where the value stops. */
static void offer(const struct target *target, const char *start, const char *text,
		  const char *meaning)
{
	const char *value = target->word + target->head;
	char candidate[NAME_MAX_BYTES + 1];

	snprintf(candidate, sizeof(candidate), "%s%s", start, text);
	if (strncmp(candidate, value, strlen(value)) == 0)
		printf("%.*s%s%s%s\n", (int)target->head, target->word, candidate,
		       meaning ? "\t" : "", meaning ? meaning : "");
}

/* Returns false if this program cannot reach the server. */
static bool complete_name(struct settings *settings, const struct command *command,
			  const struct target *target)
{
	struct lock_list names;
	struct error err;

	if (settings_merge(settings, command, &err) < 0)
		return true;
	if (!program_reaches(&settings->server)) {
		options_restore_url(&settings->options);
		return false;
	}
	lock_list_find_quickly(&names, &settings->server);
	for (size_t i = 0; i < names.count; i++)
		offer(target, "", names.list[i].name, NULL);
	lock_list_free(&names);
	return true;
}

static void complete_commands(const struct command *const *commands, const struct target *target)
{
	for (; *commands; commands++)
		offer(target, "", (*commands)->name, (*commands)->summary);
	if (target->word[0] != '-')
		return;
	offer(target, "", "--help", "show the list of commands");
	offer(target, "", "--version", "show the version");
}

static void complete_signal(const struct target *target)
{
	const bool with_sig = strncmp(target->word + target->head, "SIG", 3) == 0;
	const char *name;

	for (size_t i = 0; (name = signal_name_at(i)) != NULL; i++)
		offer(target, with_sig ? "SIG" : "", name, NULL);
}

static void complete_value(const struct option_row *row, const struct target *target)
{
	const char *scheme;

	switch (row->kind) {
	case OPTION_FILE:
		printf("\tfiles %zu\n", target->head);
		break;
	case OPTION_URL:
		for (size_t i = 0; (scheme = server_scheme_at(i)) != NULL; i++)
			offer(target, "", scheme, NULL);
		break;
	case OPTION_SIGNAL:
		complete_signal(target);
		break;
	case OPTION_ON_LOST:
		for (size_t i = 0; i < ON_LOST_COUNT; i++)
			offer(target, "", on_lost_words[i], NULL);
		break;
	case OPTION_COLOUR:
		for (size_t i = 0; i < COLOUR_COUNT; i++)
			offer(target, "", colour_words[i], NULL);
		break;
	default:
		break;
	}
}

/* Completes a word that begins with a dash: the beginning of an option, or an option with its value
 * in the same word. */
static void complete_option(const struct command *command, char *word)
{
	const struct target whole = {word, 0};
	const struct option_row *row;
	struct arguments arguments;
	char meaning[160];

	arguments_init(&arguments, command, 1, &word);
	while (arguments_next(&arguments) == ARGUMENT_OPTION) {
		if (arguments.value) {
			const struct target value = {word, (size_t)(arguments.value - word)};

			complete_value(arguments.row, &value);
			return;
		}
	}
	for (size_t i = 0; (row = option_at(i)) != NULL; i++) {
		if (!option_is_for(row, command->bit, SOURCE_FLAG))
			continue;
		snprintf(meaning, sizeof(meaning), "%s%s%s", row->argument,
			 *row->argument ? ": " : "", row->help);
		offer(&whole, "--", row->name, meaning);
	}
}

static void set_option(struct options *options, const struct arguments *arguments)
{
	const struct option_row *row = arguments->row;
	struct error err;

	options_set(options, row, arguments->value ? arguments->value : "yes",
		    (struct origin){.source = SOURCE_FLAG});
	if (row->kind == OPTION_URL)
		options_take_url(options, arguments->value, &err);
}

/* Reads the words before the last one. Returns ARGUMENT_END (the last word is an option or an
 * operand), ARGUMENT_NEEDS_VALUE or ARGUMENT_COMMAND. */
static enum argument read_words(struct arguments *arguments, struct options *options)
{
	for (;;) {
		const enum argument argument = arguments_next(arguments);

		if (argument == ARGUMENT_OPTION)
			set_option(options, arguments);
		else if (argument != ARGUMENT_OPERAND && argument != ARGUMENT_MISTAKE)
			return argument;
	}
}

/* words stand behind the command's name. */
static bool complete_words(struct settings *settings, const struct command *command, int count,
			   char **words)
{
	const struct target target = {words[count - 1], 0};
	struct arguments arguments;
	enum argument next;

	arguments_init(&arguments, command, count - 1, words);
	next = read_words(&arguments, &settings->options);
	if (next == ARGUMENT_NEEDS_VALUE) {
		complete_value(arguments.row, &target);
	} else if (next == ARGUMENT_COMMAND) {
		printf("\tcommand %d\n", arguments.at + 1);
	} else if (target.word[0] == '-' && !arguments.options_ended) {
		complete_option(command, words[count - 1]);
	} else if (command->runs_words && arguments.operands == 1) {
		if (settings->options.shell_command == NULL)
			printf("\tcommand %d\n", count);
	} else if (arguments.operands < command->most) {
		return complete_name(settings, command, &target);
	}
	return true;
}

bool complete(const struct command *const *commands, int argc, char **argv)
{
	const struct target target = {argc > 0 ? argv[0] : "", 0};
	struct settings settings;
	bool done;

	if (argc <= 1) {
		complete_commands(commands, &target);
		return true;
	}
	while (*commands && strcmp((*commands)->name, argv[0]) != 0)
		commands++;
	if (*commands == NULL)
		return true;
	settings_init(&settings);
	done = complete_words(&settings, *commands, argc - 1, argv + 1);
	settings_free(&settings);
	return done;
}
