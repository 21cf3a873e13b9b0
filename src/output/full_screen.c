/* A frame is written as the terminal takes it; entering and leaving may not be lost on the way. */
#include "output/full_screen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* Alternate screen, cursor hidden, no line wrap. FULL_SCREEN_LEAVE is the reverse. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"

/* How long a terminal may take for either. */
#define SWITCH_MS 1000

void full_screen_push(struct full_screen *screen)
{
	while (screen->sent < screen->length) {
		const ssize_t written = write(screen->tty, screen->frame + screen->sent,
					      screen->length - screen->sent);

		if (written < 0 && errno == EAGAIN)
			return;
		if (written < 0 && errno != EINTR)
			screen->sent = screen->length; /* the terminal is gone: a signal follows */
		if (written > 0)
			screen->sent += (size_t)written;
	}
}

/* Waits for a terminal that is held up. */
static void write_all(const struct full_screen *screen, const char *text)
{
	const int64_t until_ms = clock_ms() + SWITCH_MS;
	struct pollfd slot = {.fd = screen->tty, .events = POLLOUT};
	size_t length = strlen(text);

	while (length > 0 && clock_ms() < until_ms) {
		const ssize_t written = write(screen->tty, text, length);

		if (written > 0) {
			text += written;
			length -= (size_t)written;
		} else if (errno == EAGAIN) {
			poll(&slot, 1, SWITCH_MS);
		} else if (errno != EINTR) {
			return;
		}
	}
}

void full_screen_enter(struct full_screen *screen)
{
	tcsetattr(screen->tty, TCSADRAIN, &screen->restorer.ours);
	*screen->restorer.needed = true;
	write_all(screen, ENTER);
	screen->entered = true;
}

void full_screen_leave(struct full_screen *screen)
{
	if (!screen->entered)
		return;
	/* Ctrl-S is undone: the user wants the shell now. TCOON does nothing without TCOOFF. */
	tcflow(screen->tty, TCOOFF);
	tcflow(screen->tty, TCOON);
	write_all(screen, FULL_SCREEN_LEAVE);
	tcsetattr(screen->tty, TCSANOW, &screen->restorer.usual);
	*screen->restorer.needed = false;
	screen->sent = screen->length;
	screen->entered = false;
}

bool full_screen_is_drawn(const struct full_screen *screen)
{
	return screen->sent == screen->length;
}
