#ifndef FAIRLOCK_OPTION_ROWS_H
#define FAIRLOCK_OPTION_ROWS_H

#include "cli/options.h"

/* A row drives parsing, --help, the environment, files and completion. For options.c. */
extern const struct option_row option_rows[];
extern const size_t option_row_count;

#endif
