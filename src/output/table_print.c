/* Makes a table fit on its screen, and prints it. libsmartcols lays it out, and writes JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/utf8.h"
#include "output/column_fit.h"
#include "output/table.h"
#include "output/table_state.h"
#include "output/table_text.h"

#define WIDTH_OF_NO_TERMINAL 100000

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot print a table: %s", strerror(ENOMEM));
}

static void sort_lines(struct table *table)
{
	scols_sort_table(table->lines, scols_table_get_column(table->lines, table->count));
}

static const char *cell_of(struct libscols_line *line, size_t column)
{
	const char *text = scols_cell_get_data(scols_line_get_cell(line, column));

	return text ? text : "";
}

/* ---- For programs ---- */

/* As lsblk --raw does, but leaves letters of UTF-8 as they are. */
static void put_raw(const char *text)
{
	if (!*text)
		putchar('-');
	else if (strcmp(text, "-") == 0)
		fputs("\\x2d", stdout);
	else
		while (*text) {
			uint32_t code = 0;
			const size_t length = utf8_decode(text, &code);
			const bool is_plain =
				length > 0 && code != ' ' && code != '\\' && !utf8_is_harmful(code);

			for (size_t i = 0; i < (length > 0 ? length : 1); i++, text++)
				printf(is_plain ? "%c" : "\\x%02x", (unsigned char)*text);
		}
}

static void print_raw(const struct table *table)
{
	struct libscols_iter *at = scols_new_iter(SCOLS_ITER_FORWARD);
	struct libscols_line *line;

	for (size_t i = 0; i < table->count && !scols_table_is_noheadings(table->lines); i++)
		printf("%s%c", table->chosen[i]->name, i + 1 < table->count ? ' ' : '\n');
	while (at && scols_table_next_line(table->lines, at, &line) == 0)
		for (size_t i = 0; i < table->count; i++) {
			put_raw(cell_of(line, i));
			putchar(i + 1 < table->count ? ' ' : '\n');
		}
	scols_free_iter(at);
}

/* ---- On a screen ---- */

/* Measures a column. Returns whether one of its cells has a text, and not the common one. */
static bool measure(struct table *table, const struct terminal *terminal, size_t column, int *width)
{
	struct libscols_iter *at = scols_new_iter(SCOLS_ITER_FORWARD);
	struct libscols_line *line;
	const char *common = table->chosen[column]->common;
	bool is_used = false;

	*width = MAX(table->widths[column], terminal_width(terminal, table->chosen[column]->name));
	while (at && scols_table_next_line(table->lines, at, &line) == 0) {
		const char *text = cell_of(line, column);

		is_used |= *text && (!common || strcmp(text, common) != 0);
		*width = MAX(*width, terminal_width(terminal, text));
	}
	scols_free_iter(at);
	return is_used;
}

/* Cuts a cell, and removes from it what could drive the terminal. */
static int cut_cell(struct libscols_line *line, const struct terminal *terminal, size_t column,
		    int width)
{
	const char *text = cell_of(line, column);
	const size_t size = strlen(text) + sizeof("…");
	char *cut;

	if (!*text)
		return 0;
	cut = malloc(size);
	if (!cut)
		return -1;
	terminal_cut(terminal, cut, size, text, width);
	return scols_line_refer_data(line, column, cut);
}

static int cut_cells(struct table *table, const struct terminal *terminal, size_t column, int width)
{
	struct libscols_iter *at = scols_new_iter(SCOLS_ITER_FORWARD);
	struct libscols_line *line;
	int result = at ? 0 : -1;

	while (result == 0 && scols_table_next_line(table->lines, at, &line) == 0)
		result = cut_cell(line, terminal, column, width);
	scols_free_iter(at);
	return result;
}

static void hide(struct table *table, size_t column)
{
	scols_column_set_flags(scols_table_get_column(table->lines, column), SCOLS_FL_HIDDEN);
}

static int fit(struct table *table, const struct terminal *terminal, struct error *err)
{
	struct column_fit columns[CHOSEN_MAX];

	for (size_t i = 0; i < table->count; i++) {
		columns[i] = (struct column_fit){
			.least = table->chosen[i]->least,
			.spare = i < table->usual ? table->chosen[i]->spare : 0,
			.hidden = scols_column_is_hidden(scols_table_get_column(table->lines, i)),
		};
		measure(table, terminal, i, &columns[i].width);
	}
	fit_columns(columns, table->count, terminal->columns);
	for (size_t i = 0; i < table->count; i++) {
		table->widths[i] = columns[i].width;
		if (columns[i].hidden)
			hide(table, i);
		else if (cut_cells(table, terminal, i, columns[i].width) < 0)
			return no_memory(err);
	}
	return 0;
}

static void hide_unused(struct table *table, const struct terminal *terminal)
{
	int width;

	for (size_t i = 0; i < table->usual; i++)
		if (table->chosen[i]->is_rare && !measure(table, terminal, i, &width))
			hide(table, i);
}

/* Colours where there is no terminal (--color=always); the width is as if there were none. */
static void force_colours(struct table *table)
{
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(table->lines, WIDTH_OF_NO_TERMINAL);
}

static void put_nothing(const struct table *table, const struct terminal *terminal)
{
	terminal_put(terminal, table->nothing, terminal_width(terminal, table->nothing));
	putchar('\n');
}

static int print_for_people(struct table *table, struct error *err)
{
	const bool is_on_screen = isatty(STDOUT_FILENO);
	struct terminal terminal;

	terminal_init(&terminal, STDOUT_FILENO);
	if (is_on_screen && scols_table_is_empty(table->lines)) {
		put_nothing(table, &terminal);
		return 0;
	}
	/* later lines are to stand below the first */
	if (!table->is_begun)
		hide_unused(table, &terminal);
	table->is_begun = true;
	if (is_on_screen && fit(table, &terminal, err) < 0)
		return -1;
	if (!is_on_screen && table->is_coloured)
		force_colours(table);
	return scols_print_table(table->lines) < 0 ? no_memory(err) : 0;
}

static int print(struct table *table, struct error *err)
{
	sort_lines(table);
	if (table->is_for_people)
		return print_for_people(table, err);
	if (table->is_raw) {
		if (!scols_table_is_empty(table->lines))
			print_raw(table);
		return 0;
	}
	return table_print_lines(table->lines) < 0 ? no_memory(err) : 0;
}

int table_print(struct table *table, struct error *err)
{
	return print(table, err);
}

char *table_text(struct table *table, int columns, struct error *err)
{
	struct terminal terminal;
	char *text = NULL;

	terminal_init(&terminal, STDOUT_FILENO);
	terminal.columns = columns;
	sort_lines(table);
	hide_unused(table, &terminal);
	scols_table_set_termforce(table->lines, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(table->lines, (size_t)columns);
	if (scols_table_is_empty(table->lines))
		text = strdup(table->nothing);
	else if (fit(table, &terminal, err) < 0 ||
		 scols_print_table_to_string(table->lines, &text) < 0)
		text = NULL;
	if (!text)
		no_memory(err);
	return text;
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
		if (print(table, err) < 0)
			return -1;
		keep_widths(table);
		scols_table_enable_noheadings(table->lines, 1);
		scols_table_remove_lines(table->lines);
	}
	fflush(stdout);
	return 0;
}
