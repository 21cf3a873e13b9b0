/* Draws, waits for a key, a signal or the next time, and draws again. A source that waits for its
 * server waits in await_event, too. */
#include "output/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "output/timestamp.h"
#include "redis/server.h"

/* Alternate screen, cursor hidden, no line wrap; and the reverse. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* After so much silence of the server, it is shown, and from then on every SILENT_AGAIN_MS. */
#define SILENT_MS 2000
#define SILENT_AGAIN_MS 1000

/* The title, and the line for what is wrong. */
#define HEAD_ROWS 2

/* Of a terminal that does not know its size. */
#define ROWS_USUAL 24

/* A terminal that takes nothing for so long, as after Ctrl-S, does not get the rest of the frame:
 * the next one is whole, and a key or a signal may be what ends us. */
#define HELD_UP_MS 1000

struct watching {
	const struct watch *watch;
	int tty; /* /dev/tty, non-blocking: standard input may be something else */
	struct termios usual;
	bool has_screen;
	struct signal_fd signals;
	struct terminal terminal;
	char *text; /* the last one that came */
	struct error trouble;
	int64_t next_ms;    /* when to ask again */
	int64_t asked_ms;   /* when the text that is due was asked for */
	int64_t overdue_ms; /* when to show that it has not come */
	bool has_ended;
};

/* ---- The screen ---- */

static void put(const struct watching *w, const char *text, size_t length)
{
	struct pollfd slot = {.fd = w->tty, .events = POLLOUT};

	while (length > 0) {
		const ssize_t written = write(w->tty, text, length);

		if (written > 0) {
			text += written;
			length -= (size_t)written;
		} else if (errno != EAGAIN || poll(&slot, 1, HELD_UP_MS) <= 0) {
			return;
		}
	}
}

static void enter(struct watching *w)
{
	struct termios ours = w->usual;

	ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	ours.c_cc[VMIN] = 1;
	ours.c_cc[VTIME] = 0;
	tcsetattr(w->tty, TCSANOW, &ours);
	w->has_screen = true;
	put(w, ENTER, strlen(ENTER));
}

static void leave(struct watching *w)
{
	if (!w->has_screen)
		return;
	/* Ctrl-S is undone: the user wants the shell now. TCOON does nothing without TCOOFF. */
	tcflow(w->tty, TCOOFF);
	tcflow(w->tty, TCOON);
	put(w, LEAVE, strlen(LEAVE));
	tcsetattr(w->tty, TCSANOW, &w->usual);
	w->has_screen = false;
}

/* ---- Drawing ---- */

/* The last column stays free: erasing the rest of a full line would erase its end. */
static int width(const struct watching *w)
{
	return w->terminal.columns > 1 ? w->terminal.columns - 1 : 1;
}

static void put_line(const struct watching *w, FILE *frame, const char *text)
{
	char cut[2048];

	terminal_cut(&w->terminal, cut, sizeof(cut), text, width(w));
	fprintf(frame, "%s\033[K", cut);
}

/* The right end of the title is always visible. */
static void put_title(const struct watching *w, FILE *frame)
{
	char now[TIMESTAMP_MAX_BYTES], right[TIMESTAMP_MAX_BYTES + 16], left[2048];

	timestamp_local(now, wall_ms(), TIMESTAMP_SECOND);
	snprintf(right, sizeof(right), "  %s  q quits", now);
	terminal_cut(&w->terminal, left, sizeof(left), w->watch->title,
		     MAX(width(w) - (int)strlen(right), 0));
	fputs(left, frame);
	put_line(w, frame, right);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		count++;
		text++;
	}
	return count;
}

/* If not all lines fit, the last row says how many are left out. */
static void put_text(const struct watching *w, FILE *frame, size_t rows)
{
	const char *text = w->text;
	char more[32];

	for (size_t left = count_lines(text); left > 0; left--, rows--) {
		const size_t length = strcspn(text, "\n");

		if (rows == 1 && left > 1) {
			snprintf(more, sizeof(more), "... %zu more", left);
			fputs("\r\n", frame);
			put_line(w, frame, more);
			return;
		}
		fprintf(frame, "\r\n%.*s\033[K", (int)length, text);
		text += length + 1;
	}
}

/* The frame is one write, and each line goes over the one before, so that nothing flickers. */
static void draw(const struct watching *w)
{
	const size_t rows = w->terminal.rows > 0 ? (size_t)w->terminal.rows : ROWS_USUAL;
	char *bytes = NULL;
	size_t length = 0;
	FILE *frame = open_memstream(&bytes, &length);

	if (!frame)
		return;
	fputs("\033[H", frame);
	put_title(w, frame);
	if (rows >= HEAD_ROWS) {
		fputs("\r\n", frame);
		put_line(w, frame, w->trouble.status ? w->trouble.text : "");
	}
	if (rows > HEAD_ROWS)
		put_text(w, frame, rows - HEAD_ROWS);
	fputs("\033[J", frame);
	if (fclose(frame) == 0)
		put(w, bytes, length);
	free(bytes);
}

/* ---- Waiting ---- */

/* Draws the last text in the new size at once, and has a new one asked for. */
static void resize(struct watching *w)
{
	terminal_measure(&w->terminal, STDOUT_FILENO);
	draw(w);
	w->next_ms = 0;
}

static void take_signals(struct watching *w)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(&w->signals, &info)) {
		const int signo = (int)info.ssi_signo;

		if (signo == SIGTSTP && !signal_fd_ignores(SIGTSTP)) {
			leave(w);
			raise(SIGSTOP);
		} else if (signo == SIGCONT) {
			/* The shell has changed the terminal. What ends a process that Ctrl-Z
			 * stopped has a lower number, and so has come before. */
			enter(w);
			resize(w);
		} else if (signo == SIGWINCH) {
			resize(w);
		} else if (signal_fd_is_deadly(signo)) {
			leave(w);
			die_of(signo);
		}
	}
}

/* The terminal may have gone. Any key but q draws again, because it may have cut a frame short. */
static void take_keys(struct watching *w)
{
	char keys[64];
	const ssize_t length = read(w->tty, keys, sizeof(keys));

	if (length < 0 && errno == EAGAIN)
		return;
	w->has_ended = length <= 0 || memchr(keys, 'q', (size_t)length) ||
		       memchr(keys, 'Q', (size_t)length);
	if (!w->has_ended)
		draw(w);
}

static void show_silence(struct watching *w)
{
	const int64_t silent_ms = clock_ms() - w->asked_ms;
	char shown[DURATION_MAX_BYTES];

	w->overdue_ms = clock_ms() + SILENT_AGAIN_MS;
	fail(&w->trouble, STATUS_UNAVAILABLE, "no reply for %s",
	     duration_show(shown, silent_ms - silent_ms % 1000));
	draw(w);
}

/* Waits for the server's slot, a key, a signal, or until_ms. Returns false when the screen is
 * closed. */
static bool await_event(void *data, const struct pollfd *server, int64_t until_ms)
{
	struct watching *w = data;
	const int64_t left = earliest(until_ms, w->overdue_ms) - clock_ms();
	enum { SIGNALS, KEYS, SERVER, SLOTS };
	struct pollfd slots[SLOTS] = {[SIGNALS] = {.fd = w->signals.fd, .events = POLLIN},
				      [KEYS] = {.fd = w->tty, .events = POLLIN},
				      [SERVER] = *server};

	if (!w->has_ended && poll(slots, SLOTS, left > 0 ? (int)left : 0) > 0) {
		if (slots[SIGNALS].revents)
			take_signals(w);
		if (slots[KEYS].revents)
			take_keys(w);
	}
	if (!w->has_ended && clock_ms() >= w->overdue_ms)
		show_silence(w);
	return !w->has_ended;
}

/* Asks for a new text. The old one stays if that fails. */
static int ask(struct watching *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int result = 0;

	w->asked_ms = clock_ms();
	w->next_ms = w->asked_ms + w->watch->period_ms;
	w->overdue_ms = w->asked_ms + SILENT_MS;
	if (out)
		result = w->watch->source(w->watch->data, out, width(w), &w->trouble);
	w->overdue_ms = NEVER_MS;
	if (!out || fclose(out) != 0)
		result = fail(&w->trouble, STATUS_OS, "cannot draw the screen: out of memory");
	if (result < 0) {
		free(text);
		return -1;
	}
	free(w->text);
	w->text = text;
	return 0;
}

/* ---- Beginning and end ---- */

static int open_terminal(struct watching *w, struct error *err)
{
	w->tty = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* tcgetpgrp fails unless this is the controlling terminal */
	if (w->tty < 0 || tcgetpgrp(STDOUT_FILENO) < 0 || tcgetattr(w->tty, &w->usual) < 0)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': standard output is not a terminal");
	if (terminal_is_dumb())
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': TERM says that this terminal cannot be "
			    "redrawn");
	terminal_init(&w->terminal, STDOUT_FILENO);
	terminal_measure(&w->terminal, STDOUT_FILENO);
	return 0;
}

/* Ctrl-Z is taken, so that it finds the terminal restored. In the background, SIGTTOU stops us
 * before we change the terminal. */
static int open_signals(struct watching *w, struct error *err)
{
	sigset_t set;

	if (signal_fd_open(&w->signals, err) < 0)
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 0;
}

static void watch_screen(struct watching *w)
{
	const struct meanwhile meanwhile = {.await = await_event, .data = w};
	const struct pollfd no_server = {.fd = -1};

	w->watch->server->meanwhile = &meanwhile;
	enter(w);
	draw(w);
	while (await_event(w, &no_server, w->next_ms)) {
		if (clock_ms() < w->next_ms)
			continue;
		ask(w);
		if (!w->has_ended)
			draw(w);
	}
	leave(w);
	w->watch->server->meanwhile = NULL;
}

/* The first text comes before the screen is switched: a failure is told as any other is. */
int watch_run(const struct watch *watch, struct error *err)
{
	struct watching w = {.watch = watch};
	int result = open_terminal(&w, err);

	if (result == 0) {
		result = ask(&w);
		*err = w.trouble;
	}
	if (result == 0)
		result = open_signals(&w, err);
	if (result == 0) {
		watch_screen(&w);
		signal_fd_restore(&w.signals);
		signal_fd_close(&w.signals);
	}
	if (w.tty >= 0)
		close(w.tty);
	free(w.text);
	return result;
}
