#ifndef FAIRLOCK_COMMAND_H
#define FAIRLOCK_COMMAND_H

#include "base/error.h"

struct options;
struct server;
struct messenger;

/* What main has made ready when it runs a command. */
struct invocation {
	const struct options *options;
	const struct server *server;
	struct messenger *messenger;
	int argc; /* the operands: NAME, COMMAND, ARG... */
	char **argv;
};

/* One subcommand. run returns 0 and sets *status to the exit status, or
 * returns -1 with *err filled, which main reports and turns into its status. */
struct command {
	const char *name;
	const char *operands; /* as in the synopsis: "NAME [--] COMMAND [ARG...]" */
	const char *summary;  /* for the list of commands in --help */
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

#endif
