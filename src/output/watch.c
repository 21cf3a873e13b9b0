/* `--watch`: draws, sleeps, and draws again. It changes no setting of the terminal, so there is
 * nothing to restore, and Ctrl-C and Ctrl-Z work as ever, also while the server is silent. */
#include "output/watch.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"

/* The title, and the line for what is wrong. */
#define HEAD_ROWS 2

/* The height of a terminal that does not know its size. */
#define ROWS_USUAL 24

struct screen {
	struct terminal terminal;
	int rows;
	int width;       /* the last column stays free: erasing behind a full line erases its end */
	bool is_cleared; /* what stood there before has gone up */
	char *text;      /* the last one that came */
	struct error trouble;
};

/* Asks for a new text. The old one stays if that fails. */
static int ask(struct screen *screen, watch_source *source, void *data)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = 0;

	if (out)
		result = source(data, out, screen->width, &screen->trouble);
	if (!out || fclose(out) != 0)
		result = fail(&screen->trouble, STATUS_OS, "cannot draw the screen: out of memory");
	if (result < 0) {
		free(text);
		return -1;
	}
	free(screen->text);
	screen->text = text;
	return 0;
}

static void put_line(const struct screen *screen, const char *text)
{
	char cut[2048];

	terminal_cut(&screen->terminal, cut, sizeof(cut), text, screen->width);
	printf("%s\033[K", cut);
}

/* The time at the right end is always visible. */
static void put_title(const struct screen *screen, const char *title)
{
	char now[TIMESTAMP_MAX_BYTES], right[TIMESTAMP_MAX_BYTES + 2], left[2048];

	timestamp_local(now, wall_ms(), "%T");
	snprintf(right, sizeof(right), "  %s", now);
	terminal_cut(&screen->terminal, left, sizeof(left), title,
		     MAX(screen->width - (int)strlen(right), 0));
	fputs(left, stdout);
	put_line(screen, right);
}

/* If not all lines fit, the last row says how many are left out. */
static void put_text(const struct screen *screen, int rows)
{
	const char *text = screen->text;
	int left = 0;

	for (const char *end = text; (end = strchr(end, '\n')); end++)
		left++;
	for (; left > 0; left--, rows--) {
		const size_t length = strcspn(text, "\n");

		fputs("\n", stdout);
		if (rows == 1 && left > 1) {
			printf("... %d more\033[K", left);
			return;
		}
		printf("%.*s\033[K", (int)length, text);
		text += length + 1;
	}
}

/* Each line goes over the one before, so that nothing flickers. The lines of the shell that stood
 * on the screen are pushed up before. */
static void draw(struct screen *screen, const char *title)
{
	for (int row = 1; row < screen->rows && !screen->is_cleared; row++)
		putchar('\n');
	screen->is_cleared = true;
	fputs("\033[H\033[?7l", stdout); /* the end of a long line is cut off */
	put_title(screen, title);
	if (screen->rows >= HEAD_ROWS) {
		putchar('\n');
		put_line(screen, screen->trouble.status ? screen->trouble.text : "");
	}
	if (screen->rows > HEAD_ROWS)
		put_text(screen, screen->rows - HEAD_ROWS);
	fputs("\033[J\033[?7h", stdout);
}

int watch_run(const char *title, int64_t period_ms, watch_source *source, void *data,
	      struct error *err)
{
	struct screen screen = {.text = NULL};
	int64_t left_ms;

	if (isatty(STDOUT_FILENO) != 1)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': standard output is not a terminal");
	if (terminal_is_dumb())
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': TERM says that this terminal cannot be "
			    "redrawn");
	terminal_init(&screen.terminal, STDOUT_FILENO);
	do {
		const int64_t next_ms = clock_ms() + period_ms;

		terminal_measure(&screen.terminal, STDOUT_FILENO);
		screen.rows = screen.terminal.rows > 0 ? screen.terminal.rows : ROWS_USUAL;
		screen.width = MAX(screen.terminal.columns - 1, 1);
		if (ask(&screen, source, data) < 0 && !screen.text) {
			*err = screen.trouble;
			return -1;
		}
		draw(&screen, title);
		left_ms = next_ms - clock_ms();
	} while (fflush(stdout) == 0 && poll(NULL, 0, (int)MAX(left_ms, 0)) <= 0);
	free(screen.text);
	return 0;
}
