#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "inbox.h"
#include "screen.h"

/* Another screen, without cursor, whose long lines are cut; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

struct watching {
	const struct watch *watch;
	int tty; /* for keys; standard input may be something else */
	int signals;
	sigset_t before;
	struct termios usual;
	struct screen screen;
	char *text; /* what was seen last */
	struct error trouble;
	int64_t look_ms; /* when to look again */
	bool entered;
};

static void put(const char *bytes, size_t length)
{
	while (length > 0) {
		const ssize_t written = write(STDOUT_FILENO, bytes, length);

		if (written < 0 && errno != EINTR)
			return; /* the terminal is gone: a signal follows */
		if (written > 0) {
			bytes += written;
			length -= (size_t)written;
		}
	}
}

static void enter(struct watching *w)
{
	struct termios raw = w->usual;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(w->tty, TCSADRAIN, &raw);
	put(ENTER, sizeof(ENTER) - 1);
	w->entered = true;
}

static void leave(struct watching *w)
{
	if (!w->entered)
		return;
	put(LEAVE, sizeof(LEAVE) - 1);
	tcsetattr(w->tty, TCSADRAIN, &w->usual);
	w->entered = false;
}

/* ---- Drawing ---- */

static void head(const struct watching *w, FILE *frame)
{
	char now[16], line[512], cut[2048];
	const time_t seconds = time(NULL);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	strftime(now, sizeof(now), "%H:%M:%S", &parts);
	snprintf(line, sizeof(line), "%s  %s  q quits", w->watch->title, now);
	screen_cut(&w->screen, cut, sizeof(cut), line, w->screen.columns);
	fprintf(frame, "%s\033[K\r\n", cut);
	screen_cut(&w->screen, cut, sizeof(cut), w->trouble.status ? w->trouble.text : "",
		   w->screen.columns);
	fprintf(frame, "%s\033[K", cut);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	while (*text) {
		text += strcspn(text, "\n");
		text += *text == '\n';
		count++;
	}
	return count;
}

static void body(const struct watching *w, FILE *frame)
{
	const char *text = w->text ? w->text : "";
	const size_t lines = count_lines(text);
	const size_t rows = w->screen.rows > 3 ? (size_t)w->screen.rows - 2 : 1;
	const size_t shown = lines <= rows ? lines : rows - 1;

	for (size_t i = 0; i < shown; i++) {
		const size_t length = strcspn(text, "\n");

		fprintf(frame, "\r\n%.*s\033[K", (int)length, text);
		text += length + (text[length] == '\n');
	}
	if (shown < lines)
		fprintf(frame, "\r\n%zu more\033[K", lines - shown);
}

/* One write for all, each line over the one that stood there: nothing flickers. */
static void draw(struct watching *w)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *frame = open_memstream(&bytes, &length);

	if (!frame)
		return;
	fputs("\033[H", frame);
	head(w, frame);
	body(w, frame);
	fputs("\033[J", frame);
	if (fclose(frame) == 0)
		put(bytes, length);
	free(bytes);
}

static int look(struct watching *w, struct error *err)
{
	char *text;

	screen_measure(&w->screen, STDOUT_FILENO);
	text = w->watch->look(w->watch->data, w->screen.columns, err);
	w->look_ms = clock_ms() + w->watch->period_ms;
	if (!text)
		return -1;
	free(w->text);
	w->text = text;
	return 0;
}

static void refresh(struct watching *w)
{
	w->trouble.status = STATUS_OK;
	look(w, &w->trouble);
	draw(w);
}

/* ---- Keys and signals ---- */

/* As Ctrl-Z does with whoever does nothing about it. */
static void stop(struct watching *w)
{
	leave(w);
	raise(SIGSTOP);
	enter(w);
	refresh(w);
}

static void take_signals(struct watching *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGWINCH:
			refresh(w);
			break;
		case SIGTSTP:
			stop(w);
			break;
		default:
			leave(w);
			die_of((int)info.ssi_signo);
		}
	}
}

/* Whether it is over. */
static bool take_keys(struct watching *w)
{
	char keys[64];
	const ssize_t length = read(w->tty, keys, sizeof(keys));

	if (length < 0 && errno != EAGAIN && errno != EINTR)
		return true;
	for (ssize_t i = 0; i < length; i++)
		if (keys[i] == 'q' || keys[i] == 'Q')
			return true;
	return false;
}

static void wait_and_draw(struct watching *w)
{
	struct pollfd slots[] = {{.fd = w->signals, .events = POLLIN},
				 {.fd = w->tty, .events = POLLIN}};

	for (;;) {
		const int64_t left = w->look_ms - clock_ms();

		if (poll(slots, 2, left > 0 ? (int)left : 0) < 0 && errno != EINTR)
			return;
		take_signals(w);
		if (slots[1].revents && take_keys(w))
			return;
		if (clock_ms() >= w->look_ms)
			refresh(w);
	}
}

/* ---- Beginning and end ---- */

static int open_terminal(struct watching *w, struct error *err)
{
	w->tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (w->tty < 0 || !isatty(STDOUT_FILENO) || screen_is_dumb() ||
	    tcgetattr(w->tty, &w->usual) < 0)
		return fail(
			err, STATUS_USAGE,
			"cannot use option '--watch': standard output is no terminal to draw on");
	screen_look(&w->screen, STDOUT_FILENO);
	return 0;
}

static int open_signals(struct watching *w, struct error *err)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!inbox_ignores(signals[i]) || signals[i] == SIGWINCH)
			sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &w->before);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0
		       ? fail(err, STATUS_OS, "cannot watch for signals: %s", strerror(errno))
		       : 0;
}

int watch_run(const struct watch *watch, struct error *err)
{
	struct watching w = {.watch = watch, .signals = -1};
	int result = -1;

	if (open_terminal(&w, err) == 0 && look(&w, err) == 0 && open_signals(&w, err) == 0) {
		enter(&w);
		draw(&w);
		wait_and_draw(&w);
		leave(&w);
		sigprocmask(SIG_SETMASK, &w.before, NULL);
		result = 0;
	}
	if (w.signals >= 0)
		close(w.signals);
	if (w.tty >= 0)
		close(w.tty);
	free(w.text);
	return result;
}
