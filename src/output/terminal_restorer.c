/* The process has a group of its own: a signal to the group of `--watch` does not reach it. */
#include "output/terminal_restorer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool are_same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

static void restore(const struct terminal_restorer *restorer, int tty)
{
	struct termios now;

	(void)!write(tty, restorer->leave, strlen(restorer->leave));
	/* a shell that edits its line has set the terminal for that already */
	if (tcgetattr(tty, &now) == 0 && are_same(&now, &restorer->ours))
		tcsetattr(tty, TCSANOW, &restorer->usual);
}

static _Noreturn void stand_by(const struct terminal_restorer *restorer, int pidfd)
{
	struct pollfd slot = {.fd = pidfd, .events = POLLIN};
	const int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	while (poll(&slot, 1, -1) < 0 && errno == EINTR)
		;
	if (*restorer->needed)
		restore(restorer, tty);
	_exit(0);
}

static int start_process(struct terminal_restorer *restorer, int pidfd)
{
	sigset_t all, before;

	/* it is in the background, and must not be stopped for that when it writes */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	restorer->pid = fork();
	if (restorer->pid == 0)
		stand_by(restorer, pidfd);
	if (restorer->pid > 0)
		setpgid(restorer->pid, restorer->pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return restorer->pid < 0 ? -1 : 0;
}

int terminal_restorer_start(struct terminal_restorer *restorer, struct error *err)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int result = -1;

	restorer->needed = mmap(NULL, sizeof(*restorer->needed), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pidfd >= 0 && restorer->needed != MAP_FAILED)
		result = start_process(restorer, pidfd);
	if (result < 0)
		fail(err, STATUS_OS, "cannot look after the terminal: %s", strerror(errno));
	if (pidfd >= 0)
		close(pidfd);
	return result;
}

void terminal_restorer_end(struct terminal_restorer *restorer)
{
	if (restorer->pid <= 0)
		return;
	kill(restorer->pid, SIGKILL);
	while (waitpid(restorer->pid, NULL, 0) < 0 && errno == EINTR)
		;
	restorer->pid = 0;
}
