/* This process draws, takes keys and signals, and never waits for anything else. There are two
 * more: the worker (output/watch_worker.h) and the restorer (output/full_screen.h). */
#include "output/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/signal_fd.h"
#include "base/terminal.h"
#include "output/full_screen.h"
#include "output/scroll.h"
#include "output/timestamp.h"

/* After so much silence of the server, it is shown, and from then on every SILENT_AGAIN_MS. */
#define SILENT_MS 2000
#define SILENT_AGAIN_MS 1000

/* The title, and the line for what is wrong. */
#define HEAD_ROWS 2

struct watching {
	const struct watch *watch;
	struct full_screen screen; /* on /dev/tty: standard input may be something else */
	int signals;
	sigset_t before;
	struct watch_worker worker;
	struct terminal terminal;
	char *text; /* the last one that came */
	struct scroll scroll;
	struct error trouble;
	int64_t next_ms;    /* when to ask again */
	int64_t asked_ms;   /* when the text that is due was asked for */
	int64_t overdue_ms; /* when to show that it has not come */
	bool stale;         /* the frame on its way is older than the text */
};

/* ---- Drawing ---- */

/* The last column stays free: erasing the rest of a full line would erase its end. */
static int width(const struct watching *w)
{
	return w->terminal.columns > 1 ? w->terminal.columns - 1 : 1;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n' || text[1] == '\0';
	return count;
}

/* Which of the lines below the headings are shown, and how many there are. */
static void fit_text(struct watching *w)
{
	const size_t lines = count_lines(w->text ? w->text : "");
	const size_t taken = HEAD_ROWS + w->watch->headings;
	const size_t rows = w->terminal.rows > 0 ? (size_t)w->terminal.rows : 0;

	scroll_fit(&w->scroll, lines > w->watch->headings ? lines - w->watch->headings : 0,
		   rows > taken ? rows - taken : 1);
}

/* The right end of the title is always visible. */
static void put_title(const struct watching *w, FILE *frame)
{
	const struct scroll *scroll = &w->scroll;
	char now[TIMESTAMP_MAX_BYTES], rows[80] = "", line[256], cut[2048];
	const size_t end = MIN(scroll->first + scroll->room, scroll->lines);

	timestamp_local(now, (int64_t)time(NULL) * 1000, TIMESTAMP_SECOND);
	if (scroll->lines > scroll->room)
		snprintf(rows, sizeof(rows), "  rows %zu-%zu of %zu", scroll->first + 1, end,
			 scroll->lines);
	snprintf(line, sizeof(line), "  %s%s  q quits", now, rows);
	terminal_cut(&w->terminal, cut, sizeof(cut), w->watch->title,
		     MAX(width(w) - (int)strlen(line), 0));
	fputs(cut, frame);
	terminal_cut(&w->terminal, cut, sizeof(cut), line,
		     width(w) - terminal_width(&w->terminal, cut));
	fprintf(frame, "%s\033[K\r\n", cut);
	terminal_cut(&w->terminal, cut, sizeof(cut), w->trouble.status ? w->trouble.text : "",
		     width(w));
	fprintf(frame, "%s\033[K", cut);
}

static void put_text(const struct watching *w, FILE *frame)
{
	const struct scroll *scroll = &w->scroll;
	const size_t from = w->watch->headings + scroll->first;
	const char *text = w->text ? w->text : "";

	for (size_t i = 0; *text && i < from + scroll->room; i++) {
		const size_t length = strcspn(text, "\n");

		if (i < w->watch->headings || i >= from)
			fprintf(frame, "\r\n%.*s\033[K", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

/* The frame is one write, and each line goes over the one before, so that nothing flickers. A frame
 * on its way is finished first. */
static void draw(struct watching *w)
{
	FILE *frame;

	w->stale = w->screen.sent > 0 && !full_screen_is_drawn(&w->screen);
	if (w->stale)
		return;
	free(w->screen.frame);
	w->screen.frame = NULL;
	w->screen.length = w->screen.sent = 0;
	frame = open_memstream(&w->screen.frame, &w->screen.length);
	if (!frame)
		return;
	fit_text(w);
	fputs("\033[H", frame);
	put_title(w, frame);
	put_text(w, frame);
	fputs("\033[J", frame);
	if (fclose(frame) != 0)
		w->screen.length = 0;
	full_screen_push(&w->screen);
}

/* ---- Asking for texts ---- */

static void ask_for_text(struct watching *w)
{
	w->next_ms = clock_ms() + w->watch->period_ms;
	if (w->worker.asked)
		return;
	watch_worker_ask(&w->worker, width(w));
	w->asked_ms = clock_ms();
	w->overdue_ms = w->asked_ms + SILENT_MS;
}

/* Returns -1 when no more text will come. */
static int take_text(struct watching *w, struct error *err)
{
	char *text;

	switch (watch_worker_take(&w->worker, &text, &w->trouble)) {
	case WATCH_WORKER_NOT_YET:
		return 0;
	case WATCH_WORKER_TEXT:
		free(w->text);
		w->text = text;
		break;
	case WATCH_WORKER_FAILED:
		break;
	case WATCH_WORKER_GONE:
		return fail(err, STATUS_OS,
			    "cannot continue --watch: the process that asks the server was "
			    "killed, or had no memory");
	}
	draw(w);
	return 0;
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

/* ---- Keys and signals ---- */

/* Draws the last text in the new size at once, and asks for a new one. */
static void resize(struct watching *w)
{
	terminal_measure(&w->terminal, STDOUT_FILENO);
	draw(w);
	ask_for_text(w);
}

/* For Ctrl-Z, which would stop this process if the signal were not blocked. */
static void stop(struct watching *w)
{
	full_screen_leave(&w->screen);
	raise(SIGSTOP);
	full_screen_enter(&w->screen);
	resize(w);
}

static void take_signals(struct watching *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGWINCH:
			resize(w);
			break;
		case SIGTSTP:
			stop(w);
			break;
		default:
			full_screen_leave(&w->screen);
			watch_worker_end(&w->worker);
			full_screen_close(&w->screen);
			die_of((int)info.ssi_signo);
		}
	}
}

/* Returns whether q was typed, or the terminal has gone. */
static bool take_keys(struct watching *w)
{
	char keys[64];
	const ssize_t length = read(w->screen.tty, keys, sizeof(keys));

	if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
		return true;
	if (length > 0 && scroll_take(&w->scroll, keys, (size_t)length))
		return true;
	draw(w);
	return false;
}

static int64_t wake_ms(const struct watching *w)
{
	return w->worker.asked ? w->overdue_ms : w->next_ms;
}

static void wake(struct watching *w)
{
	if (w->worker.asked)
		show_silence(w);
	else
		ask_for_text(w);
}

static int wait_and_draw(struct watching *w, struct error *err)
{
	enum { SIGNALS, KEYS, WORKER, SCREEN, SLOTS };
	struct pollfd slots[SLOTS] = {[SIGNALS] = {.fd = w->signals, .events = POLLIN},
				      [KEYS] = {.fd = w->screen.tty, .events = POLLIN},
				      [WORKER] = {.fd = w->worker.fd, .events = POLLIN},
				      [SCREEN] = {.events = POLLOUT}};

	for (;;) {
		const int64_t left = wake_ms(w) - clock_ms();

		slots[SCREEN].fd = full_screen_is_drawn(&w->screen) ? -1 : w->screen.tty;
		if (poll(slots, SLOTS, left > 0 ? (int)left : 0) < 0) {
			if (errno != EINTR)
				return 0;
			continue;
		}
		if (slots[SIGNALS].revents)
			take_signals(w);
		if ((slots[KEYS].revents & (POLLHUP | POLLERR)) ||
		    (slots[KEYS].revents && take_keys(w)))
			return 0;
		if (slots[WORKER].revents && take_text(w, err) < 0)
			return -1;
		if (slots[SCREEN].revents)
			full_screen_push(&w->screen);
		if (w->stale && full_screen_is_drawn(&w->screen))
			draw(w);
		if (clock_ms() >= wake_ms(w))
			wake(w);
	}
}

/* ---- Beginning and end ---- */

static int open_terminal(struct watching *w, struct error *err)
{
	if (full_screen_open(&w->screen, err) < 0)
		return -1;
	terminal_init(&w->terminal, STDOUT_FILENO);
	terminal_measure(&w->terminal, STDOUT_FILENO);
	return 0;
}

static int open_signals(struct watching *w, struct error *err)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!signal_fd_ignores(signals[i]) || signals[i] == SIGWINCH)
			sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &w->before);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0
		       ? fail(err, STATUS_OS, "cannot watch for signals: %s", strerror(errno))
		       : 0;
}

/* Before the screen is switched: a failure is told as any other is. */
static int get_first_text(struct watching *w, struct error *err)
{
	w->text = w->watch->source(w->watch->data, width(w), err);
	if (w->text)
		w->trouble = *err;
	w->next_ms = clock_ms() + w->watch->period_ms;
	return w->text ? 0 : -1;
}

static int open_all(struct watching *w, struct error *err)
{
	if (open_terminal(w, err) < 0 || get_first_text(w, err) < 0 || open_signals(w, err) < 0 ||
	    full_screen_start_restorer(&w->screen, err) < 0)
		return -1;
	return watch_worker_start(&w->worker, w->watch->source, w->watch->data, err);
}

int watch_run(const struct watch *watch, struct error *err)
{
	struct watching w = {.watch = watch, .signals = -1, .worker = {.fd = -1}};
	int result = open_all(&w, err);

	if (result == 0) {
		full_screen_enter(&w.screen);
		draw(&w);
		result = wait_and_draw(&w, err);
		full_screen_leave(&w.screen);
	}
	watch_worker_end(&w.worker);
	full_screen_close(&w.screen);
	if (w.signals >= 0) {
		sigprocmask(SIG_SETMASK, &w.before, NULL);
		close(w.signals);
	}
	free(w.text);
	return result;
}
