/* A synonym counts first, then an option that only other commands have, then a word that is spelled
 * nearly so. */
#include "cli/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/argv_reader.h"
#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/synonyms.h"

/* A message names no more options than these. */
#define NAMED_MAX 3

/* --name */
#define OPTION_BYTES (NEAREST_MAX_BYTES + 2)

/* In the order of enum command_bit. */
static const char names[][8] = {"wrap",   "acquire", "renew", "release",
				"status", "queue",   "log",   "doctor"};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* A short list as a sentence has it: "a, b and c". */
static void list(char *text, size_t size, const char *word, bool is_first, bool is_last)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", is_first ? "" : is_last ? " and " : ", ", word);
}

static const char *mean(char cause[CAUSE_MAX_BYTES], const char *kind, const char *meant)
{
	if (meant[0] == ' ')
		snprintf(cause, CAUSE_MAX_BYTES, "%s", meant + 1);
	else
		snprintf(cause, CAUSE_MAX_BYTES, "there is no such %s%s%s%s", kind,
			 *meant ? ", did you mean " : "", meant, *meant ? "?" : "");
	return cause;
}

static const char *find_synonym(const struct synonym *synonyms, size_t count, const char *word,
				unsigned commands)
{
	for (size_t i = 0; i < count; i++)
		if ((synonyms[i].commands & commands) && strcmp(synonyms[i].word, word) == 0)
			return synonyms[i].meant;
	return NULL;
}

const char *suggest_command(char cause[CAUSE_MAX_BYTES], const struct command *const *commands,
			    const char *word, bool more)
{
	const char *synonym =
		find_synonym(command_synonyms, command_synonym_count, word, COMMAND_ALL);
	struct nearest nearest;

	if (synonym)
		return mean(cause, "command", synonym);
	nearest_begin(&nearest, word);
	for (; *commands; commands++)
		nearest_try(&nearest, (*commands)->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	if (!*nearest.best && (more || strchr(word, '/')))
		return mean(cause, "command", "'fairlock wrap NAME COMMAND'");
	return mean(cause, "command", nearest.best);
}

/* Finds the row of an option as it is written, -x or --name, among those of some commands. */
static const struct option_row *find_row(const char *option, unsigned commands)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, commands, SOURCE_FLAG) &&
		    (option[1] == '-' ? strcmp(row->name, option + 2) == 0
				      : row->letter && row->letter == option[1]))
			return row;
	return NULL;
}

static const char *name_commands(char cause[CAUSE_MAX_BYTES], const struct option_row *row)
{
	char who[80] = "";
	unsigned left = row->commands & ((1U << NAMES) - 1);

	for (size_t i = 0; i < NAMES; i++) {
		if (!(left & (1U << i)))
			continue;
		left &= ~(1U << i);
		list(who, sizeof(who), names[i], !*who, left == 0);
	}
	snprintf(cause, CAUSE_MAX_BYTES, "only %s %s it", who, strchr(who, ' ') ? "have" : "has");
	return cause;
}

/* The command that the user typed behind the option, if it has it, else the first that has it. */
static size_t find_command(const struct arguments *arguments, const struct option_row *row)
{
	size_t first = NAMES;

	for (size_t i = NAMES; i-- > 0;) {
		if (!(row->commands & (1U << i)))
			continue;
		first = i;
		for (int k = arguments->at; k < arguments->argc; k++)
			if (strcmp(arguments->argv[k], names[i]) == 0)
				return i;
	}
	return first;
}

/* The option is one of other commands. */
static const char *point_to(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			    const struct option_row *row)
{
	const size_t command = find_command(arguments, row);

	if (arguments->command->bit != COMMAND_FRONT || command == NAMES)
		return name_commands(cause, row);
	snprintf(cause, CAUSE_MAX_BYTES, "put it behind the command, as in 'fairlock %.8s %.24s'",
		 names[command], arguments->option);
	return cause;
}

/* -N for -n, and -name for --name */
static void try_letter(struct nearest *nearest, const char *word, const char *option,
		       unsigned commands, char meant[OPTION_BYTES])
{
	const char other[] = {'-', (char)(option[1] ^ 0x20), '\0'};
	const struct option_row *row;

	if (strlen(word) > 2 && word[1] == option[1])
		for (size_t i = 0; (row = option_at(i)) != NULL; i++)
			if (option_is_for(row, commands, SOURCE_FLAG) &&
			    strcmp(row->name, word + 1) == 0)
				nearest_try(nearest, row->name);
	if (*nearest->best)
		snprintf(meant, OPTION_BYTES, "--%s", nearest->best);
	else if (find_row(other, commands))
		strcpy(meant, other);
}

static void try_name(struct nearest *nearest, unsigned commands, char meant[OPTION_BYTES])
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		if (option_is_for(row, commands, SOURCE_FLAG))
			nearest_try(nearest, row->name);
	if (*nearest->best)
		snprintf(meant, OPTION_BYTES, "--%s", nearest->best);
}

static bool begins_so(const struct option_row *row, const struct arguments *arguments)
{
	const char *beginning = arguments->option + 2;

	return option_is_for(row, arguments->command->bit, SOURCE_FLAG) &&
	       strncmp(row->name, beginning, strlen(beginning)) == 0;
}

static const char *name_options(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments)
{
	char fitting[CAUSE_MAX_BYTES - 32] = "", word[OPTION_BYTES];
	const struct option_row *row;
	int left = 0, count;

	for (size_t i = 0; (row = option_at(i)) != NULL; i++)
		left += begins_so(row, arguments);
	count = left;
	for (size_t i = 0; count <= NAMED_MAX && (row = option_at(i)) != NULL; i++) {
		if (!begins_so(row, arguments))
			continue;
		snprintf(word, sizeof(word), "--%s", row->name);
		list(fitting, sizeof(fitting), word, left == count, left == 1);
		left--;
	}
	snprintf(cause, CAUSE_MAX_BYTES, "it is ambiguous: it fits %s",
		 *fitting ? fitting : "many options");
	return cause;
}

const char *suggest_option(char cause[CAUSE_MAX_BYTES], const struct arguments *arguments,
			   bool is_ambiguous)
{
	const bool is_front = arguments->command->bit == COMMAND_FRONT;
	const unsigned commands =
		is_front ? (unsigned)COMMAND_ALL : (unsigned)arguments->command->bit;
	const char *option = arguments->option, *word = arguments->argv[arguments->at - 1];
	const struct option_row *elsewhere = find_row(option, COMMAND_ALL);
	const char *synonym = find_synonym(option_synonyms, option_synonym_count, option, commands);
	char meant[OPTION_BYTES] = "", name[sizeof(arguments->option)];
	struct nearest nearest;

	if (elsewhere && (is_front || !synonym))
		return point_to(cause, arguments, elsewhere);
	if (synonym)
		return mean(cause, "option", synonym);
	if (is_ambiguous)
		return name_options(cause, arguments);
	/* --url:URL is meant as --url=URL */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, ":"), option);
	nearest_begin(&nearest, option[1] == '-' ? name + 2 : word + 1);
	if (option[1] == '-')
		try_name(&nearest, commands, meant);
	else
		try_letter(&nearest, word, option, commands, meant);
	return mean(cause, "option", meant);
}
