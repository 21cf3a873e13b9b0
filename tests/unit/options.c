/* The texts of the table of options end, and each row has what its kind needs. */
#include <string.h>

#include "check.h"
#include "cli/options.h"

/* A text that fills its array has no NUL, and C does not mind. */
#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

int main(void)
{
	struct tally tally = {0};

	for (const struct option_row *row = option_rows; row->name; row++) {
		CHECK(&tally, ENDS(row->fallback) && ENDS(row->expects));
		CHECK(&tally, *row->name && *row->help);
		CHECK(&tally, !*row->argument == (row->kind == OPTION_FLAG));
	}
	return conclude(&tally);
}
