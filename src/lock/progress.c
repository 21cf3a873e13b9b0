/* What a waiter knows about its lock, and the line on a terminal that tells it. The line stands at
 * the cursor, and the cursor at its beginning, so that any other output overwrites it. */
#include "lock/wait.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "redis/reply.h"

#define SHORT_WAIT_MS 300
#define REDRAW_MS 1000

#define COLUMNS_LEAST 16
#define COLUMNS_PREFIX 100 /* from here on there is room for "fairlock: ", too */
#define TEXT_MAX_BYTES 4096

/* More than any server has, whatever a server says. */
#define COUNT_MAX 100000000

static const char dim[] = "\033[2m", magenta[] = "\033[35m", plain_again[] = "\033[0m";
static const char erase[] = "\033[J"; /* also what wrapped when the terminal became narrower */

/* ---- The view ---- */

void waiter_view_ask(const struct lock *lock, struct request *request)
{
	wire_look(&lock->keys, request, "view");
	wire_add(request, lock->request);
}

static int64_t count_at(const struct redisReply *list, size_t index)
{
	const long long value = reply_number(list, index);

	return value < 0 ? 0 : earliest(value, COUNT_MAX);
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
	view->place = count_at(reply, 1);
	view->waiters = count_at(reply, 2);
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

static const char *seconds(char shown[DURATION_MAX_BYTES], int64_t ms)
{
	return ms < 1000 ? "0s" : duration_show(shown, ms - ms % 1000);
}

const char *waiter_view_say(char text[OWNER_SHOWN_BYTES], size_t characters,
			    const struct waiter_view *view, const struct lock *lock)
{
	const struct holder holder = waiter_view_holder(view);
	char waited[DURATION_MAX_BYTES], place[64] = "", shown[OWNER_SHOWN_BYTES];
	size_t taken;

	if (view->is_known && view->place > 0)
		snprintf(place, sizeof(place), "place %" PRId64 " of %" PRId64 ", ", view->place,
			 view->waiters);
	taken = (size_t)snprintf(text, OWNER_SHOWN_BYTES, "%swaited %s", place,
				 seconds(waited, clock_ms() - lock->place.wanted_ms));
	if (!view->is_known)
		return text;
	characters = characters > taken + 2 + HOLDER_LEAST ? characters - taken - 2 : HOLDER_LEAST;
	snprintf(text + taken, OWNER_SHOWN_BYTES - taken, ", %s",
		 *holder.owner ? holder_show(shown, characters, &holder) : "it is free just now");
	return text;
}

/* ---- The line ---- */

static void compose(char text[TEXT_MAX_BYTES], const struct progress *line, const struct lock *lock,
		    const struct waiter_view *view, const char *trouble)
{
	static const struct waiter_view nothing = {.is_known = false};
	const int columns = line->terminal.columns;
	char name[TEXT_MAX_BYTES / 4], shown[OWNER_SHOWN_BYTES];
	size_t room;

	terminal_cut(&line->terminal, name, sizeof(name), lock->keys.name, columns / 3);
	snprintf(text, TEXT_MAX_BYTES,
		 "%s%s: ", columns < COLUMNS_PREFIX ? "" : "fairlock: ", name);
	room = (size_t)columns - 1 - count_characters(text);
	strcat(text, waiter_view_say(shown, room < MESSAGE_CHARACTERS ? room : MESSAGE_CHARACTERS,
				     trouble ? &nothing : view, lock));
	if (trouble)
		strcat(strcat(text, "; "), trouble);
}

void progress_init(struct progress *line)
{
	*line = (struct progress){.fd = -1, .draw_ms = NEVER_MS};
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

static void put_line(struct progress *line, const char *text, int taken, const char *trouble)
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
				  : trouble ? magenta
					    : dim,
				  text, coloured ? plain_again : "", erase);
	if (length > 0 && (size_t)length < sizeof(bytes))
		(void)!write(line->fd, bytes, (size_t)length);
	line->taken = taken;
}

void progress_draw(struct progress *line, const struct lock *lock, const struct waiter_view *view,
		   const char *trouble)
{
	char text[TEXT_MAX_BYTES];
	int taken;

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
	compose(text, line, lock, view, trouble);
	/* the last column stays free: some terminals go on to the next line when it is taken */
	taken = terminal_cut(&line->terminal, text, sizeof(text), text, line->terminal.columns - 1);
	put_line(line, text, taken, trouble);
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
		put_line(line, "", 0, NULL);
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
