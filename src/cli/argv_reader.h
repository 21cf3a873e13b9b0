#pragma once

#include <stdbool.h>

struct command;
struct option_row;

/* The kind of the next word of a command line. */
enum argument {
	ARGUMENT_END,
	ARGUMENT_OPTION,  /* row, and value unless it is a flag */
	ARGUMENT_OPERAND, /* value */
	ARGUMENT_COMMAND, /* argv[at] and what follows is a command line of its own */
	ARGUMENT_UNKNOWN, /* from here on: mistakes, in option */
	ARGUMENT_AMBIGUOUS,
	ARGUMENT_NEEDS_VALUE, /* row: the words ended before its value */
	ARGUMENT_TAKES_NO_VALUE,
};

/* Reads the words behind a command's name, one option or operand at a time. */
struct arguments {
	int argc;
	char **argv;
	int at;
	unsigned command; /* its bit: whose options there are */
	bool runs_words;  /* the second operand, or a --, begins COMMAND */

	const struct option_row *row;
	char *value;
	char option[64]; /* as it was written, without a value: "--lea", "-x" */

	char *bundle; /* letters that are left of -nq, or NULL */
	int operands;
	bool options_ended;
};

void arguments_init(struct arguments *arguments, const struct command *command, int argc,
		    char **argv);

enum argument arguments_next(struct arguments *arguments);
