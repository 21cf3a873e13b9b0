#include "screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "utf8.h"

#define COLUMNS_LEAST 30
#define COLUMNS_MOST 1000

static int from_environment(const char *name)
{
	const char *text = getenv(name);

	return text && strlen(text) <= 6 ? atoi(text) : 0;
}

static bool wants_colour(void)
{
	const char *term = getenv("TERM"), *refused = getenv("NO_COLOR");

	return term && *term && strcmp(term, "dumb") != 0 && !(refused && *refused);
}

void screen_look(struct screen *screen)
{
	const bool is_terminal = isatty(STDOUT_FILENO) == 1;
	struct winsize size = {0};

	setlocale(LC_CTYPE, "");
	if (is_terminal)
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*screen = (struct screen){
		.columns = from_environment("COLUMNS"),
		.rows = is_terminal ? size.ws_row : 0,
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.colour = is_terminal && wants_colour(),
	};
	if (screen->columns <= 0)
		screen->columns = size.ws_col > 0 ? size.ws_col : 80;
	if (screen->columns < COLUMNS_LEAST)
		screen->columns = COLUMNS_LEAST;
	if (screen->columns > COLUMNS_MOST)
		screen->columns = COLUMNS_MOST;
}

/* These turn the direction of writing, or hide: on a screen they are a trap. */
static bool is_invisible(uint32_t code)
{
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code == 0xad ||
	       code == 0x61c;
}

/* The first character: its bytes, and its width, or -1 where it cannot be shown. */
static size_t next(const struct screen *screen, const char *text, int *width)
{
	uint32_t code = 0;
	size_t length = utf8_decode(text, &code);

	*width = -1;
	if (length == 0)
		return 1;
	if (code < 0x80 ? !utf8_is_control(code) : screen->utf8 && !is_invisible(code))
		*width = wcwidth((wchar_t)code);
	return length;
}

int screen_width(const struct screen *screen, const char *text)
{
	int total = 0;

	while (*text) {
		int width;

		text += next(screen, text, &width);
		total += width < 0 ? 1 : width;
	}
	return total;
}

void screen_put(const struct screen *screen, const char *text, int width)
{
	const bool cut = screen_width(screen, text) > width;
	int left = cut ? width - 1 : width;

	while (*text) {
		int taken;
		const size_t length = next(screen, text, &taken);

		if ((taken < 0 ? 1 : taken) > left)
			break;
		if (taken < 0)
			putchar('?');
		else
			fwrite(text, 1, length, stdout);
		left -= taken < 0 ? 1 : taken;
		text += length;
	}
	if (cut)
		fputs(screen->utf8 ? "…" : "~", stdout);
	printf("%*s", left, "");
}
