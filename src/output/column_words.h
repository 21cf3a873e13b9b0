/* The meanings of the columns of all tables, and their names in other programs. */
#pragma once

#include <stdbool.h>

/* The meaning of a column in a few words; "" if the name is no column. */
const char *column_meaning(const char *name);

/* Whether other programs call the column so. Case does not count. */
bool column_is_called(const char *name, const char *word);

#define COLUMN_CAUSE_MAX_BYTES 80

/* A table has no column that is called so: writes the cause. meant is the column that was meant, or
 * "" if nobody knows. Returns cause. */
const char *column_refuse(char cause[COLUMN_CAUSE_MAX_BYTES], const char *word, const char *meant);
