/* The names side by side for --help, and one a line with its meaning for `-o help`. */
#include "output/column_help.h"

#include <stdbool.h>
#include <string.h>

#include "output/column_words.h"
#include "output/table.h"

#define LINE_WIDTH 78

void column_help_names(const struct layout *layout, FILE *out)
{
	int used = fprintf(out, "Columns (-o help tells what they are):");

	for (size_t i = 0; i < layout->column_count; i++) {
		const char *name = layout->columns[i].name;
		const bool is_last = i + 1 == layout->column_count;

		if (used + 2 + (int)strlen(name) > LINE_WIDTH)
			used = fprintf(out, "\n ") - 1;
		used += fprintf(out, " %s%s", name, is_last ? "\n" : ",");
	}
}

void column_help_list(const struct layout *layout, FILE *out)
{
	for (size_t i = 0; i < layout->column_count; i++)
		fprintf(out, "%-11s %s\n", layout->columns[i].name,
			column_meaning(layout->columns[i].name));
}
