/* The command line as options and operands. */
#pragma once

#include "base/error.h"

struct command;
struct options;

/* Parses the words behind the command's name. Afterwards *argc and argv, which ends with a NULL,
 * hold the operands only. Wipes the password of a --url from argv. Stops where the user
 * asks for help (options_want_help). Returns 0, or -1 with STATUS_USAGE
 * (STATUS_OS: no memory). */
int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err);
