/* libsmartcols cannot do this: it cuts all columns alike, down to their headings and without a
 * mark, and if that is not enough it drops the last columns, not the least important ones. */
#include "output/column_fit.h"

static int narrowest(const struct column_fit *column)
{
	return column->least > 0 && column->least < column->width ? column->least : column->width;
}

/* How wide the table is, as it is or with its columns cut as far as they may be. */
static int total(const struct column_fit *columns, size_t count, bool is_cut)
{
	int sum = -1;

	for (size_t i = 0; i < count; i++)
		if (!columns[i].hidden)
			sum += (is_cut ? narrowest(&columns[i]) : columns[i].width) + 1;
	return sum;
}

static bool leave_one_out(struct column_fit *columns, size_t count)
{
	struct column_fit *chosen = NULL;

	for (size_t i = 0; i < count; i++)
		if (!columns[i].hidden && columns[i].spare > (chosen ? chosen->spare : 0))
			chosen = &columns[i];
	if (chosen)
		chosen->hidden = true;
	return chosen != NULL;
}

/* Cuts the widest by one. */
static bool cut_one(struct column_fit *columns, size_t count)
{
	struct column_fit *widest = NULL;

	for (size_t i = 0; i < count; i++)
		if (!columns[i].hidden && narrowest(&columns[i]) < columns[i].width &&
		    (!widest || columns[i].width > widest->width))
			widest = &columns[i];
	if (widest)
		widest->width--;
	return widest != NULL;
}

void fit_columns(struct column_fit *columns, size_t count, int room)
{
	while (total(columns, count, true) > room && leave_one_out(columns, count))
		;
	while (total(columns, count, false) > room && cut_one(columns, count))
		;
}
