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
#include <unistd.h>

#include "base/json.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "output/column_fit.h"
#include "output/column_words.h"

#define CHOSEN_MAX 64

struct table {
	const struct layout *layout;
	struct libscols_table *lines;
	size_t chosen[CHOSEN_MAX]; /* columns of the layout */
	size_t count;
	int widths[CHOSEN_MAX]; /* of what was printed before */
	bool is_for_people;
	bool is_chosen; /* by -o: all columns are wanted */
	bool json_lines;
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

static int choose(struct table *table, const char *list, struct error *err)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		size_t i = 0;

		while (i < table->layout->column_count &&
		       (strlen(table->layout->columns[i].name) != length ||
			strncasecmp(table->layout->columns[i].name, list, length) != 0))
			i++;
		if (i == table->layout->column_count)
			return unknown_column(table->layout, list, length, err);
		if (table->count == CHOSEN_MAX)
			return fail(err, STATUS_USAGE, "cannot show more than %d columns",
				    CHOSEN_MAX);
		table->chosen[table->count++] = i;
		list += length;
		list += *list == ',';
	}
	return 0;
}

static int choose_columns(struct table *table, const struct options *options, struct error *err)
{
	const struct layout *layout = table->layout;
	const char *fallback = options->raw ? layout->raw : layout->people;
	const char *asked = options->columns;

	if (options->json)
		fallback = layout->json;
	if (!asked)
		return choose(table, fallback, err);
	if (!*asked)
		return fail(err, STATUS_USAGE, "cannot show a table without columns");
	if (*asked == '+') {
		if (choose(table, fallback, err) < 0)
			return -1;
		asked++;
	}
	return choose(table, asked, err);
}

static int broken(struct error *err, int code)
{
	return fail(err, STATUS_OS, "cannot print a table: %s",
		    strerror(code < 0 ? -code : ENOMEM));
}

static int make_column(struct table *table, const struct column *column, struct error *err)
{
	struct libscols_column *made;
	int flags = 0, type = SCOLS_JSON_STRING;

	if (column->kind == COLUMN_NUMBER || column->kind == COLUMN_DURATION)
		flags = SCOLS_FL_RIGHT;
	if (column->kind == COLUMN_NUMBER)
		type = SCOLS_JSON_NUMBER;
	else if (column->kind == COLUMN_BOOLEAN)
		type = SCOLS_JSON_BOOLEAN;
	made = scols_table_new_column(table->lines, column->name, 0, flags);
	return made && scols_column_set_json_type(made, type) == 0 ? 0 : broken(err, 0);
}

static int make_lines(struct table *table, const struct options *options, struct error *err)
{
	setlocale(LC_CTYPE, ""); /* how wide a character is */
	table->lines = scols_new_table();
	if (!table->lines || scols_table_set_name(table->lines, table->layout->name) < 0)
		return broken(err, 0);
	scols_table_enable_json(table->lines, options->json);
	scols_table_enable_raw(table->lines, options->raw);
	scols_table_enable_noheadings(table->lines, options->no_headings);
	for (size_t i = 0; i < table->count; i++)
		if (make_column(table, &table->layout->columns[table->chosen[i]], err) < 0)
			return -1;
	return 0;
}

struct table *table_open(const struct layout *layout, const struct options *options,
			 struct error *err)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table) {
		broken(err, 0);
		return NULL;
	}
	table->layout = layout;
	table->is_for_people = !options->json && !options->raw;
	table->is_chosen = options->columns != NULL;
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

/* libsmartcols writes bytes of JSON as they come, and escapes only ASCII's control
 * characters. Returns a copy to free. */
static char *clean(const char *text)
{
	char *copy = malloc(strlen(text) * (sizeof(UTF8_REPLACEMENT) - 1) + 1);
	char *end = copy;

	while (copy && *text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);
		bool usable = length > 0 && !(code >= 0x7f && utf8_is_control(code));

		end = usable ? mempcpy(end, text, length) : stpcpy(end, UTF8_REPLACEMENT);
		text += length > 0 ? length : 1;
	}
	if (copy)
		*end = '\0';
	return copy;
}

/* A number is written without quotes: it must be one, whoever sent it. */
static bool is_number(const char *text)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	return digits > 0 && text[digits] == '\0' && (*text != '0' || digits == 1);
}

void table_stream(struct table *table)
{
	table->json_lines = scols_table_is_json(table->lines);
}

static void print_value(struct json *json, const struct column *column, const char *cell)
{
	if (!cell || !*cell || (column->kind == COLUMN_NUMBER && !is_number(cell)))
		json_text(json, column->name, NULL);
	else if (column->kind == COLUMN_NUMBER)
		json_printf(json, column->name, "%s", cell);
	else if (column->kind == COLUMN_BOOLEAN)
		json_printf(json, column->name, *cell == '1' ? "true" : "false");
	else
		json_text(json, column->name, cell);
}

static void print_object(const struct table *table, const char *const *cells)
{
	struct json json = {0};

	json_open(&json, NULL, '{');
	for (size_t i = 0; i < table->count; i++)
		print_value(&json, &table->layout->columns[table->chosen[i]],
			    cells[table->chosen[i]]);
	json_close(&json, '}');
}

int table_add(struct table *table, const char *const *cells, struct error *err)
{
	struct libscols_line *line;

	if (table->json_lines) {
		print_object(table, cells);
		return 0;
	}
	line = scols_table_new_line(table->lines, NULL);
	if (!line)
		return broken(err, 0);
	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = &table->layout->columns[table->chosen[i]];
		const char *cell = cells[table->chosen[i]];

		if (!cell || !*cell || (column->kind == COLUMN_NUMBER && !is_number(cell)))
			continue;
		char *copy = clean(cell);
		int code = copy ? scols_line_set_data(line, i, copy) : -ENOMEM;

		free(copy);
		if (code < 0)
			return broken(err, code);
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
	int most = terminal_width(terminal, table->layout->columns[table->chosen[column]].name);

	for (size_t i = 0; i < lines; i++) {
		const int width = terminal_width(terminal, cell_of(table, i, column));

		if (width > most)
			most = width;
	}
	return most > table->widths[column] ? most : table->widths[column];
}

/* Cuts the cells, and removes what could drive the terminal. */
static int cut_cells(struct table *table, const struct terminal *terminal, size_t column, int width)
{
	const size_t lines = scols_table_get_nlines(table->lines);
	struct libscols_column *to = scols_table_get_column(table->lines, column);

	for (size_t i = 0; i < lines; i++) {
		const char *text = cell_of(table, i, column);
		const size_t size = strlen(text) + sizeof("…");
		char *cut = malloc(size);
		int code = cut ? 0 : -ENOMEM;

		if (cut)
			terminal_cut(terminal, cut, size, text, width);
		if (cut && *cut)
			code = scols_line_set_column_data(scols_table_get_line(table->lines, i), to,
							  cut);
		free(cut);
		if (code < 0)
			return code;
	}
	return 0;
}

static int fit(struct table *table, const struct terminal *terminal)
{
	struct column_fit columns[CHOSEN_MAX];
	int code = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = &table->layout->columns[table->chosen[i]];

		columns[i] = (struct column_fit){.width = width_of(table, terminal, i),
						 .least = column->least,
						 .spare = table->is_chosen ? 0 : column->spare};
	}
	fit_columns(columns, table->count, terminal->columns);
	for (size_t i = 0; code == 0 && i < table->count; i++) {
		if (columns[i].hidden)
			code = scols_column_set_flags(scols_table_get_column(table->lines, i),
						      SCOLS_FL_HIDDEN);
		else
			code = cut_cells(table, terminal, i, columns[i].width);
		table->widths[i] = columns[i].width;
	}
	return code;
}

static bool is_on_screen(const struct table *table)
{
	return table->is_for_people && isatty(STDOUT_FILENO);
}

int table_print(struct table *table, struct error *err)
{
	struct terminal terminal;
	int code = 0;

	if (is_on_screen(table) && scols_table_is_empty(table->lines)) {
		puts(table->layout->nothing);
		return 0;
	}
	if (is_on_screen(table)) {
		terminal_init(&terminal, STDOUT_FILENO);
		code = fit(table, &terminal);
	}
	if (code == 0)
		code = scols_print_table(table->lines);
	return code < 0 ? broken(err, code) : 0;
}

char *table_text(struct table *table, int columns, struct error *err)
{
	struct terminal terminal;
	char *text = NULL;
	int code;

	if (scols_table_is_empty(table->lines)) {
		text = strdup(table->layout->nothing);
		if (!text)
			broken(err, 0);
		return text;
	}
	terminal_init(&terminal, STDOUT_FILENO);
	terminal.columns = columns;
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(table->lines, (size_t)columns);
	code = fit(table, &terminal);
	if (code == 0)
		code = scols_print_table_to_string(table->lines, &text);
	if (code == 0 && text)
		return text;
	broken(err, code);
	return NULL;
}

void table_colour(struct table *table, const char *colour)
{
	const size_t count = scols_table_get_nlines(table->lines);

	if (!colour || count == 0)
		return;
	scols_table_enable_colors(table->lines, 1);
	scols_line_set_color(scols_table_get_line(table->lines, count - 1), colour);
}

/* Keeps the widths, so that later rows stand below the ones that were printed. */
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
