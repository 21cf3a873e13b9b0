/* Reads the members of struct options by their rows. */
#include "same.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const char *const *a, const char *const *b)
{
	while (*a && same_text(*a, *b))
		a++, b++;
	return !*a && !*b;
}

static bool same_value(const void *a, const void *b, enum option_kind kind)
{
	switch (kind) {
	case OPTION_FLAG:
		return *(const bool *)a == *(const bool *)b;
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_URL:
	case OPTION_REASON:
	case OPTION_COLUMNS:
	case OPTION_COLUMN:
	case OPTION_OWNER:
	case OPTION_SLOTS:
	case OPTION_SLOT:
		return same_text(*(const char *const *)a, *(const char *const *)b);
	case OPTION_ALSO:
		return same_list(a, b);
	case OPTION_DURATION:
	case OPTION_PERIOD:
	case OPTION_NUMBER:
		return *(const int64_t *)a == *(const int64_t *)b;
	case OPTION_INT:
	case OPTION_SIGNAL:
		return *(const int *)a == *(const int *)b;
	case OPTION_COLOUR:
		return *(const enum colour_choice *)a == *(const enum colour_choice *)b;
	}
	return false;
}

bool same_options(const struct options *a, const struct options *b)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_at(i)); i++)
		if (options_has(a, row) != options_has(b, row) ||
		    !same_value((const char *)a + row->offset, (const char *)b + row->offset,
				row->kind))
			return false;
	return a->help == b->help && a->version == b->version && a->no_wait == b->no_wait;
}

void value_of(char *text, size_t size, const struct options *options, const struct option_row *row)
{
	const void *member = (const char *)options + row->offset;
	const char *string;

	text[0] = '\0';
	switch (row->kind) {
	case OPTION_FLAG:
		snprintf(text, size, "%s", *(const bool *)member ? "true" : "false");
		break;
	case OPTION_TEXT:
	case OPTION_FILE:
	case OPTION_URL:
	case OPTION_REASON:
	case OPTION_COLUMNS:
	case OPTION_COLUMN:
	case OPTION_OWNER:
	case OPTION_SLOTS:
	case OPTION_SLOT:
		string = *(const char *const *)member;
		snprintf(text, size, "%s", string ? string : "");
		break;
	case OPTION_ALSO: /* no file has it */
		break;
	case OPTION_DURATION:
	case OPTION_PERIOD:
		snprintf(text, size, "%" PRId64 "ms", *(const int64_t *)member);
		break;
	case OPTION_NUMBER:
		snprintf(text, size, "%" PRId64, *(const int64_t *)member);
		break;
	case OPTION_INT:
	case OPTION_SIGNAL:
		snprintf(text, size, "%d", *(const int *)member);
		break;
	case OPTION_COLOUR:
		snprintf(text, size, "%s", colour_words[*(const enum colour_choice *)member]);
		break;
	}
}
