/* Chooses the columns of a table, turns values into texts, sorts the lines, makes them fit on a
 * screen, and prints them. */
#include "output/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/guess.h"
#include "cli/options.h"

#define CHOSEN_MAX 64
#define TEXT_MAX_BYTES 8192 /* more than the widest terminal takes */

enum kind {
	TEXT,
	NUMBER,
	LIST,     /* words with commas between them, in JSON an array; or a number */
	BOOLEAN,  /* "1" or "0": yes or no, in JSON true or false */
	DURATION, /* milliseconds, or another text, which is shown as it is */
	TIME,     /* milliseconds since the epoch: local time for people, else RFC 3339 */
	EXACT_TIME,
};

struct column {
	const char *name; /* in JSON in small letters */
	const char *meaning;
	enum kind kind;
	int least; /* on a narrow screen a text may be cut down to this width; 0: not at all */
	int spare; /* if that is not enough, the greatest is left out first; 0, or with -o: never */
	const char *dull; /* people see the column if a cell has another text than "" and this, or
			   * with -o; NULL: in any case */
};

#define COLUMN(id, ...) [COLUMN_##id] = {.name = #id, __VA_ARGS__},

static const struct column columns[COLUMN_COUNT] = {COLUMNS(COLUMN)};

/* A column of the layout that is to be printed. */
struct chosen {
	const struct column *column;
	bool is_usual; /* it may be left out: -o does not name it */
	int width;     /* of all lines so far */
};

struct line {
	char *rank;     /* what the lines are sorted by ... */
	char *key;      /* ... and then, if there is --sort: the cell of that column */
	const char *by; /* one of these */
	size_t number;  /* keeps lines that are equal there in their order */
	/* as they are printed; in JSON before they are put in quotes; NULL: not chosen */
	char *cells[COLUMN_COUNT];
	enum table_colour colours[COLUMN_COUNT];
};

struct table {
	const struct layout *layout;
	const struct options *options;
	struct chosen chosen[CHOSEN_MAX];
	size_t count;
	const struct column *sorting; /* of --sort, or NULL */
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

/* ---- What columns mean ---- */

const char *column_name(const struct layout *layout, enum column_id id)
{
	const char *name = columns[id].name, *list = layout->columns;
	const size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return name;
	return NULL;
}

const char *column_meaning(enum column_id id)
{
	return columns[id].meaning;
}

/* ---- The choice of columns ---- */

static const struct column *find_column(const struct layout *layout, const char *verb,
					const char *name, struct error *err)
{
	char shown[SHORT_MAX_BYTES], said[NEAREST_SAID_BYTES];
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (enum column_id id = 0; id < COLUMN_COUNT; id++) {
		if (!column_name(layout, id))
			continue;
		if (strcasecmp(columns[id].name, name) == 0)
			return &columns[id];
		nearest_try(&nearest, columns[id].name);
	}
	fail(err, STATUS_USAGE, "cannot %s column '%s': there is no such column%s", verb,
	     shorten(shown, name),
	     *nearest.best ? nearest_say(said, &nearest, "") : ", '-o help' lists them");
	return NULL;
}

static int choose(struct table *table, const char *list, bool is_usual, struct error *err)
{
	size_t length;

	for (const char *at = list; *list; at += length + 1) {
		const struct column *column;
		char name[SHORT_MAX_BYTES];

		length = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		column = find_column(table->layout, "show", name, err);
		if (!column)
			return -1;
		if (table->count == CHOSEN_MAX)
			return fail(err, STATUS_USAGE,
				    "cannot show a table: it has more than %d columns", CHOSEN_MAX);
		if (!is_usual || column != &columns[COLUMN_NAME] || !table->layout->is_of_one ||
		    table->options->json)
			table->chosen[table->count++] = (struct chosen){
				column, is_usual, .width = (int)strlen(column->name)};
		if (!at[length])
			break;
	}
	return 0;
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

/* Whether it is no list for programs. */
static bool is_for_people(const struct table *table)
{
	return !table->options->json && !table->options->raw;
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
	table->is_on_screen = isatty(STDOUT_FILENO) == 1 && is_for_people(table);
	table->is_coloured =
		terminal_colours(options->colour, STDOUT_FILENO) && is_for_people(table);
	terminal_init(&table->terminal, STDOUT_FILENO);
	if (options->sort)
		table->sorting = find_column(layout, "sort by", options->sort, err);
	if (choose_columns(table, err) == 0 && (table->sorting || !options->sort))
		return table;
	table_close(table);
	return NULL;
}

/* Removes the first lines. */
static void remove_lines(struct table *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t c = 0; c < COLUMN_COUNT; c++)
			free(table->lines[i].cells[c]);
		free(table->lines[i].rank);
		free(table->lines[i].key);
	}
	table->line_count -= count;
	if (table->line_count > 0)
		memmove(table->lines, table->lines + count,
			table->line_count * sizeof(*table->lines));
}

void table_close(struct table *table)
{
	if (!table)
		return;
	remove_lines(table, table->line_count);
	free(table->lines);
	free(table);
}

bool table_is_short(const struct table *table)
{
	return table->is_on_screen && !table->options->columns;
}

/* ---- Lines ---- */

void table_row_number(struct table_row *row, enum column_id id, int64_t number)
{
	if (number < 0)
		return;
	snprintf(row->numbers[id], sizeof(row->numbers[id]), "%" PRId64, number);
	row->cells[id] = row->numbers[id];
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
	size_t length;

	if (!cell || !*cell)
		return "";
	switch (column->kind) {
	case TEXT:
	case LIST:
		break;
	case BOOLEAN:
		return table->options->json ? cell : *cell == '1' ? "yes" : "no";
	case NUMBER:
		return is_number(cell) ? cell : "";
	case DURATION:
		return is_number(cell) ? duration_show(made, strtoll(cell, NULL, 10)) : cell;
	case TIME:
	case EXACT_TIME:
		if (!is_for_people(table))
			return timestamp_rfc3339(made, strtoll(cell, NULL, 10));
		timestamp_local(made, strtoll(cell, NULL, 10), TIMESTAMP_LONG);
		length = strlen(made);
		if (column->kind == EXACT_TIME && !table->is_on_screen)
			snprintf(made + length, TIMESTAMP_MAX_BYTES - length, ".%03d",
				 (int)(strtoll(cell, NULL, 10) % 1000));
		return made;
	}
	return cell;
}

/* Returns a copy of the text as it is printed; NULL: no memory. terminal_cut sees to what is
 * harmful on a screen, and json_text in JSON. With --raw a byte that would end the cell, or do
 * harm, is \xe4, as in lsblk(8). */
static char *show(const struct table *table, const char *text)
{
	char *shown, *end;
	size_t length;
	uint32_t code;

	if (!table->options->raw) {
		shown = strdup(text);
		if (shown && !table->options->json && !table->is_on_screen)
			tame(shown);
		return shown;
	}
	if (!*text || strcmp(text, "-") == 0)
		return strdup(*text ? "\\x2d" : "-");
	shown = end = malloc(4 * strlen(text) + 1);
	for (; shown && *text; text += MAX(length, 1)) {
		length = utf8_decode(text, &code);

		const bool is_escaped =
			!length || code == ' ' || code == '\\' || utf8_is_harmful(code);

		for (size_t i = 0; i < MAX(length, 1); i++)
			end += sprintf(end, is_escaped ? "\\x%02x" : "%c", (unsigned char)text[i]);
	}
	return shown;
}

int table_add(struct table *table, const struct table_row *row, struct error *err)
{
	const char *key = table->sorting ? row->cells[table->sorting - columns] : NULL;
	struct line *line = reallocarray(table->lines, table->line_count + 1, sizeof(*line));

	if (!line)
		return no_memory(err);
	table->lines = line;
	line += table->line_count;
	*line = (struct line){.rank = strdup(row->rank ? row->rank : ""),
			      .key = strdup(key ? key : "")};
	table->line_count++;
	if (!line->rank || !line->key)
		return no_memory(err);
	memcpy(line->colours, row->colours, sizeof(line->colours));
	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = table->chosen[i].column;
		const ptrdiff_t c = column - columns;
		char made[TIMESTAMP_MAX_BYTES];

		if (!line->cells[c]) /* -o may name a column twice */
			line->cells[c] = show(table, text_of(table, column, row->cells[c], made));
		if (!line->cells[c])
			return no_memory(err);
	}
	return 0;
}

/* Unknown values come first, as in lsblk(8); numbers are sorted as numbers, job2 before job10. */
static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int order = natural_order(x->by, y->by);

	return order ? order : x->number < y->number ? -1 : 1;
}

static void sort(struct table *table, bool by_key)
{
	for (size_t i = 0; i < table->line_count; i++) {
		table->lines[i].by = by_key ? table->lines[i].key : table->lines[i].rank;
		table->lines[i].number = i;
	}
	if (table->line_count > 0)
		qsort(table->lines, table->line_count, sizeof(*table->lines), compare_lines);
}

static char *cell_of(const struct table *table, const struct line *line, size_t place)
{
	return line->cells[table->chosen[place].column - columns];
}

/* ---- JSON ---- */

static void put_words(struct json *json, const char *name, char *text)
{
	char *comma;

	json_open(json, name, '[');
	for (; (comma = strchr(text, ',')) != NULL; text = comma + 1) {
		*comma = '\0';
		json_text(json, NULL, text);
		*comma = ',';
	}
	json_text(json, NULL, text);
	json_close(json, ']');
}

static void put_value(struct json *json, const struct column *column, char *text)
{
	const bool is_list = column->kind == LIST;

	if (!*text)
		json_text(json, column->name, NULL);
	else if (column->kind == BOOLEAN)
		json_printf(json, column->name, *text == '1' ? "true" : "false");
	else if (column->kind == NUMBER || (is_list && is_number(text) && *text != '-'))
		json_printf(json, column->name, "%s", text);
	else if (is_list)
		put_words(json, column->name, text);
	else
		json_text(json, column->name, text);
}

static void put_object(struct json *json, const struct table *table, const struct line *line)
{
	json_open(json, NULL, '{');
	for (size_t i = 0; i < table->count; i++)
		put_value(json, table->chosen[i].column, cell_of(table, line, i));
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
		sum += (is_cut ? narrowest(c) : c->width) + 1;
	return sum;
}

static struct chosen *least_important(struct table *table)
{
	struct chosen *found = NULL;

	for (struct chosen *c = table->chosen; c < table->chosen + table->count; c++)
		if (c->is_usual && c->column->spare > (found ? found->column->spare : 0))
			found = c;
	return found;
}

static struct chosen *widest(struct table *table)
{
	struct chosen *found = NULL;

	for (struct chosen *c = table->chosen; c < table->chosen + table->count; c++)
		if (c->width > MAX(narrowest(c), found ? found->width : 0))
			found = c;
	return found;
}

static void leave_out(struct table *table, struct chosen *chosen)
{
	table->count--;
	memmove(chosen, chosen + 1,
		(size_t)(table->chosen + table->count - chosen) * sizeof(*chosen));
}

/* Columns are left out only if cutting is not enough. If nothing is, the table stays too wide. */
static void fit(struct table *table)
{
	struct chosen *chosen;

	while (total(table, true) > table->terminal.columns && (chosen = least_important(table)))
		leave_out(table, chosen);
	while (total(table, false) > table->terminal.columns && (chosen = widest(table)))
		chosen->width--;
}

/* Later lines have the columns of the first ones, and stand below them. */
static void lay_out(struct table *table)
{
	for (size_t c = table->count; c-- > 0;) {
		struct chosen *chosen = &table->chosen[c];
		const char *dull = chosen->column->dull;
		bool is_used = !dull || !chosen->is_usual;

		for (size_t i = 0; i < table->line_count; i++) {
			const char *text = cell_of(table, &table->lines[i], c);

			is_used |= *text && strcmp(text, dull ? dull : "") != 0;
			chosen->width = MAX(chosen->width, terminal_width(&table->terminal, text));
		}
		if (!table->is_begun && !is_used)
			leave_out(table, chosen);
	}
	if (table->is_on_screen)
		fit(table);
}

/* Writes a line, or for NULL the headings. */
static void put_line(const struct table *table, const struct line *line, FILE *out)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct chosen *chosen = &table->chosen[i];
		const enum kind kind = chosen->column->kind;
		const bool is_right = kind == NUMBER || kind == DURATION;
		const bool is_last = i + 1 == table->count;
		const char *text = line ? cell_of(table, line, i) : chosen->column->name;
		int colour = line ? (int)line->colours[chosen->column - columns] : TABLE_BOLD, gap;
		char cut[TEXT_MAX_BYTES];

		if (line && table->is_on_screen) {
			terminal_cut(&table->terminal, cut, sizeof(cut), text, chosen->width);
			text = cut;
		}
		gap = chosen->width - terminal_width(&table->terminal, text);
		if (table->options->raw || (is_last && !(is_right && *text)))
			gap = 0;
		if (!table->is_coloured)
			colour = TABLE_PLAIN;
		if (colour)
			fprintf(out, "\033[%dm", colour);
		fprintf(out, "%*s%s%*s%s%c", is_right ? gap : 0, "", text, is_right ? 0 : gap, "",
			colour ? "\033[0m" : "", is_last ? '\n' : ' ');
	}
}

/* Leaves so many lines, the last ones (negative: all), in the order in which they are printed. */
static void choose_lines(struct table *table, int64_t lines)
{
	sort(table, false);
	if (lines >= 0 && (size_t)lines < table->line_count)
		remove_lines(table, table->line_count - (size_t)lines);
	if (table->sorting)
		sort(table, true);
}

static void put_table(struct table *table, FILE *out)
{
	char nothing[TEXT_MAX_BYTES];

	if (table->options->json) {
		print_json(table);
	} else if (table->line_count > 0) {
		if (is_for_people(table))
			lay_out(table);
		if (!table->is_begun && !table->options->no_headings)
			put_line(table, NULL, out);
		for (size_t i = 0; i < table->line_count; i++)
			put_line(table, &table->lines[i], out);
		table->is_begun = true;
	} else if (table->is_on_screen) {
		terminal_cut(&table->terminal, nothing, sizeof(nothing), table->layout->nothing,
			     TEXT_MAX_BYTES);
		fprintf(out, "%s\n", nothing);
	}
	if (table->layout->last && table->is_on_screen)
		fprintf(out, "%s\n", table->layout->last);
}

void table_print(struct table *table, int64_t lines)
{
	terminal_init(&table->terminal, STDOUT_FILENO); /* its width may have changed */
	choose_lines(table, lines);
	if (table->line_count > 0 || !table->options->follow)
		put_table(table, stdout);
	remove_lines(table, table->line_count);
}

void table_draw(struct table *table, FILE *out, int width)
{
	table->is_on_screen = true;
	table->terminal.columns = width;
	choose_lines(table, -1);
	put_table(table, out);
}
