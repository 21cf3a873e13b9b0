/* The size, the locale and the colours of a terminal, and texts of others cut to fit it. */
#include "base/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/text.h"

#define COLUMNS_LEAST 30

bool terminal_is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || strcmp(term, "dumb") == 0;
}

bool terminal_colours(enum colour_choice choice, int fd)
{
	const char *refused = getenv("NO_COLOR");

	if (choice != COLOUR_AUTO)
		return choice == COLOUR_ALWAYS;
	return isatty(fd) == 1 && !terminal_is_dumb() && !(refused && *refused);
}

/* musl says UTF-8 also if no variable is set. */
static bool is_utf8(void)
{
	const char *all = getenv("LC_ALL"), *type = getenv("LC_CTYPE"), *lang = getenv("LANG");
	const bool is_set = (all && *all) || (type && *type) || (lang && *lang);

	return is_set && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void terminal_init(struct terminal *terminal, int fd)
{
	const char *text = getenv("COLUMNS");
	const int wanted = text && strlen(text) <= 6 ? atoi(text) : 0;

	setlocale(LC_CTYPE, "");
	*terminal = (struct terminal){
		.utf8 = is_utf8(),
		.colour = terminal_colours(COLOUR_AUTO, fd),
	};
	terminal_measure(terminal, fd);
	if (wanted > 0)
		terminal->columns = wanted < COLUMNS_MOST ? wanted : COLUMNS_MOST;
	if (terminal->columns < COLUMNS_LEAST)
		terminal->columns = COLUMNS_LEAST;
}

void terminal_measure(struct terminal *terminal, int fd)
{
	struct winsize size = {0};

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		size.ws_col = 80;
	terminal->columns = size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
	terminal->rows = size.ws_row;
}

/* One character on the screen. */
struct cell {
	const char *bytes; /* "?" if the character cannot be shown */
	size_t length;
	int width;
};

/* Fills *cell for the first character of a text. Returns the character's length. */
static size_t next(const struct terminal *terminal, const char *text, struct cell *cell)
{
	uint32_t code = 0;
	const size_t length = utf8_decode(text, &code);

	*cell = (struct cell){text, length, -1};
	if (length > 0 &&
	    (code < 0x80 ? !utf8_is_control(code) : terminal->utf8 && !utf8_is_harmful(code)))
		cell->width = wcwidth((wchar_t)code);
	if (cell->width < 0)
		*cell = (struct cell){"?", 1, 1};
	return length > 0 ? length : 1;
}

int terminal_width(const struct terminal *terminal, const char *text)
{
	int total = 0;

	while (*text) {
		struct cell cell;

		text += next(terminal, text, &cell);
		total += cell.width;
	}
	return total;
}

int terminal_cut(const struct terminal *terminal, char *to, size_t size, const char *text,
		 int width)
{
	const bool cut = terminal_width(terminal, text) > width;
	const char *mark = !cut ? "" : terminal->utf8 ? "…" : "~";
	const int room = cut ? width - 1 : width;
	int used = 0;
	size_t length = 0;

	while (*text) {
		struct cell cell;
		const size_t bytes = next(terminal, text, &cell);

		if (used + cell.width > room || length + bytes + strlen(mark) >= size)
			break;
		memmove(to + length, cell.bytes, cell.length);
		length += cell.length;
		used += cell.width;
		text += bytes;
	}
	snprintf(to + length, size - length, "%s", mark);
	return used + cut;
}

void terminal_wrap(const struct terminal *terminal, FILE *out, const char *text, int at, int used,
		   int width)
{
	char copy[WRAPPED_MAX_BYTES], *rest;

	snprintf(copy, sizeof(copy), "%s", text);
	tame(copy);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		const int columns = terminal_width(terminal, word);

		if (used > at && used + 1 + columns > width) {
			fprintf(out, "\n%*s", at, "");
			used = at;
		} else if (used > at) {
			putc(' ', out);
			used++;
		}
		fputs(word, out);
		used += columns;
	}
	putc('\n', out);
}
