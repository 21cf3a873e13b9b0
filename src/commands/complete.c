/* Reads the words as a command would, but passes over mistakes: a prompt is no place for them. Asks
 * the server quickly or not at all. */
#include "commands/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/signal_names.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "lock/lock_keys.h"
#include "lock/lock_list.h"
#include "lock/owner_list.h"
#include "output/column_words.h"
#include "output/table.h"

/* The word that is being completed. If it is an option and a value (--lease=30), head is the length
 * of the part before the value. */
struct complete_target {
	const char *word;
	size_t head;
};

static void complete_offer(const struct complete_target *target, const char *start,
			   const char *text, const char *meaning)
{
	const char *value = target->word + target->head;
	char candidate[NAME_MAX_BYTES + 1];

	snprintf(candidate, sizeof(candidate), "%s%s", start, text);
	if (strncmp(candidate, value, strlen(value)) == 0)
		printf("%.*s%s%s%s\n", (int)target->head, target->word, candidate,
		       meaning ? "\t" : "", meaning ? meaning : "");
}

static void complete_name(struct settings *settings, const struct command *command,
			  const struct complete_target *target)
{
	struct lock_list names;
	struct error err;

	if (settings_merge(settings, command, &err) < 0)
		return;
	lock_list_find_quickly(&names, &settings->server);
	for (size_t i = 0; i < names.count; i++)
		complete_offer(target, "", names.list[i].name, NULL);
	lock_list_free(&names);
}

/* kind: OPTION_OWNER, OPTION_WAITER or OPTION_SLOT. */
static void complete_owner(struct settings *settings, const struct command *command,
			   const struct complete_target *target, const char *name,
			   enum option_kind kind)
{
	struct owner_list owners;
	struct error err;

	if (settings_merge(settings, command, &err) < 0)
		return;
	owner_list_find_quickly(&owners, &settings->server, name, kind == OPTION_WAITER);
	for (size_t i = 0; i < owners.count; i++) {
		const struct found_owner *owner = &owners.list[i];
		const char *offer = kind == OPTION_SLOT ? owner->slot : owner->id;

		tame(owners.list[i].about);
		if (*offer)
			complete_offer(target, "", offer, owner->about);
	}
	owner_list_free(&owners);
}

/* The letters of a column stay as small as they are. */
static void complete_column(const struct layout *layout, const struct complete_target *target)
{
	char name[64];

	for (size_t i = 0; i < layout->column_count; i++) {
		snprintf(name, sizeof(name), "%s", layout->columns[i].name);
		for (char *c = name; islower((unsigned char)target->word[target->head]) && *c; c++)
			*c = (char)tolower((unsigned char)*c);
		complete_offer(target, "", name, column_meaning(layout->columns[i].name));
	}
}

/* A list of columns may begin with a plus, and its last word is the one to complete. */
static void complete_columns(const struct layout *layout, const struct complete_target *target)
{
	struct complete_target last = *target;
	const char *value = target->word + target->head, *comma = strrchr(value, ',');

	if (comma)
		last.head = (size_t)(comma + 1 - target->word);
	else
		last.head += *value == '+';
	complete_column(layout, &last);
	if (last.head == target->head)
		complete_offer(&last, "", "help", "list the columns");
}

static void complete_signal(const struct complete_target *target)
{
	const bool with_sig = strncmp(target->word + target->head, "SIG", 3) == 0;
	const char *name;

	for (size_t i = 0; (name = signal_name_at(i)) != NULL; i++)
		complete_offer(target, with_sig ? "SIG" : "", name, NULL);
}

static void complete_url(const struct complete_target *target)
{
	const char *scheme;

	for (size_t i = 0; (scheme = server_scheme_at(i)) != NULL; i++)
		complete_offer(target, "", scheme, NULL);
}

static void complete_colour(const struct complete_target *target)
{
	for (size_t i = 0; i < COLOUR_COUNT; i++)
		complete_offer(target, "", colour_words[i], NULL);
}

static void complete_value(struct settings *settings, const struct command *command,
			   const struct option_row *row, const struct complete_target *target,
			   const char *name)
{
	switch (row->kind) {
	case OPTION_FILE:
		printf("\tfiles %zu\n", target->head);
		break;
	case OPTION_URL:
		complete_url(target);
		break;
	case OPTION_SIGNAL:
		complete_signal(target);
		break;
	case OPTION_COLOUR:
		complete_colour(target);
		break;
	case OPTION_COLUMN:
		if (command->table)
			complete_column(command->table, target);
		break;
	case OPTION_COLUMNS:
		if (command->table)
			complete_columns(command->table, target);
		break;
	case OPTION_ALSO:
		complete_name(settings, command, target);
		break;
	case OPTION_OWNER:
	case OPTION_WAITER:
	case OPTION_SLOT:
		complete_owner(settings, command, target, name, row->kind);
		break;
	default:
		break;
	}
}

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
