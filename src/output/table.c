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
#include <wchar.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/guess.h"
#include "cli/options.h"

#define CHOSEN_MAX 64
#define TEXT_MAX_BYTES 8192 /* more than the widest terminal takes */
#define HELP_WIDTH 78

/* A column of the layout that is to be printed. */
struct chosen {
	const struct column *column;
	bool is_usual; /* it may be left out: -o does not name it */
	int width;     /* of all lines so far */
};

struct line {
	char *key;     /* what the lines are sorted by: the cell of --sort, or the rank */
	size_t number; /* keeps lines of the same key in the order of their making */
	/* as they are printed; in JSON before they are put in quotes; NULL: not chosen */
	char *cells[TABLE_COLUMNS_MAX];
	enum table_colour colours[TABLE_COLUMNS_MAX];
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

/* ---- What columns mean ---- */

/* One word means the same in all tables. others: what other programs call it, in small letters. */
static const struct meaning {
	char name[16], meaning[56], others[56];
} meanings[] = {
	{"NAME", "name of the lock", "lock key resource"},
	{"STATE", "free, held or kept", "status st locked"},
	{"MODE", "exclusive, shared or slots", "kind type shared"},
	{"SLOT", "slot of the holder", "number name index"},
	{"SLOTS", "slots that the waiter wants: how many, or their names", "slot number count"},
	{"OWNER", "owner ID, for --owner and --remove", "id uuid holder identity"},
	{"HOST", "host of the process", "node hostname machine address addr"},
	{"PID", "process ID", "process procid"},
	{"USER", "user of the process", "uid login username"},
	{"COMMAND", "command of the process", "cmd comm args exe"},
	{"REASON", "why the process wants the lock: its --reason", "why note message"},
	{"CLIENT", "fairlock or redisson", "program lib type"},
	{"HELD_MS", "how long the lock is or was held, in milliseconds", ""},
	{"HELD", "how long the lock is or was held", "age elapsed etime since duration"},
	{"LEASE_MS", "how long the lease still lasts, in milliseconds", "pttl"},
	{"LEASE", "how long the lease still lasts", "ttl expires expiry timeout"},
	{"UNTIL", "when the lease ends, or the time for which it is kept", "end expires"},
	{"LAST_START", "when a command of the lock was started last", "started run start"},
	{"LAST_OK", "when a command of the lock last ended with 0", "success succeeded done ok"},
	{"HOLDS", "how many times the owner holds the lock", "count depth"},
	{"TOKEN", "fencing token, which grows with each grant", "fence fencing"},
	{"WAITERS", "how many processes wait for the lock", "queue waiting length blocked"},
	{"POSITION", "place in the queue; 1 is next", "pos place rank number"},
	{"WAITING_MS", "how long the process has waited, in milliseconds", ""},
	{"WAITING", "how long the process has waited", "age elapsed etime since"},
	{"PRESENT", "whether the process is connected", "alive online connected state"},
	{"TIME", "when it happened", "date timestamp when at"},
	{"EVENT", "what happened to the lock", "action type state what"},
	{"STATUS", "exit status of the command, as a shell shows it", "exit code rc result"},
	{"CAUSE", "why the command ended", "why signal exit reason"},
	{"BY", "who broke, asked or removed it", "actor whom user breaker"},
	{"WHO", "user and host of the process", "user@host"},
	{"WAITED_MS", "how long the process had waited, in milliseconds", ""},
	{"WAITED", "how long the process had waited", "waiting wait"},
};

static const struct meaning *find_meaning(const char *name)
{
	static const struct meaning unknown;

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (strcmp(meanings[i].name, name) == 0)
			return &meanings[i];
	return &unknown;
}

const char *column_meaning(const char *name)
{
	return find_meaning(name)->meaning;
}

void column_help_names(const struct layout *layout, FILE *out)
{
	int used = fprintf(out, "Columns (-o help tells what they are):");

	for (size_t i = 0; i < layout->column_count; i++) {
		const char *name = layout->columns[i].name;
		const bool is_last = i + 1 == layout->column_count;

		if (used + 2 + (int)strlen(name) > HELP_WIDTH)
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

/* ---- The choice of columns ---- */

/* Whether it is one of these words, which have blanks between them. Case does not count. */
static bool is_among(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = words; length > 0 && (at = strcasestr(at, word)) != NULL; at++)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

static int refuse_column(const struct layout *layout, const char *verb, const char *name,
			 struct error *err)
{
	const char *meant = strcasecmp(name, "json") == 0  ? "--json"
			    : strcasecmp(name, "raw") == 0 ? "--raw"
							   : NULL;
	char shown[SHORT_MAX_BYTES];
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < layout->column_count; i++) {
		const char *column = layout->columns[i].name;

		nearest_try(&nearest, column);
		if (!meant && is_among(find_meaning(column)->others, name))
			meant = column;
	}
	shorten(shown, name);
	if (!meant && !*nearest.best)
		return fail(err, STATUS_USAGE,
			    "cannot %s column '%s': there is no such column, '-o help' lists them",
			    verb, shown);
	return fail(err, STATUS_USAGE,
		    "cannot %s column '%s': there is no such column, did you mean %s?", verb, shown,
		    meant ? meant : nearest.best);
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
		table->chosen[table->count++] =
			(struct chosen){column, is_usual, .width = (int)strlen(column->name)};
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
	table->options = options;
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
		for (size_t c = 0; c < TABLE_COLUMNS_MAX; c++)
			free(table->lines[i].cells[c]);
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

/* Writes a character, or a byte that is none, to a file or a pipe: as \xe4, as lsblk(8) does, with
 * --raw if it is a blank or harmful, else if the locale cannot show it. */
static void put_character(const struct table *table, const char *bytes, size_t length,
			  uint32_t code, FILE *out)
{
	bool is_escaped;

	if (table->options->raw)
		is_escaped = !length || code == ' ' || code == '\\' || utf8_is_harmful(code);
	else if (length == 1)
		is_escaped = utf8_is_control(code) || (code == '\\' && bytes[1] == 'x');
	else
		is_escaped = !table->terminal.utf8 || wcwidth((wchar_t)code) < 0;
	if (!table->options->raw && (!length || (code >= 0x7f && utf8_is_harmful(code))))
		fputc('?', out);
	else if (!is_escaped)
		fwrite(bytes, 1, length, out);
	else
		for (size_t i = 0; i < MAX(length, 1); i++)
			fprintf(out, "\\x%02x", (unsigned char)bytes[i]);
}

/* Returns a copy of the text as it is printed; terminal_cut sees to what is harmful on a screen,
 * and json_text in JSON. NULL: no memory. */
static char *show(const struct table *table, const char *text)
{
	const bool is_raw = table->options->raw;
	char *shown = NULL;
	size_t size, length;
	FILE *out;

	if (table->options->json || table->is_on_screen)
		return strdup(text);
	if (is_raw && (!*text || strcmp(text, "-") == 0))
		return strdup(*text ? "\\x2d" : "-");
	out = open_memstream(&shown, &size);
	for (; out && *text; text += MAX(length, 1)) {
		uint32_t code = 0;

		length = utf8_decode(text, &code);
		put_character(table, text, length, code, out);
	}
	if (!out || fclose(out) == 0)
		return shown;
	free(shown);
	return NULL;
}

int table_add(struct table *table, const struct table_row *row, struct error *err)
{
	const struct column *columns = table->layout->columns;
	const char *key = table->sorting ? row->cells[table->sorting - columns] : row->rank;
	struct line *line = reallocarray(table->lines, table->line_count + 1, sizeof(*line));

	if (!line)
		return no_memory(err);
	table->lines = line;
	line += table->line_count;
	*line = (struct line){.key = strdup(key ? key : ""), .number = table->line_count++};
	if (!line->key)
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
	const int order = natural_order(x->key, y->key);

	return order ? order : x->number < y->number ? -1 : 1;
}

static char *cell_of(const struct table *table, const struct line *line, size_t place)
{
	return line->cells[table->chosen[place].column - table->layout->columns];
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
	const bool is_list = column->kind == COLUMN_LIST;

	if (!*text)
		json_text(json, column->name, NULL);
	else if (column->kind == COLUMN_BOOLEAN)
		json_printf(json, column->name, *text == '1' ? "true" : "false");
	else if (column->kind == COLUMN_NUMBER || (is_list && is_number(text) && *text != '-'))
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
		const char *common = chosen->column->common;
		bool is_used = false;

		for (size_t i = 0; i < table->line_count; i++) {
			const char *text = cell_of(table, &table->lines[i], c);

			is_used |= *text && (!common || strcmp(text, common) != 0);
			chosen->width = MAX(chosen->width, terminal_width(&table->terminal, text));
		}
		if (!table->is_begun && chosen->is_usual && chosen->column->is_rare && !is_used)
			leave_out(table, chosen);
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
static void put_line(const struct table *table, const struct line *line, FILE *out)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct chosen *chosen = &table->chosen[i];
		const char *text = line ? cell_of(table, line, i) : chosen->column->name;
		char cut[TEXT_MAX_BYTES];

		if (line && table->is_on_screen) {
			terminal_cut(&table->terminal, cut, sizeof(cut), text, chosen->width);
			text = cut;
		}
		put_cell(table, chosen, text,
			 line ? line->colours[chosen->column - table->layout->columns] : TABLE_BOLD,
			 i + 1 < table->count ? ' ' : '\n', out);
	}
}

static void put_table(struct table *table, FILE *out)
{
	char nothing[TEXT_MAX_BYTES];

	if (table->line_count > 0)
		qsort(table->lines, table->line_count, sizeof(*table->lines), compare_lines);
	if (table->options->json) {
		print_json(table);
	} else if (table->line_count > 0) {
		if (table_is_for_people(table))
			lay_out(table);
		if (!table->is_begun && !table->options->no_headings)
			put_line(table, NULL, out);
		for (size_t i = 0; i < table->line_count; i++)
			put_line(table, &table->lines[i], out);
		table->is_begun = true;
	} else if (table->is_on_screen) {
		terminal_cut(&table->terminal, nothing, sizeof(nothing), table->nothing,
			     TEXT_MAX_BYTES);
		fprintf(out, "%s\n", nothing);
	}
	if (table->last && table->is_on_screen)
		fprintf(out, "%s\n", table->last);
}

void table_print(struct table *table)
{
	terminal_init(&table->terminal, STDOUT_FILENO); /* its width may have changed */
	if (table->line_count > 0 || !table->options->follow)
		put_table(table, stdout);
	remove_lines(table);
}

void table_draw(struct table *table, FILE *out, int columns)
{
	table->is_on_screen = true;
	table->terminal.columns = columns;
	put_table(table, out);
}
