/* Reads one configuration file into the options: lines "name = value". */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct options;

/* Reads a configuration file, checks every line of it, and takes over what concerns the command
 * (its bit, see cli/options.h) and no source that goes first has said. The options then point into
 * *text, which is the caller's to free. With may_miss there need be no such file; *text stays as it
 * is then. Returns 0, or -1 with STATUS_CONFIG or STATUS_OS. */
int config_file_read(struct options *options, unsigned command, const char *path, bool may_miss,
		     char **text, struct error *err);
