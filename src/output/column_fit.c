#include "output/column_fit.h"

static int excess(const struct column_fit *columns, size_t count, int room)
{
	int total = -1;

	for (size_t i = 0; i < count; i++)
		if (!columns[i].hidden)
			total += columns[i].width + 1;
	return total - room;
}

static bool may_be_cut(const struct column_fit *column)
{
	return !column->hidden && column->least > 0 && column->width > column->least;
}

static int slack(const struct column_fit *columns, size_t count)
{
	int total = 0;

	for (size_t i = 0; i < count; i++)
		if (may_be_cut(&columns[i]))
			total += columns[i].width - columns[i].least;
	return total;
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
		if (may_be_cut(&columns[i]) && (!widest || columns[i].width > widest->width))
			widest = &columns[i];
	if (widest)
		widest->width--;
	return widest != NULL;
}

void fit_columns(struct column_fit *columns, size_t count, int room)
{
	while (excess(columns, count, room) > slack(columns, count) &&
	       leave_one_out(columns, count))
		;
	while (excess(columns, count, room) > 0 && cut_one(columns, count))
		;
}
