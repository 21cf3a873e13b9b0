/* Chooses columns, turns values into texts, and makes a table fit on its screen. libsmartcols lays
 * it out, and writes raw lists and JSON lists. */
#include "output/table.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "output/column_fit.h"
#include "output/column_words.h"
#include "output/table_text.h"
#include "output/timestamp.h"

#define CHOSEN_MAX 64

struct table {
	const struct layout *layout;
	struct libscols_table *lines;
	const struct column *chosen[CHOSEN_MAX]; /* of the layout */
	size_t count;
	int widths[CHOSEN_MAX]; /* of the lines that were printed before */
	bool is_for_people;
	bool is_chosen;  /* by -o: no column may be left out */
	bool json_lines; /* each line is a JSON object of its own */
};

static int unknown_column(const struct layout *layout, const char *list, size_t length,
			  struct error *err)
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
	fail(err, STATUS_USAGE, "cannot show column '%s': %s", shorten(shown, word),
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
	while (*list) {
		const size_t length = strcspn(list, ",");
		const struct column *column = find_column(table->layout, list, length);

		if (!column)
			return unknown_column(table->layout, list, length, err);
		if (table->count == CHOSEN_MAX)
			return fail(err, STATUS_USAGE,
				    "cannot show a table: it has more than %d columns", CHOSEN_MAX);
		table->chosen[table->count++] = column;
		list += length;
		list += *list == ',';
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

	if (!asked)
		return choose(table, usual, err);
	if (!*asked)
		return fail(err, STATUS_USAGE, "cannot show a table: it has no columns");
	if (*asked == '+' && choose(table, usual, err) < 0)
		return -1;
	return choose(table, asked + (*asked == '+'), err);
}

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot print a table: %s", strerror(ENOMEM));
}

static int make_column(struct table *table, const struct column *column, struct error *err)
{
	const bool is_right = column->kind == COLUMN_NUMBER || column->kind == COLUMN_DURATION;
	const int type = column->kind == COLUMN_NUMBER    ? SCOLS_JSON_NUMBER
			 : column->kind == COLUMN_BOOLEAN ? SCOLS_JSON_BOOLEAN
							  : SCOLS_JSON_STRING;
	struct libscols_column *made = scols_table_new_column(table->lines, column->name, 0,
							      is_right ? SCOLS_FL_RIGHT : 0);

	return made && scols_column_set_json_type(made, type) == 0 ? 0 : no_memory(err);
}

static int make_lines(struct table *table, const struct options *options, struct error *err)
{
	setlocale(LC_CTYPE, ""); /* how wide a character is */
	table->lines = scols_new_table();
	if (!table->lines || scols_table_set_name(table->lines, table->layout->name) < 0)
		return no_memory(err);
	scols_table_enable_json(table->lines, options->json);
	scols_table_enable_raw(table->lines, options->raw);
	scols_table_enable_noheadings(table->lines, options->no_headings);
	for (size_t i = 0; i < table->count; i++)
		if (make_column(table, table->chosen[i], err) < 0)
			return -1;
	return 0;
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
	table->is_for_people = !options->json && !options->raw;
	table->is_chosen = options->columns != NULL;
	table->json_lines = options->json && options->follow;
	if (choose_columns(table, options, err) < 0 || make_lines(table, options, err) < 0) {
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

/* ---- Lines ---- */

void table_row_number(struct table_row *row, size_t column, int64_t number)
{
	if (number < 0)
		return;
	snprintf(row->numbers[column], sizeof(row->numbers[column]), "%" PRId64, number);
	row->cells[column] = row->numbers[column];
}

/* JSON has numbers without quotes, so a text from the server must be one. */
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
	case COLUMN_BOOLEAN:
		break;
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
	const bool is_json = scols_table_is_json(table->lines);

	for (size_t i = 0; i < table->count; i++) {
		const char *text = text_of(table, row, i, made);
		char *copy = text ? table_clean(text, is_json) : NULL;

		if (text && (!copy || scols_line_refer_data(line, i, copy) < 0))
			return no_memory(err);
	}
	return 0;
}

/* ---- On a screen ---- */

static const char *cell_of(const struct table *table, size_t line, size_t column)
{
	const char *text = scols_line_get_column_data(scols_table_get_line(table->lines, line),
						      scols_table_get_column(table->lines, column));

	return text ? text : "";
}

static int width_of(const struct table *table, const struct terminal *terminal, size_t column)
{
	const size_t lines = scols_table_get_nlines(table->lines);
	int most =
		MAX(table->widths[column], terminal_width(terminal, table->chosen[column]->name));

	for (size_t i = 0; i < lines; i++)
		most = MAX(most, terminal_width(terminal, cell_of(table, i, column)));
	return most;
}

/* Cuts the cells of a column, and removes from them what could drive the terminal. */
static int cut_cells(struct table *table, const struct terminal *terminal, size_t column, int width)
{
	const size_t lines = scols_table_get_nlines(table->lines);
	struct libscols_column *to = scols_table_get_column(table->lines, column);

	for (size_t i = 0; i < lines; i++) {
		const char *text = cell_of(table, i, column);
		const size_t size = strlen(text) + sizeof("…");

		if (!*text)
			continue;
		char *cut = malloc(size);
		if (!cut)
			return -1;
		terminal_cut(terminal, cut, size, text, width);
		scols_line_refer_column_data(scols_table_get_line(table->lines, i), to, cut);
	}
	return 0;
}

static int fit(struct table *table, const struct terminal *terminal, struct error *err)
{
	struct column_fit columns[CHOSEN_MAX];

	for (size_t i = 0; i < table->count; i++)
		columns[i] = (struct column_fit){
			.width = width_of(table, terminal, i),
			.least = table->chosen[i]->least,
			.spare = table->is_chosen ? 0 : table->chosen[i]->spare,
		};
	fit_columns(columns, table->count, terminal->columns);
	for (size_t i = 0; i < table->count; i++) {
		table->widths[i] = columns[i].width;
		if (columns[i].hidden)
			scols_column_set_flags(scols_table_get_column(table->lines, i),
					       SCOLS_FL_HIDDEN);
		else if (cut_cells(table, terminal, i, columns[i].width) < 0)
			return no_memory(err);
	}
	return 0;
}

int table_print(struct table *table, struct error *err)
{
	const bool is_on_screen = table->is_for_people && isatty(STDOUT_FILENO);
	struct terminal terminal;

	if (is_on_screen && scols_table_is_empty(table->lines)) {
		puts(table->layout->nothing);
		return 0;
	}
	if (is_on_screen) {
		terminal_init(&terminal, STDOUT_FILENO);
		if (fit(table, &terminal, err) < 0)
			return -1;
	}
	return table_print_lines(table->lines) < 0 ? no_memory(err) : 0;
}

char *table_text(struct table *table, int columns, struct error *err)
{
	struct terminal terminal;
	char *text = NULL;

	terminal_init(&terminal, STDOUT_FILENO);
	terminal.columns = columns;
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(table->lines, (size_t)columns);
	if (scols_table_is_empty(table->lines))
		text = strdup(table->layout->nothing);
	else if (fit(table, &terminal, err) < 0 ||
		 scols_print_table_to_string(table->lines, &text) < 0)
		text = NULL;
	if (!text)
		no_memory(err);
	return text;
}

void table_colour(struct table *table, const char *colour)
{
	const size_t count = scols_table_get_nlines(table->lines);

	scols_table_enable_colors(table->lines, 1);
	scols_line_set_color(scols_table_get_line(table->lines, count - 1), colour);
}

/* Later lines are to stand below those that were printed. */
static void keep_widths(struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct libscols_column *column = scols_table_get_column(table->lines, i);

		scols_column_set_whint(column, (double)scols_column_get_width(column));
	}
}

int table_flush(struct table *table, struct error *err)
{
	if (!scols_table_is_empty(table->lines)) {
		if (table_print(table, err) < 0)
			return -1;
		keep_widths(table);
		scols_table_enable_noheadings(table->lines, 1);
		scols_table_remove_lines(table->lines);
	}
	fflush(stdout);
	return 0;
}
