/* fairlock --complete WORD...: prints the words that a shell may offer in the place of the last
 * WORD, one candidate a line: the whole word, and behind a tab its meaning, if there is something
 *to say. A line that begins with a tab leaves the work to the shell:
 *
 *	TAB files N     file names; N bytes of the word come before the file name
 *	TAB command N   a command line of its own, that begins with the N-th WORD
 *	                (the first is 0)
 *
 * It reads the words as a command would, but passes over mistakes: a prompt is no place for them.
 * It asks the server quickly or not at all. */
#include <ctype.h>
#include <string.h>

#include "cli/args.h"
#include "cli/command.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/table.h"

struct completion {
	struct settings settings;      /* what the words before set */
	const struct command *command; /* the one on the line */
	const char *word;              /* what is being completed */
	size_t head; /* if it is an option and a value (--lease=30), the length before the value */
};

/* Prints start + text as a candidate if it goes on where the value stops. meaning may be NULL. */
static void offer(const struct completion *completion, const char *start, const char *text,
		  const char *meaning)
{
	const char *value = completion->word + completion->head;
	char candidate[NAME_MAX_BYTES + 1];

	snprintf(candidate, sizeof(candidate), "%s%s", start, text);
	if (strncmp(candidate, value, strlen(value)) == 0)
		printf("%.*s%s%s%s\n", (int)completion->head, completion->word, candidate,
		       meaning ? "\t" : "", meaning ? meaning : "");
}

/* ---- Values ---- */

static void offer_names(struct completion *completion)
{
	struct lock_list names;
	struct error err;

	if (settings_merge(&completion->settings, completion->command, &err) < 0)
		return;
	lock_list_find_quickly(&names, &completion->settings.server);
	for (size_t i = 0; i < names.count; i++)
		offer(completion, "", names.list[i].name, NULL);
	lock_list_free(&names);
}

/* A list of columns may begin with a plus, and its last word is the one to complete. The letters of
 * a column stay as small as they are. */
static void offer_columns(struct completion *completion, bool is_list)
{
	const struct layout *layout = completion->command->table;
	const char *value = completion->word + completion->head, *comma = strrchr(value, ',');
	const bool is_first = !comma && *value != '+';
	char name[64];

	if (!layout) /* doctor has none, but --sort may stand there by mistake */
		return;
	if (is_list && !is_first)
		completion->head += comma ? (size_t)(comma + 1 - value) : 1;
	value = completion->word + completion->head;
	for (enum column_id id = 0; id < COLUMN_COUNT; id++) {
		if (!column_name(layout, id))
			continue;
		snprintf(name, sizeof(name), "%s", column_name(layout, id));
		for (char *c = name; islower((unsigned char)*value) && *c; c++)
			*c = (char)tolower((unsigned char)*c);
		offer(completion, "", name, column_meaning(id));
	}
	if (is_list && is_first)
		offer(completion, "", "help", "list the columns");
}

static void offer_values(struct completion *completion, const struct option_row *row)
{
	if (row->kind == OPTION_FILE)
		printf("\tfiles %zu\n", completion->head);
	else if (row->kind == OPTION_ALSO)
		offer_names(completion);
	else if (row->kind == OPTION_COLUMN || row->kind == OPTION_COLUMNS)
		offer_columns(completion, row->kind == OPTION_COLUMNS);
	for (size_t i = 0; row->kind == OPTION_COLOUR && i < COLOUR_COUNT; i++)
		offer(completion, "", colour_words[i], NULL);
}

/* ---- Options and commands ---- */

/* The word begins with a dash: it is the beginning of an option, or an option with its value. */
static void offer_options(struct completion *completion, char *word)
{
	const unsigned bit = completion->command->bit;
	struct arguments arguments = {.argc = 1, .argv = &word, .command = completion->command};
	char meaning[160];

	while (arguments_next(&arguments) == ARGUMENT_OPTION) {
		if (arguments.value) {
			completion->head = (size_t)(arguments.value - word);
			offer_values(completion, arguments.row);
			return;
		}
	}
	for (const struct option_row *row = option_rows; row->name; row++) {
		if (!option_is_for(row, bit, SOURCE_FLAG))
			continue;
		snprintf(meaning, sizeof(meaning), "%s%s%s", row->argument,
			 *row->argument ? ": " : "", option_words(row, bit).help);
		offer(completion, "--", row->name, meaning);
	}
}

/* Reads the words before the last one. Returns ARGUMENT_END if that is an option or an operand. */
static enum argument read_words(struct completion *completion, struct arguments *arguments)
{
	enum argument next;
	struct error err;

	do {
		next = arguments_next(arguments);
		if (next == ARGUMENT_OPTION)
			arguments_set(&completion->settings.options, arguments, &err);
	} while (next == ARGUMENT_OPTION || next == ARGUMENT_OPERAND || next == ARGUMENT_MISTAKE);
	completion->command = arguments->command;
	return next;
}

static void complete_word(struct completion *completion, int count, char **words)
{
	struct arguments arguments = {.argc = count - 1, .argv = words, .command = &front_command};
	const enum argument next = read_words(completion, &arguments);
	const struct command *command = completion->command;

	completion->word = words[count - 1];
	if (next == ARGUMENT_NEEDS_VALUE) {
		offer_values(completion, arguments.row);
	} else if (next == ARGUMENT_COMMAND) {
		printf("\tcommand %d\n", arguments.at);
	} else if (next == ARGUMENT_NO_COMMAND) {
		return;
	} else if (completion->word[0] == '-' && !arguments.options_ended) {
		offer_options(completion, words[count - 1]);
	} else if (command == &front_command) {
		for (size_t i = 0; all_commands[i]; i++)
			offer(completion, "", all_commands[i]->name, all_commands[i]->summary);
		offer(completion, "", "help", "show this list, or the help of a command");
		offer(completion, "", "version", "show the version");
	} else if (command->runs_words && arguments.operands == 1) {
		if (completion->settings.options.shell_command == NULL)
			printf("\tcommand %d\n", count - 1);
	} else if (command_takes(command, arguments.operands)) {
		offer_names(completion);
	}
}

void complete(int argc, char **argv)
{
	char *empty = (char[]){""};
	struct completion completion = {.head = 0};

	settings_init(&completion.settings);
	complete_word(&completion, argc > 0 ? argc : 1, argc > 0 ? argv : &empty);
	settings_free(&completion.settings);
}
