/* Compares options, for fuzz targets that say the same in two ways. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct option_row;
struct options;

/* Both NULL, or the same text. */
bool same_text(const char *a, const char *b);

/* Whether all options have the same values, wherever these are from. */
bool same_options(const struct options *a, const struct options *b);

/* Writes the value that a row has, as it may be written in a file; "" for none. */
void value_of(char *text, size_t size, const struct options *options, const struct option_row *row);
