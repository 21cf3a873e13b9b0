/* Chooses the columns of a table, turns values into texts, sorts the lines, makes them fit on a
 * screen, and prints them. */
#include "output/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <unistd.h>
#include <wchar.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/natural_order.h"
#include "base/shorten.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/guess.h"
#include "cli/options.h"
#include "output/column_words.h"

#define CHOSEN_MAX 64
#define NOTHING_MAX_BYTES 2048
#define ESCAPED_MAX_BYTES 12 /* what a byte may become: U+FFFD, whose bytes are escaped */

/* A column of the layout that is to be printed. */
struct chosen {
	const struct column *column;
	bool is_usual; /* it may be left out: -o does not name it */
	bool is_hidden;
	int width; /* of all lines so far */
};

struct cell {
	char *text; /* as it is printed; in JSON before it is put in quotes */
	enum table_colour colour;
};

struct line {
	char *key;     /* what the lines are sorted by: the cell of --sort, or the rank */
	size_t number; /* keeps lines of the same key in the order of their making */
	struct cell *cells;
};

struct table {
	const struct layout *layout;
	const struct options *options;
	struct chosen chosen[CHOSEN_MAX];
	size_t count;
	const struct column *sorting; /* NULL: by the ranks of the rows */
	const char *nothing;          /* what a screen shows if there are no lines */
	const char *last;             /* what it shows below the lines; NULL: nothing */
	struct line *lines;
	size_t line_count;
	struct terminal terminal;
	bool is_on_screen; /* a table for people, on a terminal */
	bool is_coloured;
	bool is_begun; /* lines were printed before */
};

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot print a table: %s", strerror(ENOMEM));
}

/* ---- Columns ---- */

static void refuse_column(const struct layout *layout, const char *verb, const char *name,
			  struct error *err)
{
	char shown[SHORT_MAX_BYTES], cause[COLUMN_CAUSE_MAX_BYTES];
	const char *meant = NULL;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < layout->column_count; i++) {
		nearest_try(&nearest, layout->columns[i].name);
		if (!meant && column_is_called(layout->columns[i].name, name))
			meant = layout->columns[i].name;
	}
	fail(err, STATUS_USAGE, "cannot %s column '%s': %s", verb, shorten(shown, name),
	     column_refuse(cause, name, meant ? meant : nearest.best));
}

static const struct column *find_column(const struct layout *layout, const char *verb,
					const char *name, struct error *err)
{
	for (size_t i = 0; i < layout->column_count; i++)
		if (strcasecmp(layout->columns[i].name, name) == 0)
			return &layout->columns[i];
	refuse_column(layout, verb, name, err);
	return NULL;
}

static int choose(struct table *table, const char *list, bool is_usual, struct error *err)
{
	char *copy = strdup(list), *rest = copy, *name;
	int result = copy ? 0 : no_memory(err);

	while (result == 0 && *list && (name = strsep(&rest, ",")) != NULL) {
		const struct column *column = find_column(table->layout, "show", name, err);

		if (!column)
			result = -1;
		else if (table->count == CHOSEN_MAX)
			result = fail(err, STATUS_USAGE,
				      "cannot show a table: it has more than %d columns",
				      CHOSEN_MAX);
		else
			table->chosen[table->count++] = (struct chosen){
				column, is_usual, .width = (int)strlen(column->name)};
	}
	free(copy);
	return result;
}

static int choose_columns(struct table *table, struct error *err)
{
	const struct layout *layout = table->layout;
	const char *asked = table->options->columns;
	const char *usual = table->options->json                    ? layout->json
			    : table->options->raw                   ? layout->raw
			    : table->is_on_screen && layout->screen ? layout->screen
								    : layout->people;

	if ((!asked || *asked == '+') && choose(table, usual, true, err) < 0)
		return -1;
	if (!asked)
		return 0;
	if (!*asked)
		return fail(err, STATUS_USAGE, "cannot show a table: it has no columns");
	return choose(table, asked + (*asked == '+'), false, err);
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
	table->options = options;
	table->nothing = layout->nothing;
	table->is_on_screen = isatty(STDOUT_FILENO) == 1 && table_is_for_people(table);
	table->is_coloured =
		terminal_colours(options->colour, STDOUT_FILENO) && table_is_for_people(table);
	terminal_init(&table->terminal, STDOUT_FILENO);
	if (options->sort)
		table->sorting = find_column(layout, "sort by", options->sort, err);
	if (choose_columns(table, err) == 0 && (table->sorting || !options->sort))
		return table;
	table_close(table);
	return NULL;
}

static void remove_lines(struct table *table)
{
	for (size_t i = 0; i < table->line_count; i++) {
		for (size_t c = 0; c < table->count; c++)
			free(table->lines[i].cells[c].text);
		free(table->lines[i].cells);
		free(table->lines[i].key);
	}
	table->line_count = 0;
}

void table_close(struct table *table)
{
	if (!table)
		return;
	remove_lines(table);
	free(table->lines);
	free(table);
}

bool table_is_for_people(const struct table *table)
{
	return !table->options->json && !table->options->raw;
}

bool table_is_short(const struct table *table)
{
	return table->is_on_screen && !table->options->columns;
}

void table_when_empty(struct table *table, const char *nothing)
{
	table->nothing = nothing;
}

void table_end(struct table *table, const char *last)
{
	table->last = last;
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

/* The text of a cell, "" if it is unknown. It may lie in made. */
static const char *text_of(const struct table *table, const struct column *column, const char *cell,
			   char made[TIMESTAMP_MAX_BYTES])
{
	if (!cell || !*cell)
		return "";
	switch (column->kind) {
	case COLUMN_TEXT:
	case COLUMN_LIST:
		break;
	case COLUMN_BOOLEAN:
		return table->options->json ? cell : *cell == '1' ? "yes" : "no";
	case COLUMN_NUMBER:
		return is_number(cell) ? cell : "";
	case COLUMN_DURATION:
		return is_number(cell) ? duration_show(made, strtoll(cell, NULL, 10)) : cell;
	case COLUMN_TIME:
		if (!table_is_for_people(table))
			return timestamp_rfc3339(made, strtoll(cell, NULL, 10));
		return timestamp_local(made, strtoll(cell, NULL, 10),
				       table->is_on_screen ? TIMESTAMP_LONG : column->form);
	}
	return cell;
}

/* Whether the bytes of a character are written as \xe4, as lsblk(8) does: with --raw those of
 * blanks, in a file or a pipe those of what the locale cannot show. */
static bool is_escaped(const struct table *table, uint32_t code, const char *next)
{
	if (table->options->raw)
		return code == ' ' || code == '\\' || utf8_is_harmful(code);
	if (table->is_on_screen)
		return false; /* terminal_cut sees to what is harmful there */
	if (code < 0x80)
		return utf8_is_control(code) || (code == '\\' && *next == 'x');
	return !table->terminal.utf8 || wcwidth((wchar_t)code) < 0;
}

/* Returns a copy of the text as it is printed, with room for the mark of a cut. NULL: no memory. */
static char *show(const struct table *table, const char *text)
{
	const bool is_raw = table->options->raw, is_file = !is_raw && !table->is_on_screen;
	char *shown, *end, *shrunk;

	if (table->options->json)
		return strdup(text);
	if (is_raw && (!*text || strcmp(text, "-") == 0))
		return strdup(*text ? "\\x2d" : "-");
	shown = end = malloc(strlen(text) * ESCAPED_MAX_BYTES + 1);
	while (shown && *text) {
		uint32_t code;
		size_t length = utf8_decode(text, &code);
		const char *from = text;

		text += length ? length : 1;
		if (length == 0) {
			from = is_raw ? from : UTF8_REPLACEMENT;
			length = is_raw ? 1 : 3;
			code = is_raw ? 0x80 : 0xfffd;
		}
		if (is_file && code >= 0x7f && utf8_is_harmful(code))
			*end++ = '?';
		else if (is_escaped(table, code, text))
			for (size_t i = 0; i < length; i++)
				end += sprintf(end, "\\x%02x", (unsigned char)from[i]);
		else
			end = mempcpy(end, from, length);
	}
	if (!shown)
		return NULL;
	*end = '\0';
	shrunk = realloc(shown, (size_t)(end - shown) + sizeof("…"));
	return shrunk ? shrunk : shown;
}

static struct line *new_line(struct table *table)
{
	struct line *lines = reallocarray(table->lines, table->line_count + 1, sizeof(*lines));
	struct line *line;

	if (!lines)
		return NULL;
	table->lines = lines;
	line = &lines[table->line_count];
	*line = (struct line){.number = table->line_count,
			      .cells = calloc(table->count, sizeof(*line->cells))};
	if (!line->cells)
		return NULL;
	table->line_count++;
	return line;
}

int table_add(struct table *table, const struct table_row *row, struct error *err)
{
	const struct column *first = table->layout->columns;
	const char *key = table->sorting ? row->cells[table->sorting - first] : row->rank;
	struct line *line = new_line(table);

	if (!line)
		return no_memory(err);
	line->key = strdup(key ? key : "");
	if (!line->key)
		return no_memory(err);
	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = table->chosen[i].column;
		char made[TIMESTAMP_MAX_BYTES];
		const char *text = text_of(table, column, row->cells[column - first], made);
		struct cell *cell = &line->cells[i];

		cell->text = show(table, text);
		cell->colour = row->colours[column - first];
		if (!cell->text)
			return no_memory(err);
	}
	return 0;
}

/* Unknown values come first, as in lsblk(8); numbers are sorted as numbers, job2 before job10. */
static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int order = natural_order(x->key, y->key);

	return order ? order : x->number < y->number ? -1 : 1;
}

/* ---- JSON ---- */

/* Cuts the text into its words. */
static void put_list(struct json *json, const char *name, char *text)
{
	char *word;

	json_open(json, name, '[');
	while ((word = strsep(&text, ",")) != NULL)
		json_text(json, NULL, word);
	json_close(json, ']');
}

static void put_value(struct json *json, const struct column *column, char *text)
{
	if (!*text)
		json_text(json, column->name, NULL);
	else if (column->kind == COLUMN_BOOLEAN)
		json_printf(json, column->name, *text == '1' ? "true" : "false");
	else if (column->kind == COLUMN_NUMBER ||
		 (column->kind == COLUMN_LIST && is_number(text) && *text != '-'))
		json_printf(json, column->name, "%s", text);
	else if (column->kind == COLUMN_LIST)
		put_list(json, column->name, text);
	else
		json_text(json, column->name, text);
}

static void put_object(struct json *json, const struct table *table, const struct line *line)
{
	json_open(json, NULL, '{');
	for (size_t c = 0; c < table->count; c++)
		put_value(json, table->chosen[c].column, line->cells[c].text);
	json_close(json, '}');
}

/* With --follow, each line is an object of its own. */
static void print_json(const struct table *table)
{
	struct json json = {0};

	if (table->options->follow) {
		for (size_t i = 0; i < table->line_count; i++)
			put_object(&(struct json){0}, table, &table->lines[i]);
		return;
	}
	json_open(&json, NULL, '{');
	json_open(&json, table->layout->name, '[');
	for (size_t i = 0; i < table->line_count; i++) {
		json_break_line(&json);
		put_object(&json, table, &table->lines[i]);
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

/* ---- Lines of text ---- */

/* Measures a column. Returns whether one of its cells has a text, and not the common one. */
static bool measure(const struct table *table, struct chosen *chosen, size_t c)
{
	const char *common = chosen->column->common;
	bool is_used = false;

	for (size_t i = 0; i < table->line_count; i++) {
		const char *text = table->lines[i].cells[c].text;

		is_used |= *text && (!common || strcmp(text, common) != 0);
		chosen->width = MAX(chosen->width, terminal_width(&table->terminal, text));
	}
	return is_used;
}

static int narrowest(const struct chosen *chosen)
{
	const int least = chosen->column->least;

	return least > 0 ? MIN(least, chosen->width) : chosen->width;
}

/* How wide the table is, as it is or with its columns cut as far as they may be. */
static int total(const struct table *table, bool is_cut)
{
	int sum = -1;

	for (const struct chosen *c = table->chosen; c < table->chosen + table->count; c++)
		if (!c->is_hidden)
			sum += (is_cut ? narrowest(c) : c->width) + 1;
	return sum;
}

static struct chosen *least_important(struct table *table)
{
	struct chosen *found = NULL;

	for (struct chosen *c = table->chosen; c < table->chosen + table->count; c++)
		if (!c->is_hidden && c->is_usual &&
		    c->column->spare > (found ? found->column->spare : 0))
			found = c;
	return found;
}

static struct chosen *widest(struct table *table)
{
	struct chosen *found = NULL;

	for (struct chosen *c = table->chosen; c < table->chosen + table->count; c++)
		if (!c->is_hidden && c->width > MAX(narrowest(c), found ? found->width : 0))
			found = c;
	return found;
}

/* Columns are left out only if cutting is not enough. If nothing is, the table stays too wide. */
static void fit(struct table *table)
{
	struct chosen *chosen;

	while (total(table, true) > table->terminal.columns && (chosen = least_important(table)))
		chosen->is_hidden = true;
	while (total(table, false) > table->terminal.columns && (chosen = widest(table)))
		chosen->width--;
}

/* Later lines have the columns of the first ones, and stand below them. */
static void lay_out(struct table *table)
{
	for (size_t c = 0; c < table->count; c++) {
		struct chosen *chosen = &table->chosen[c];
		const bool is_used = measure(table, chosen, c);

		if (!table->is_begun && chosen->is_usual && chosen->column->is_rare)
			chosen->is_hidden = !is_used;
	}
	if (table->is_on_screen)
		fit(table);
}

static void put_cell(const struct table *table, const struct chosen *chosen, const char *text,
		     enum table_colour colour, char end, FILE *out)
{
	const enum column_kind kind = chosen->column->kind;
	const bool is_right = kind == COLUMN_NUMBER || kind == COLUMN_DURATION;
	int gap = chosen->width - terminal_width(&table->terminal, text);

	if (table->options->raw || (end == '\n' && !(is_right && *text)))
		gap = 0;
	if (colour && table->is_coloured)
		fprintf(out, "\033[%dm", colour);
	fprintf(out, "%*s%s%*s", is_right ? gap : 0, "", text, is_right ? 0 : gap, "");
	fprintf(out, "%s%c", colour && table->is_coloured ? "\033[0m" : "", end);
}

/* Writes a line, or for NULL the headings. */
static void put_line(const struct table *table, struct line *line, FILE *out)
{
	size_t last = table->count - 1;

	while (last > 0 && table->chosen[last].is_hidden)
		last--;
	for (size_t c = 0; c <= last; c++) {
		const struct chosen *chosen = &table->chosen[c];
		const char end = c < last ? ' ' : '\n';
		char *text = line ? line->cells[c].text : NULL;

		if (chosen->is_hidden)
			continue;
		if (text && table->is_on_screen)
			terminal_cut(&table->terminal, text, strlen(text) + sizeof("…"), text,
				     chosen->width);
		put_cell(table, chosen, text ? text : chosen->column->name,
			 text ? line->cells[c].colour : TABLE_BOLD, end, out);
	}
}

static void put_lines(struct table *table, FILE *out)
{
	if (table_is_for_people(table))
		lay_out(table);
	if (!table->is_begun && !table->options->no_headings)
		put_line(table, NULL, out);
	for (size_t i = 0; i < table->line_count; i++)
		put_line(table, &table->lines[i], out);
	table->is_begun = true;
}

static void put_nothing(const struct table *table, FILE *out)
{
	char shown[NOTHING_MAX_BYTES];

	terminal_cut(&table->terminal, shown, sizeof(shown), table->nothing, NOTHING_MAX_BYTES);
	fprintf(out, "%s\n", shown);
}

static void put_table(struct table *table, FILE *out)
{
	if (table->line_count > 0)
		qsort(table->lines, table->line_count, sizeof(*table->lines), compare_lines);
	if (table->options->json)
		print_json(table);
	else if (table->line_count > 0)
		put_lines(table, out);
	else if (table->is_on_screen)
		put_nothing(table, out);
	if (table->last && table->is_on_screen)
		fprintf(out, "%s\n", table->last);
}

void table_print(struct table *table)
{
	terminal_init(&table->terminal, STDOUT_FILENO); /* its width may have changed */
	put_table(table, stdout);
}

char *table_text(struct table *table, int columns, struct error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table->is_on_screen = true;
	table->terminal.columns = columns;
	if (out)
		put_table(table, out);
	if (out && fclose(out) == 0) {
		text[size - 1] = '\0';
		return text;
	}
	free(text);
	no_memory(err);
	return NULL;
}

void table_flush(struct table *table)
{
	if (table->line_count > 0)
		table_print(table);
	remove_lines(table);
	fflush(stdout);
}
