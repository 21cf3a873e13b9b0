/* Whole decimal numbers, as people write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Parses a text of so many digits; without any it is 0. Returns 0, or -1 when there is something
 * else in it or the number does not fit. */
int number_parse(const char *text, size_t length, int64_t *number);
