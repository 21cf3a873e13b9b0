/* Composes the line to the width of the terminal, and draws it over the one before. */
#include "lock/progress.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "redis/reply.h"

#define SHORT_WAIT_MS 300
#define REDRAW_MS 1000

#define COLUMNS_LEAST 16
#define COLUMNS_PREFIX 80 /* from here on there is room for "fairlock: " and more */
#define TEXT_MAX_BYTES 4096

/* The log must have so many holds before we call their length usual. */
#define USUAL_LEAST 5

/* More than any server has, and short enough for sums, whatever a server says. */
#define COUNT_MAX 100000000
#define USUAL_MAX_MS (INT64_C(1) << 36)

static const char dim[] = "\033[2m", magenta[] = "\033[35m", plain_again[] = "\033[0m";
static const char erase[] = "\033[J"; /* also what wrapped when the terminal became narrower */

/* ---- The view ---- */

/* The last view's token goes with it, so that the usual times of one hold come only once. */
void waiter_view_ask(const struct waiter_view *view, const struct lock *lock,
		     struct request *request)
{
	wire_look(&lock->keys, request, "view");
	wire_add(request, lock->request, view->token);
}

static int64_t number_at(const struct redisReply *list, size_t index, int64_t most)
{
	const long long value = reply_number(list, index);

	return value < 0 ? 0 : earliest(value, most);
}

/* view PLACE WAITERS, and the holder */
void waiter_view_read(struct waiter_view *view, const struct lock *lock,
		      const struct client *client)
{
	const struct redisReply *reply = client->reply;

	if (reply_count(reply) < 10 || strcmp(reply_text(reply, 0), "view") != 0)
		return;
	view->is_known = true;
	view->at_ms = client->sent_ms;
	view->place = number_at(reply, 1, COUNT_MAX);
	view->waiters = number_at(reply, 2, COUNT_MAX);
	view->holder = lock_read_holder(lock, reply, 3);
	snprintf(view->owner, sizeof(view->owner), "%s", view->holder.owner);
	snprintf(view->by, sizeof(view->by), "%s", view->holder.by);
	view->holder.owner = view->owner;
	view->holder.by = view->by;
	view->holder.is_last = view->place > 1;
}

struct holder waiter_view_holder(const struct waiter_view *view)
{
	const int64_t passed_ms = clock_ms() - view->at_ms;
	struct holder holder = view->holder;

	if (holder.held_ms >= 0)
		holder.held_ms += passed_ms;
	/* a lease that has ended meanwhile was renewed, or the next answer knows */
	holder.next_ms = holder.next_ms < passed_ms ? -1 : holder.next_ms - passed_ms;
	return holder;
}

/* ---- The text of the line ---- */

struct text {
	char bytes[TEXT_MAX_BYTES];
	size_t length;
	bool urgent;
	int cut; /* 0: all; 1: only what matters most; 2: nor a pid, for the command's sake */
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->bytes + text->length, sizeof(text->bytes) - text->length, format,
			   args);
	va_end(args);
	if (length > 0)
		text->length += (size_t)length;
	if (text->length >= sizeof(text->bytes))
		text->length = sizeof(text->bytes) - 1;
}

static const char *seconds(char shown[DURATION_MAX_BYTES], int64_t ms)
{
	if (ms < 1000)
		return "0s";
	return duration_show(shown, ms - ms % 1000);
}

/* "1st", "2nd", "11th" */
static const char *ordinal_ending(int64_t number)
{
	static const char *const endings[] = {"th", "st", "nd", "rd"};
	const int64_t last = number % 10;

	return number / 10 % 10 == 1 || last > 3 ? endings[0] : endings[last];
}

static bool is_enough(struct usual usual)
{
	return usual.count >= USUAL_LEAST;
}

static bool is_overdue(const struct waiter_view *view, const struct holder *holder)
{
	return is_enough(view->of_job) && holder->held_ms > view->of_job.ms;
}

/* Estimates our turn: the usual holds of the waiters before us, and the rest of the holder's, no
 * more precisely than such a guess can be. Not if several hold the lock at once, or may. */
static void say_turn(struct text *text, const struct waiter_view *view, const struct holder *holder)
{
	char shown[DURATION_MAX_BYTES];
	int64_t left, unit;

	if (holder->count > 1 || strcmp(holder->want, MODE_EXCLUSIVE) != 0 || holder->held_ms < 0 ||
	    view->place < 1 || !is_enough(view->of_job) || is_overdue(view, holder) ||
	    (view->place > 1 && !is_enough(view->of_all)))
		return;
	left = view->of_job.ms - holder->held_ms + (view->place - 1) * view->of_all.ms;
	unit = left < 120000 ? 10000 : 60000;
	left = (left + unit / 2) / unit * unit;
	if (left > 0)
		say(text, ", turn in about %s", duration_show(shown, left));
	else
		say(text, ", turn soon");
}

/* The command comes last, since it may be long. With a reason, it is one word. */
static void say_process(struct text *text, const char *by, bool has_pid)
{
	struct owner_process process;

	owner_parse(&process, by);
	say(text, " %s@%.*s", process.user, (int)strcspn(process.host, text->cut ? "." : ""),
	    process.host);
	if (has_pid)
		say(text, ", pid %s", process.pid);
	say(text, ": %s%s%s", text->cut ? owner_without_folder(process.command) : process.command,
	    *process.reason ? ": " : "", process.reason);
}

static void say_held(struct text *text, const struct waiter_view *view, const struct holder *holder,
		     bool has_room)
{
	char shown[DURATION_MAX_BYTES];

	text->urgent = is_overdue(view, holder);
	say(text, "; held");
	if (holder->held_ms >= 0)
		say(text, " %s", seconds(shown, holder->held_ms));
	if (text->urgent || (has_room && is_enough(view->of_job)))
		say(text, " (usually %s)", seconds(shown, view->of_job.ms));
	say(text, " by");
	if (*holder->by)
		say_process(text, holder->by, text->cut < 2);
	else
		say(text, " %s", holder->owner);
}

static void say_by_hand(struct text *text, const struct holder *holder)
{
	struct owner_process process;
	char until[UNTIL_MAX_BYTES];

	owner_parse(&process, holder->by);
	say(text, "; held by hand%s, %s@%.*s%s%s", holder_show_until(until, holder), process.user,
	    (int)strcspn(process.host, text->cut ? "." : ""), process.host,
	    *process.reason ? ": " : "", process.reason);
}

static void say_holder(struct text *text, const struct waiter_view *view,
		       const struct holder *holder, bool has_room)
{
	char slots[SLOTS_HELD_BYTES];
	char until[TIMESTAMP_MAX_BYTES];

	if (!*holder->owner) {
		say(text, "; it is free just now");
	} else if (holder_show_count(slots, holder)) {
		say(text, "; %s", slots);
	} else if (holder_show_slots(slots, holder)) {
		say(text, "; %s held", slots);
	} else if (holder->count > 1) {
		say(text, "; held by %" PRId64 " that share it", holder->count);
	} else if (holder_show_kept(until, holder->held_ms)) {
		say(text, "; kept until %s%s", until, *holder->by ? " by --min-hold of" : "");
		if (*holder->by)
			say_process(text, holder->by, false);
	} else if (holder->by_hand && *holder->by) {
		say_by_hand(text, holder);
	} else {
		say_held(text, view, holder, has_room);
	}
}

static void compose(struct text *text, const struct progress *line, const struct lock *lock,
		    const struct waiter_view *view, const char *trouble)
{
	const struct holder holder = waiter_view_holder(view);
	const int columns = line->terminal.columns;
	const bool has_room = columns >= COLUMNS_PREFIX && !text->cut;
	char shown[DURATION_MAX_BYTES], name[TEXT_MAX_BYTES / 4];

	text->length = 0;
	text->urgent = trouble != NULL;
	terminal_cut(&line->terminal, name, sizeof(name), lock->keys.name, columns / 3);
	say(text, "%s%s: ", has_room ? "fairlock: " : "", name);
	if (view->is_known && view->place > 0 && !trouble)
		say(text, "%" PRId64 "%s of %" PRId64 ", ", view->place,
		    ordinal_ending(view->place), view->waiters);
	say(text, "waited %s", seconds(shown, clock_ms() - line->from_ms));
	if (trouble) {
		say(text, "; %s", trouble);
	} else if (view->is_known) {
		say_turn(text, view, &holder);
		say_holder(text, view, &holder, has_room);
	}
}

/* ---- Drawing ---- */

void progress_init(struct progress *line)
{
	*line = (struct progress){.fd = -1, .from_ms = clock_ms(), .draw_ms = NEVER_MS};
}

/* Takes or leaves SIGTSTP, so that no line stays on the screen of a stopped job. */
static void change_stop(struct progress *line, int how)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	if (how == SIG_UNBLOCK && !line->takes_sigtstp)
		return;
	sigprocmask(how, &set, &before);
	line->takes_sigtstp = how == SIG_BLOCK && !sigismember(&before, SIGTSTP);
}

void progress_start(struct progress *line)
{
	/* this fails unless standard error is our controlling terminal */
	if (tcgetpgrp(STDERR_FILENO) < 0)
		return;
	line->fd = open("/dev/tty", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (line->fd < 0)
		return;
	terminal_init(&line->terminal, line->fd);
	line->plain = terminal_is_dumb();
	line->first_ms = line->draw_ms = clock_ms() + SHORT_WAIT_MS;
	if (!signal_fd_ignores(SIGTSTP))
		change_stop(line, SIG_BLOCK);
}

bool progress_is_seen(struct progress *line)
{
	const bool seen = line->fd >= 0 && tcgetpgrp(line->fd) == getpgrp();

	line->shown &= seen; /* in the foreground again, we do not know what is on the screen */
	return seen;
}

static void put_line(struct progress *line, const char *text, int taken, bool urgent)
{
	char bytes[TEXT_MAX_BYTES + 64];
	const bool coloured = line->terminal.colour && taken > 0;
	const int left = line->shown && line->taken > taken ? line->taken - taken : 0;
	int length;

	if (line->plain)
		length = snprintf(bytes, sizeof(bytes), "\r%s%*s\r", text, left, "");
	else
		length = snprintf(bytes, sizeof(bytes), "\r%s%s%s%s\r",
				  !coloured ? ""
				  : urgent  ? magenta
					    : dim,
				  text, coloured ? plain_again : "", erase);
	if (length > 0 && (size_t)length < sizeof(bytes))
		(void)!write(line->fd, bytes, (size_t)length);
	line->taken = taken;
}

void progress_draw(struct progress *line, const struct lock *lock, const struct waiter_view *view,
		   const char *trouble)
{
	struct text text = {.cut = 0};
	char cut[TEXT_MAX_BYTES];
	int taken, most;

	if (clock_ms() < line->first_ms) {
		progress_hurry(line);
		return;
	}
	progress_put_off(line);
	if (!progress_is_seen(line))
		return;
	terminal_measure(&line->terminal, line->fd);
	if (line->terminal.columns < COLUMNS_LEAST)
		return;
	most = line->terminal.columns < COLUMNS_PREFIX ? 2 : 1;
	compose(&text, line, lock, view, trouble);
	while (text.cut < most &&
	       terminal_width(&line->terminal, text.bytes) >= line->terminal.columns) {
		text.cut++;
		compose(&text, line, lock, view, trouble);
	}
	/* the last column stays free: some terminals go on to the next line when it is taken */
	taken = terminal_cut(&line->terminal, cut, sizeof(cut), text.bytes,
			     line->terminal.columns - 1);
	put_line(line, cut, taken, text.urgent);
	line->shown = true;
}

void progress_put_off(struct progress *line)
{
	if (line->fd >= 0)
		line->draw_ms = clock_ms() + REDRAW_MS;
}

void progress_hurry(struct progress *line)
{
	const int64_t now = clock_ms();

	if (line->fd >= 0)
		line->draw_ms = now < line->first_ms ? line->first_ms : now;
}

void progress_clear(struct progress *line)
{
	if (line->shown && progress_is_seen(line))
		put_line(line, "", 0, false);
	line->shown = false;
}

void progress_stop(struct progress *line)
{
	progress_clear(line);
	raise(SIGTSTP);
	change_stop(line, SIG_UNBLOCK);
	/* here we stop, and are continued */
	change_stop(line, SIG_BLOCK);
	progress_hurry(line);
}

void progress_close(struct progress *line)
{
	progress_clear(line);
	if (line->fd < 0)
		return;
	change_stop(line, SIG_UNBLOCK);
	close(line->fd);
	line->fd = -1;
	line->draw_ms = NEVER_MS;
}
