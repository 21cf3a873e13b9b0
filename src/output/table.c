/* Chooses the columns of a table, turns values into texts, and sorts the lines. */
#include "output/table.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/natural_order.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "output/column_words.h"
#include "output/table_state.h"
#include "output/table_text.h"
#include "output/timestamp.h"

static int unknown_column(const struct layout *layout, const char *verb, const char *list,
			  size_t length, struct error *err)
{
	char shown[SHORT_MAX_BYTES], cause[COLUMN_CAUSE_MAX_BYTES], *word = strndup(list, length);
	const char *meant = NULL;
	struct nearest nearest;

	if (!word)
		return fail(err, STATUS_OS, "cannot show a table: %s", strerror(ENOMEM));
	nearest_begin(&nearest, word);
	for (size_t i = 0; i < layout->column_count; i++) {
		nearest_try(&nearest, layout->columns[i].name);
		if (!meant && column_is_called(layout->columns[i].name, word))
			meant = layout->columns[i].name;
	}
	fail(err, STATUS_USAGE, "cannot %s column '%s': %s", verb, shorten(shown, word),
	     column_refuse(cause, word, meant ? meant : nearest.best));
	free(word);
	return -1;
}

static const struct column *find_column(const struct layout *layout, const char *name,
					size_t length)
{
	for (size_t i = 0; i < layout->column_count; i++) {
		const struct column *column = &layout->columns[i];

		if (strlen(column->name) == length && strncasecmp(column->name, name, length) == 0)
			return column;
	}
	return NULL;
}

static int choose(struct table *table, const char *list, struct error *err)
{
	bool goes_on = *list;

	while (goes_on) {
		const size_t length = strcspn(list, ",");
		const struct column *column = find_column(table->layout, list, length);

		if (!column)
			return unknown_column(table->layout, "show", list, length, err);
		if (table->count == CHOSEN_MAX)
			return fail(err, STATUS_USAGE,
				    "cannot show a table: it has more than %d columns", CHOSEN_MAX);
		table->chosen[table->count++] = column;
		list += length;
		goes_on = *list == ',';
		list += goes_on;
	}
	return 0;
}

static int choose_columns(struct table *table, const struct options *options, struct error *err)
{
	const struct layout *layout = table->layout;
	const char *usual = options->json  ? layout->json
			    : options->raw ? layout->raw
					   : layout->people;
	const char *asked = options->columns;

	if ((!asked || *asked == '+') && choose(table, usual, err) < 0)
		return -1;
	table->usual = table->count;
	if (!asked)
		return 0;
	if (!*asked)
		return fail(err, STATUS_USAGE, "cannot show a table: it has no columns");
	return choose(table, asked + (*asked == '+'), err);
}

static int choose_sorting(struct table *table, const char *name, struct error *err)
{
	table->sorting = name ? find_column(table->layout, name, strlen(name)) : NULL;
	return name && !table->sorting
		       ? unknown_column(table->layout, "sort by", name, strlen(name), err)
		       : 0;
}

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot print a table: %s", strerror(ENOMEM));
}

static int make_column(struct table *table, const struct column *column, struct error *err)
{
	const bool is_right = column->kind == COLUMN_NUMBER || column->kind == COLUMN_DURATION;
	/* the library writes what is a number as it is: so our arrays are numbers to it */
	const int type = column->kind == COLUMN_NUMBER    ? SCOLS_JSON_NUMBER
			 : column->kind == COLUMN_LIST    ? SCOLS_JSON_NUMBER
			 : column->kind == COLUMN_BOOLEAN ? SCOLS_JSON_BOOLEAN
							  : SCOLS_JSON_STRING;
	struct libscols_column *made = scols_table_new_column(table->lines, column->name, 0,
							      is_right ? SCOLS_FL_RIGHT : 0);

	if (!made || scols_column_set_json_type(made, type) < 0 ||
	    (table->is_coloured && scols_cell_set_color(scols_column_get_header(made), "bold") < 0))
		return no_memory(err);
	return 0;
}

/* Unknown values come first, as in lsblk(8); numbers are sorted as numbers, job2 before job10. */
static int compare_cells(struct libscols_cell *a, struct libscols_cell *b, void *unused)
{
	const char *x = scols_cell_get_data(a), *y = scols_cell_get_data(b);

	(void)unused;
	return x && y ? natural_order(x, y) : (x != NULL) - (y != NULL);
}

static int make_key_column(struct table *table, struct error *err)
{
	struct libscols_column *key = scols_table_new_column(table->lines, "", 0, SCOLS_FL_HIDDEN);

	return key && scols_column_set_cmpfunc(key, compare_cells, NULL) == 0 ? 0 : no_memory(err);
}

static int make_lines(struct table *table, const struct options *options, struct error *err)
{
	setlocale(LC_CTYPE, ""); /* how wide a character is */
	table->lines = scols_new_table();
	if (!table->lines || scols_table_set_name(table->lines, table->layout->name) < 0)
		return no_memory(err);
	scols_table_enable_json(table->lines, options->json);
	scols_table_enable_colors(table->lines, table->is_coloured);
	scols_table_enable_noheadings(table->lines, options->no_headings);
	for (size_t i = 0; i < table->count; i++)
		if (make_column(table, table->chosen[i], err) < 0)
			return -1;
	return make_key_column(table, err);
}

struct table *table_open(const struct layout *layout, const struct options *options,
			 struct error *err)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table) {
		no_memory(err);
		return NULL;
	}
	table->layout = layout;
	table->nothing = layout->nothing;
	table->is_raw = options->raw;
	table->is_json = options->json;
	table->is_for_people = !options->json && !options->raw;
	table->is_coloured =
		table->is_for_people && terminal_colours(options->colour, STDOUT_FILENO);
	table->json_lines = options->json && options->follow;
	if (choose_columns(table, options, err) < 0 ||
	    choose_sorting(table, options->sort, err) < 0 || make_lines(table, options, err) < 0) {
		table_close(table);
		return NULL;
	}
	return table;
}

void table_close(struct table *table)
{
	if (!table)
		return;
	if (table->lines)
		scols_unref_table(table->lines);
	free(table);
}

bool table_is_for_people(const struct table *table)
{
	return table->is_for_people;
}

void table_when_empty(struct table *table, const char *nothing)
{
	table->nothing = nothing;
}

/* ---- Lines ---- */

void table_row_number(struct table_row *row, size_t column, int64_t number)
{
	if (number < 0)
		return;
	snprintf(row->numbers[column], sizeof(row->numbers[column]), "%" PRId64, number);
	row->cells[column] = row->numbers[column];
}

/* A number is written without quotes: it must be one, whoever sent it. */
static bool is_number(const char *text)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	return digits > 0 && text[digits] == '\0' && (*text != '0' || digits == 1);
}

/* The text for the i-th chosen column, or NULL. It may lie in made. */
static const char *text_of(const struct table *table, const struct table_row *row, size_t i,
			   char made[TIMESTAMP_MAX_BYTES])
{
	const char *cell = row->cells[table->chosen[i] - table->layout->columns];

	if (!cell || !*cell)
		return NULL;
	switch (table->chosen[i]->kind) {
	case COLUMN_TEXT:
	case COLUMN_LIST:
		break;
	case COLUMN_BOOLEAN:
		return table->is_json ? cell : *cell == '1' ? "yes" : "no";
	case COLUMN_NUMBER:
		return is_number(cell) ? cell : NULL;
	case COLUMN_DURATION:
		return is_number(cell) ? duration_show(made, strtoll(cell, NULL, 10)) : cell;
	case COLUMN_TIME:
		return table->is_for_people ? timestamp_local(made, strtoll(cell, NULL, 10),
							      table->chosen[i]->form)
					    : timestamp_rfc3339(made, strtoll(cell, NULL, 10));
	}
	return cell;
}

static void print_value(struct json *json, const struct column *column, const char *text)
{
	if (text && column->kind == COLUMN_NUMBER)
		json_printf(json, column->name, "%s", text);
	else if (text && column->kind == COLUMN_BOOLEAN)
		json_printf(json, column->name, *text == '1' ? "true" : "false");
	else
		json_text(json, column->name, text);
}

static void print_object(const struct table *table, const struct table_row *row)
{
	struct json json = {0};
	char made[TIMESTAMP_MAX_BYTES];

	json_open(&json, NULL, '{');
	for (size_t i = 0; i < table->count; i++)
		print_value(&json, table->chosen[i], text_of(table, row, i, made));
	json_close(&json, '}');
}

static int colour_cells(const struct table *table, struct libscols_line *line,
			const struct table_row *row)
{
	for (size_t i = 0; i < table->count && table->is_coloured; i++) {
		const char *colour = row->colours[table->chosen[i] - table->layout->columns];

		if (colour && scols_cell_set_color(scols_line_get_cell(line, i), colour) < 0)
			return -1;
	}
	return 0;
}

/* The text that the lines are sorted by: the cell of --sort, or the rank. */
static int set_key(const struct table *table, struct libscols_line *line,
		   const struct table_row *row, struct error *err)
{
	const struct column *sorting = table->sorting;
	const char *cell = sorting ? row->cells[sorting - table->layout->columns] : NULL;
	char rank[16];

	snprintf(rank, sizeof(rank), "%u", row->rank);
	if (sorting && (!cell || !*cell))
		return 0;
	return scols_line_set_data(line, table->count, sorting ? cell : rank) < 0 ? no_memory(err)
										  : 0;
}

/* The cell as libsmartcols gets it. */
static char *copy_of(const struct table *table, const char *text, enum column_kind kind)
{
	return table->is_json && kind == COLUMN_LIST
		       ? table_json_list(text)
		       : table_clean(text, table->is_json, table->is_raw);
}

int table_add(struct table *table, const struct table_row *row, struct error *err)
{
	char made[TIMESTAMP_MAX_BYTES];
	struct libscols_line *line;

	if (table->json_lines) {
		print_object(table, row);
		return 0;
	}
	line = scols_table_new_line(table->lines, NULL);
	if (!line)
		return no_memory(err);
	for (size_t i = 0; i < table->count; i++) {
		const char *text = text_of(table, row, i, made);
		char *copy = text ? copy_of(table, text, table->chosen[i]->kind) : NULL;

		if (text && (!copy || scols_line_refer_data(line, i, copy) < 0)) {
			free(copy);
			return no_memory(err);
		}
	}
	return colour_cells(table, line, row) < 0 ? no_memory(err) : set_key(table, line, row, err);
}
