/* The subcommands; src/commands has a file for each. */
#pragma once

#include "base/message.h"
#include "cli/options.h"

struct layout;

/* main prepares this for a command. */
struct invocation {
	const struct options *options;
	const struct server *server;
	struct messenger *messenger;
	int argc; /* the operands: NAME, COMMAND, ARG... */
	char **argv;
};

/* run returns 0 and sets *status to the exit status, or returns -1 and fills *err, which main
 * reports. */
struct command {
	const char *name;
	const char *operands; /* as in the synopsis: "NAME [--] COMMAND [ARG...]", "[NAME...]" */
	const char *summary;  /* for the list of commands in --help */
	const char *examples; /* three lines for --help, each with its newline */
	enum command_bit bit;
	bool runs_words;            /* the words behind NAME are a command line of their own */
	bool takes_lock;            /* told to syslog, and its help has sections */
	const struct layout *table; /* whose columns -o chooses, or NULL */
	bool shows_options;         /* reads the variables and files for all commands */
	int (*run)(const struct invocation *invocation, int *status, struct error *err);
};

extern const struct command wrap_command;
extern const struct command acquire_command;
extern const struct command renew_command;
extern const struct command release_command;
extern const struct command status_command;
extern const struct command queue_command;
extern const struct command log_command;
extern const struct command doctor_command;

/* All of them, in the order of --help; the list ends with a NULL. */
extern const struct command *const all_commands[];

/* Stands for the words before the command's name: it has the options of all commands, and no
 * others. */
extern const struct command front_command;

/* Whether the command takes one more behind so many operands. */
bool command_takes(const struct command *command, int count);

/* The words behind "fairlock --complete": those of a command line, up to the one that is being
 * completed, which may be empty. */
void complete(int argc, char **argv);
