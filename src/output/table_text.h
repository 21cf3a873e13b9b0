/* Other people's text on its way into libsmartcols and out of it. */
#pragma once

#include <stdbool.h>

struct libscols_table;

/* Returns a copy to free, in which bytes that are not UTF-8 have become U+FFFD, and unless it is
 * for JSON each harmful character a '?', but for those of ASCII: libsmartcols itself sees to them.
 * A raw list keeps all bytes. NULL: no memory. */
char *table_clean(const char *text, bool is_json, bool is_raw);

/* Returns a list of words, or a number, as JSON, to free: A,B becomes ["A","B"]. NULL: no memory.
 */
char *table_json_list(const char *text);

/* Prints the table. In JSON, harmful characters of strings are escaped. Returns -1: no memory. */
int table_print_lines(struct libscols_table *lines);
