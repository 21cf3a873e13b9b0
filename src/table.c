/* Tables through libsmartcols, which is loaded only here: linked, it would
 * make every start of fairlock slower by a third. */
#include "table.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options.h"
#include "utf8.h"

#define LIBRARY "libsmartcols.so.1"
#define CHOSEN_MAX 64
#define REPLACEMENT "\xef\xbf\xbd"

#define FUNCTIONS(X)                                                                               \
	X(new_table)                                                                               \
	X(unref_table)                                                                             \
	X(table_set_name)                                                                          \
	X(table_enable_json)                                                                       \
	X(table_enable_raw)                                                                        \
	X(table_enable_noheadings)                                                                 \
	X(table_new_column)                                                                        \
	X(column_set_json_type)                                                                    \
	X(table_new_line)                                                                          \
	X(line_set_data)                                                                           \
	X(print_table)

struct library {
	void *handle;
#define POINTER(function) __typeof__(scols_##function) *function;
	FUNCTIONS(POINTER)
#undef POINTER
};

struct table {
	const struct layout *layout;
	struct library library;
	struct libscols_table *lines;
	size_t chosen[CHOSEN_MAX]; /* columns of the layout */
	size_t count;
};

static int load(struct library *library, struct error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define ENTRY(function) {"scols_" #function, offsetof(struct library, function)},
		FUNCTIONS(ENTRY)
#undef ENTRY
	};

	library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return fail(err, STATUS_OS,
			    "cannot print a table: %s cannot be loaded (package libsmartcols1)",
			    LIBRARY);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library->handle, functions[i].name);

		if (!function)
			return fail(err, STATUS_OS, "cannot print a table: %s has no %s", LIBRARY,
				    functions[i].name);
		memcpy((char *)library + functions[i].offset, &function, sizeof(function));
	}
	return 0;
}

static int unknown_column(const struct layout *layout, const char *word, size_t length,
			  struct error *err)
{
	char known[300] = "";
	size_t used = 0;

	for (size_t i = 0; i < layout->column_count && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i > 0 ? ", " : "", layout->columns[i].name);
	return fail(err, STATUS_USAGE, "cannot show column '%.*s': known are %s",
		    (int)(length < 40 ? length : 40), word, known);
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
	struct library *library = &table->library;
	struct libscols_column *made;
	int flags = 0, type = SCOLS_JSON_STRING;

	if (column->kind == COLUMN_NUMBER || column->kind == COLUMN_DURATION)
		flags = SCOLS_FL_RIGHT;
	else if (column->kind == COLUMN_LONG_TEXT)
		flags = SCOLS_FL_TRUNC;
	if (column->kind == COLUMN_NUMBER)
		type = SCOLS_JSON_NUMBER;
	else if (column->kind == COLUMN_BOOLEAN)
		type = SCOLS_JSON_BOOLEAN;
	made = library->table_new_column(table->lines, column->name, 0, flags);
	return made && library->column_set_json_type(made, type) == 0 ? 0 : broken(err, 0);
}

static int make_lines(struct table *table, const struct options *options, struct error *err)
{
	struct library *library = &table->library;

	assert(library->new_table);
	setlocale(LC_CTYPE, ""); /* how wide a character is */
	table->lines = library->new_table();
	if (!table->lines || library->table_set_name(table->lines, table->layout->name) < 0)
		return broken(err, 0);
	library->table_enable_json(table->lines, options->json);
	library->table_enable_raw(table->lines, options->raw);
	library->table_enable_noheadings(table->lines, options->no_headings);
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
	if (choose_columns(table, options, err) < 0 || load(&table->library, err) < 0 ||
	    make_lines(table, options, err) < 0) {
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
		table->library.unref_table(table->lines);
	if (table->library.handle)
		dlclose(table->library.handle);
	free(table);
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* libsmartcols writes bytes of JSON as they come, and escapes only ASCII's control
 * characters. Returns a copy to free. */
static char *clean(const char *text)
{
	char *copy = malloc(strlen(text) * (sizeof(REPLACEMENT) - 1) + 1);
	char *end = copy;

	while (copy && *text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);
		bool usable = length > 0 && !(code >= 0x7f && is_control(code));

		end = usable ? mempcpy(end, text, length) : stpcpy(end, REPLACEMENT);
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

int table_add(struct table *table, const char *const *cells, struct error *err)
{
	struct libscols_line *line = table->library.table_new_line(table->lines, NULL);

	if (!line)
		return broken(err, 0);
	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = &table->layout->columns[table->chosen[i]];
		const char *cell = cells[table->chosen[i]];

		if (!cell || !*cell || (column->kind == COLUMN_NUMBER && !is_number(cell)))
			continue;
		char *copy = clean(cell);
		int code = copy ? table->library.line_set_data(line, i, copy) : -ENOMEM;

		free(copy);
		if (code < 0)
			return broken(err, code);
	}
	return 0;
}

int table_print(struct table *table, struct error *err)
{
	int code = table->library.print_table(table->lines);

	return code < 0 ? broken(err, code) : 0;
}

const char *show_duration(char text[DURATION_MAX_BYTES], int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
	size_t i = 0;

	while (i < 4 && ms < units[i].ms)
		i++;
	int64_t whole = ms / units[i].ms;
	int64_t rest = i < 3 ? ms % units[i].ms / units[i + 1].ms : 0;

	if (rest > 0)
		snprintf(text, DURATION_MAX_BYTES, "%" PRId64 "%s%" PRId64 "%s", whole,
			 units[i].name, rest, units[i + 1].name);
	else
		snprintf(text, DURATION_MAX_BYTES, "%" PRId64 "%s", whole, units[i].name);
	return text;
}

void print_json_string(const char *text)
{
	putchar('"');
	while (*text) {
		uint32_t code = 0;
		size_t length = utf8_decode(text, &code);

		if (length == 0)
			fputs(REPLACEMENT, stdout);
		else if (is_control(code))
			printf("\\u%04" PRIx32, code);
		else if (code == '"' || code == '\\')
			printf("\\%c", (int)code);
		else
			fwrite(text, 1, length, stdout);
		text += length > 0 ? length : 1;
	}
	putchar('"');
}
