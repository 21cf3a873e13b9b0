/* A frame is written as the terminal takes it; entering and leaving may not be lost on the way. */
#include "output/full_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"

/* Alternate screen, cursor hidden, no line wrap; and the reverse. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* How long a terminal may take for either. */
#define SWITCH_MS 1000

int full_screen_open(struct full_screen *screen, struct error *err)
{
	*screen = (struct full_screen){
		.tty = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
	/* tcgetpgrp fails unless this is the controlling terminal */
	if (screen->tty < 0 || tcgetpgrp(STDOUT_FILENO) < 0 || terminal_is_dumb() ||
	    tcgetattr(screen->tty, &screen->usual) < 0)
		return fail(err, STATUS_USAGE,
			    "cannot use option '--watch': standard output is not a terminal");
	screen->ours = screen->usual;
	screen->ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	/* not 0: a shell that reads before the terminal is restored would see an end of file */
	screen->ours.c_cc[VMIN] = 1;
	screen->ours.c_cc[VTIME] = 0;
	return 0;
}

/* ---- The restorer ---- */

static bool are_same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

static void restore(const struct full_screen *screen, int tty)
{
	struct termios now;

	(void)!write(tty, LEAVE, strlen(LEAVE));
	/* a shell that edits its line has set the terminal for that already */
	if (tcgetattr(tty, &now) == 0 && are_same(&now, &screen->ours))
		tcsetattr(tty, TCSANOW, &screen->usual);
}

static _Noreturn void stand_by(const struct full_screen *screen, int pidfd)
{
	struct pollfd slot = {.fd = pidfd, .events = POLLIN};
	const int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	while (poll(&slot, 1, -1) < 0 && errno == EINTR)
		;
	if (*screen->entered)
		restore(screen, tty);
	_exit(0);
}

/* The restorer has a process group of its own: a signal to ours does not reach it. */
static int fork_restorer(struct full_screen *screen, int pidfd)
{
	sigset_t all, before;

	/* it is in the background, and must not be stopped for that when it writes */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	screen->restorer = fork();
	if (screen->restorer == 0)
		stand_by(screen, pidfd);
	if (screen->restorer > 0)
		setpgid(screen->restorer, screen->restorer);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return screen->restorer < 0 ? -1 : 0;
}

int full_screen_start_restorer(struct full_screen *screen, struct error *err)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int result = -1;

	screen->entered = mmap(NULL, sizeof(*screen->entered), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pidfd >= 0 && screen->entered != MAP_FAILED)
		result = fork_restorer(screen, pidfd);
	if (result < 0)
		fail(err, STATUS_OS, "cannot watch over the terminal: %s", strerror(errno));
	if (pidfd >= 0)
		close(pidfd);
	return result;
}

void full_screen_close(struct full_screen *screen)
{
	if (screen->restorer > 0) {
		kill(screen->restorer, SIGKILL);
		while (waitpid(screen->restorer, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (screen->tty >= 0)
		close(screen->tty);
	free(screen->frame);
}

/* ---- Drawing ---- */

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
	tcsetattr(screen->tty, TCSADRAIN, &screen->ours);
	*screen->entered = true;
	write_all(screen, ENTER);
}

void full_screen_leave(struct full_screen *screen)
{
	if (!*screen->entered)
		return;
	/* Ctrl-S is undone: the user wants the shell now. TCOON does nothing without TCOOFF. */
	tcflow(screen->tty, TCOOFF);
	tcflow(screen->tty, TCOON);
	write_all(screen, LEAVE);
	tcsetattr(screen->tty, TCSANOW, &screen->usual);
	*screen->entered = false;
	screen->sent = screen->length;
}

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

bool full_screen_is_drawn(const struct full_screen *screen)
{
	return screen->sent == screen->length;
}
