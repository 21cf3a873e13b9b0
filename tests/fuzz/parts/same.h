/* Compares options, for fuzz targets that say the same in two ways. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct option_row;
struct options;

/* Whether both are NULL, or the same text. */
bool same_text(const char *a, const char *b);

/* Whether all options have the same values, from whatever source. */
bool same_options(const struct options *a, const struct options *b);

/* Writes the value of a row as a configuration file may have it; "": it has none. */
void value_of(char *text, size_t size, const struct options *options, const struct option_row *row);
