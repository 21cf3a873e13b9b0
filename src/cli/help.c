/* Lays out the options of a command in groups, and each group in two columns. */
#include "cli/help.h"

#include <stdbool.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

#define HELP_AT 31 /* the column where the texts begin */
#define HELP_WIDTH 79

/* Prints the text of an option; fits: its first line fits beside the option. */
static void print_wrapped(const char *text, bool fits, FILE *out)
{
	int used = fits ? HELP_AT - 1 : HELP_WIDTH;

	while (*text) {
		const int length = (int)strcspn(text, " ");

		if (used + 1 + length > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_AT - 1, "");
			used = HELP_AT - 1;
		}
		fprintf(out, " %.*s", length, text);
		used += 1 + length;
		text += length + (text[length] == ' ');
	}
	putc('\n', out);
}

static void print_row(const struct option_row *row, unsigned bit, FILE *out)
{
	const struct option_words words = option_words(row, bit);
	const bool is_open = option_is_open(row); /* the value may be left out */
	const char *before = is_open ? "[=" : *row->argument ? " " : "";
	char left[48], right[200];

	snprintf(left, sizeof(left), row->letter ? "-%c, --%s%s%s%s" : "%c   --%s%s%s%s",
		 row->letter ? row->letter : ' ', row->name, before, row->argument,
		 is_open ? "]" : "");
	snprintf(right, sizeof(right), *words.fallback ? "%s (default: %s)" : "%s", words.help,
		 words.fallback);
	fprintf(out, "  %-*s", HELP_AT - 3, left);
	print_wrapped(right, strlen(left) < HELP_AT - 2, out);
}

/* Prints the options of the server, which are the first section, or the others. heading: one for
 * all; NULL: that of each section. */
static void print_options(const struct command *command, bool of_server, const char *heading,
			  FILE *out)
{
	const struct option_row *row;
	const char *section = NULL, *told = NULL;

	for (size_t i = 0; (row = option_at(i)); i++) {
		if (row->section)
			section = row->section;
		if ((section == option_at(0)->section) != of_server ||
		    !option_is_for(row, command->bit, SOURCE_FLAG))
			continue;
		if (!told || (!heading && told != section))
			fprintf(out, "\n%s:\n", heading ? heading : section);
		told = section;
		print_row(row, command->bit, out);
	}
}

void help_print(const struct command *command, FILE *out)
{
	fprintf(out, "Usage: fairlock %s [options] %s\n\nExamples of how to %s:\n%s", command->name,
		command->operands, command->summary, command->examples);
	/* only wrap and acquire have enough of them for sections */
	print_options(command, false, command->takes_lock ? NULL : "Options", out);
	putc('\n', out);
}

void help_print_end(const struct command *command, FILE *out)
{
	fprintf(out,
		"DUR: a number with a unit (ms s m h d w; none: seconds), or a sum: 90, 1h30m.\n"
		"The server's options: fairlock --help. More: fairlock-%s(1), fairlock(1).\n",
		command->name);
}

void help_print_commands(FILE *out)
{
	fputs("Usage: fairlock COMMAND [options] [NAME...]\n"
	      "\n"
	      "A fair lock on Redis or Valkey: the first to ask is the first to get it.\n"
	      "\n"
	      "Examples:\n"
	      "  fairlock wrap backup ./backup.sh      wait for the lock, then run it\n"
	      "  fairlock wrap -n backup ./backup.sh   exit with 75 if the lock is busy\n"
	      "  fairlock status                       show who holds the locks\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; all_commands[i]; i++)
		fprintf(out, "  %-9s %s\n", all_commands[i]->name, all_commands[i]->summary);
	print_options(&front_command, false, "Options of all commands, before or behind COMMAND",
		      out);
	print_options(&front_command, true, NULL, out);
	fputs("\nThe help of a command: fairlock help COMMAND, or its page fairlock-COMMAND(1).\n"
	      "The version: fairlock version. Servers and variables: fairlock(1).\n",
	      out);
}
