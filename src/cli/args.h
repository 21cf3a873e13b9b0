/* The command line: words, one option or operand at a time, and the options that they set. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct command;
struct option_row;
struct options;

/* The kind of the next word of a command line. */
enum argument {
	ARGUMENT_END,
	ARGUMENT_OPTION,      /* row, and value unless it is a flag */
	ARGUMENT_OPERAND,     /* value */
	ARGUMENT_COMMAND,     /* argv[at] begins a command line of its own */
	ARGUMENT_NEEDS_VALUE, /* row: the words ended before its value; a mistake, too */
	ARGUMENT_UNKNOWN,     /* option: the command has none that is called so */
	ARGUMENT_AMBIGUOUS,   /* option: the command has several that begin so */
	ARGUMENT_MISTAKE,     /* option, mistake */
};

struct arguments {
	int argc;
	char **argv;
	int at;
	const struct command *command; /* has the options */

	const struct option_row *row;
	char *value;
	char option[64]; /* as it was written, without a value: "--lea", "-x" */
	const char *mistake;

	char *bundle; /* letters that are left of -nq, or NULL */
	int operands;
	bool options_ended;
};

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv);

enum argument arguments_next(struct arguments *arguments);

/* Reads the words before the command: it has the options of all commands, and no others. */
extern const struct command front_command;

/* Moves the command's name in front of the options before it, so that they stand behind it. Moves
 * nothing if there is no command, or if a word before it is a mistake. */
void front_words_move(int count, char **words);

/* Parses the words behind the command's name. Afterwards *argc and argv, which ends with a NULL,
 * hold the operands only. Wipes the password of a --url from argv. Stops where the user
 * asks for help (options_want_help). Returns 0, or -1 with STATUS_USAGE
 * (STATUS_OS: no memory). */
int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err);
