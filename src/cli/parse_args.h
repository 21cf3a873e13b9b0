#pragma once

#include "base/error.h"

struct command;
struct options;

/* Parses the words behind the command's name. In return *argc and argv, which
 * ends with a NULL, hold the operands only. The password of a --url is wiped
 * from argv. At a --help it stops and sets options->help. Returns 0, or -1
 * with STATUS_USAGE (STATUS_OS: no memory). */
int parse_args(struct options *options, const struct command *command, int *argc, char **argv,
	       struct error *err);
