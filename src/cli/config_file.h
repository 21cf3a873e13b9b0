/* Reads one configuration file into the options: lines "name = value". */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct options;

/* Checks every line of a configuration file, and sets the options that the command (its bit, see
 * cli/command.h) has and that no source that goes first has set. They point into *text, which the
 * caller frees. With may_miss a file that does not exist is none; *text stays as it is. Returns 0,
 * or -1 with STATUS_CONFIG or STATUS_OS. */
int config_file_read(struct options *options, unsigned command, const char *path, bool may_miss,
		     char **text, struct error *err);
