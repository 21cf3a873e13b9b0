/* Reads the words behind a command's name, one option or operand at a time, for parse_args.c and
 * completion. Changes no word. */
#pragma once

#include <stdbool.h>

struct command;
struct option_row;

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
