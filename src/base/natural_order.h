/* job2 before job10. strverscmp(3) of musl 1.2.3 takes every number for more than any word. */
#pragma once

/* Compares bytes, but numbers by their value, except those that begin with 0. Returns less than 0,
 * 0 or more, like strcmp(3). */
int natural_order(const char *a, const char *b);
