/* The command line: words, one option or operand at a time, and the options that they set; and the
 * settings that it results in, with the environment, the configuration files and the defaults. */
#pragma once

#include "base/text.h"
#include "cli/options.h"

#define CAUSE_MAX_BYTES 128

struct command;

/* The kind of the next word of a command line. */
enum argument {
	ARGUMENT_END,
	ARGUMENT_OPTION,      /* row, and value unless it is a flag */
	ARGUMENT_OPERAND,     /* value */
	ARGUMENT_COMMAND,     /* argv[at] begins a command line of its own */
	ARGUMENT_NO_COMMAND,  /* value stands in the place of the command, and is none */
	ARGUMENT_NEEDS_VALUE, /* the words ended before it: a mistake, too */
	ARGUMENT_MISTAKE,     /* option, cause */
};

/* Reads the words behind "fairlock", or behind a command's name. Changes no word. Starts as the
 * first three members. */
struct arguments {
	int argc;
	char **argv;
	int at;
	const struct command *command; /* has the options; front_command before its name */

	const struct option_row *row;
	char *value;
	char option[64]; /* as it was written, without a value: "--lea", "-x" */
	char cause[CAUSE_MAX_BYTES];

	char *bundle; /* letters that are left of -nq, or NULL */
	int operands;
	bool options_ended;
};

enum argument arguments_next(struct arguments *arguments);

/* Sets the option that arguments_next has found. Wipes the password of a --url from argv, where ps
 * would show it. Returns 0, or -1 with STATUS_USAGE (STATUS_OS: no memory). */
int arguments_set(struct options *options, const struct arguments *arguments, struct error *err);

/* Parses the words behind "fairlock" (*command is front_command, and becomes the one that they
 * name), or behind a command's name. Afterwards *argc and argv, which ends with a NULL, hold the
 * operands only. If the user asks for help (options_want_help), mistakes do not count. Returns as
 * arguments_set does. */
int parse_args(struct options *options, const struct command **command, int *argc, char **argv,
	       struct error *err);

/* ---- Settings: flags go before the environment, and that before files (settings.c) ---- */

#define PASSWORD_WORDS_BYTES 480

/* The outcome, and its memory. */
struct settings {
	struct options options;
	struct server server;
	char *owned[8]; /* texts and paths that options, their origins and server point to */
	char password_words[PASSWORD_WORDS_BYTES]; /* see struct server */
	char sentinel_from[SHORT_MAX_BYTES];
};

/* Makes *settings hold the defaults and no server. */
void settings_init(struct settings *settings);

/* Sets the options that are not set yet from the environment and the configuration files, and fills
 * settings->server. Returns 0, or -1 with STATUS_USAGE (also for a variable), STATUS_CONFIG or
 * STATUS_OS. */
int settings_merge(struct settings *settings, const struct command *command, struct error *err);

/* Checks and settles options that depend on one another, once all sources are read. Returns 0, or
 * -1 with STATUS_USAGE or STATUS_CONFIG. */
int options_settle(struct options *options, const struct command *command, struct error *err);

/* Gives back the memory that settings_merge took, also if it failed. */
void settings_free(struct settings *settings);
