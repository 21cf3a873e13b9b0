/* Counts conditions that hold and that do not, for one unit test. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct tally {
	int passed, failed;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CHECK(tally, condition) check(tally, condition, __FILE__, __LINE__, #condition)

static inline void check(struct tally *tally, bool holds, const char *file, int line,
			 const char *what)
{
	if (holds) {
		tally->passed++;
		return;
	}
	tally->failed++;
	printf("%s:%d: does not hold: %s\n", file, line, what);
}

/* Prints the counts; returns main's exit status. */
static inline int conclude(const struct tally *tally)
{
	printf("%d passed, %d failed\n", tally->passed, tally->failed);
	return tally->failed || tally->passed == 0;
}
