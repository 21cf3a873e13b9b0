/* Lays out the options of a command in two columns. */
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
	struct option_words words;
	const bool is_open = option_is_open(row); /* the value may be left out */
	const char *before = is_open ? "[=" : *row->argument ? " " : "";
	char left[48], right[200];

	snprintf(left, sizeof(left), row->letter ? "-%c, --%s%s%s%s" : "%c   --%s%s%s%s",
		 row->letter ? row->letter : ' ', row->name, before, row->argument,
		 is_open ? "]" : "");
	option_words(&words, row, bit);
	snprintf(right, sizeof(right), *words.fallback ? "%s (default: %s)" : "%s", words.help,
		 words.fallback);
	fprintf(out, "  %-*s", HELP_AT - 3, left);
	print_wrapped(right, strlen(left) < HELP_AT - 2, out);
}

static void print_rows(unsigned bit, bool of_all, FILE *out)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)); i++)
		if (option_is_for(row, bit, SOURCE_FLAG) &&
		    (row->commands == COMMAND_ALL) == of_all)
			print_row(row, bit, out);
}

void help_print(const struct command *command, FILE *out)
{
	const unsigned bit = command->bit;

	fprintf(out, "Usage: fairlock %s [options] %s\n\nExamples of how to %s:\n%s\nOptions:\n",
		command->name, command->operands, command->summary, command->examples);
	print_rows(bit, false, out);
	fputs("\nOptions of all commands:\n", out);
	print_rows(bit, true, out);
	putc('\n', out);
}

void help_print_end(const struct command *command, FILE *out)
{
	fprintf(out,
		"DUR is a number with a unit (ms, s, m, h, d, w; no unit: seconds), or a sum:\n"
		"90, 0.5, 1h30m. See fairlock-%s(1) for more, fairlock(1) for servers and\n"
		"variables, fairlock.conf(5) for files.\n",
		command->name);
}

void help_print_commands(const struct command *const *commands, FILE *out)
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
	for (; *commands; commands++)
		fprintf(out, "  %-9s %s\n", (*commands)->name, (*commands)->summary);
	fputs("\nOptions of all commands, before or behind COMMAND:\n", out);
	print_rows(COMMAND_FRONT, true, out);
	fputs("\nThe help of a command: fairlock help COMMAND, or its page fairlock-COMMAND(1).\n"
	      "The version: fairlock version. Servers and variables: fairlock(1).\n",
	      out);
}
