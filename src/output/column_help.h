/* Tells users which columns a table has. */
#pragma once

#include <stdio.h>

struct layout;

/* Prints the names, for --help. */
void column_help_names(const struct layout *layout, FILE *out);

/* Prints the names and what they mean, one a line, for `-o help`. */
void column_help_list(const struct layout *layout, FILE *out);
