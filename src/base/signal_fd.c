/* Which signals are blocked, taken and passed on. Masks go directly to the kernel. */
#include "base/signal_fd.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* All others can be passed on. Of these, the first two cannot be taken, four tell of a crash of
 * this process, three stop it, and the last two are about its children and connections. */
static const int kept[] = {SIGKILL, SIGSTOP, SIGILL,  SIGBUS,  SIGFPE, SIGSEGV,
			   SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGPIPE};

#define KEPT (sizeof(kept) / sizeof(kept[0]))

#define FIRST_REAL_TIME 32
#define LAST_REAL_TIME 64

bool signal_fd_ignores(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* A handler ends with exec, and is no business of the programs that we start; SIG_IGN would stay.
 */
static void go_on(int signo)
{
	(void)signo;
}

void signal_fd_outlive_full_files(void)
{
	if (!signal_fd_ignores(SIGXFSZ))
		signal(SIGXFSZ, go_on);
}

/* If SIGCHLD were ignored, the kernel would reap COMMAND before its status is read. */
static void stop_ignoring_children(struct signal_fd *signals)
{
	signals->child_ignored = signal_fd_ignores(SIGCHLD);
	if (signals->child_ignored)
		signal(SIGCHLD, SIG_DFL);
}

/* glibc and musl each keep some of the lowest real-time signals for themselves, and hide them from
 * masks. COMMAND may use these signals, so masks here are the kernel's. */
static uint64_t mask_of(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

static void change_mask(int how, uint64_t mask, uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, how, &mask, before, sizeof(mask));
}

static int open_descriptor(struct signal_fd *signals, uint64_t mask, struct error *err)
{
	signals->taken = mask;
	signals->fd =
		(int)syscall(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return fail(err, STATUS_OS, "cannot watch for signals: %s", strerror(errno));
	return 0;
}

int signal_fd_open(struct signal_fd *signals, struct error *err)
{
	uint64_t mask = ~UINT64_C(0);

	stop_ignoring_children(signals);
	for (size_t i = 0; i < KEPT; i++)
		mask &= ~mask_of(kept[i]);
	/* SIGPIPE: a server that hangs up is an error. SIGTTOU: a message from the background must
	 * not stop this process. */
	change_mask(SIG_BLOCK, mask | mask_of(SIGCHLD) | mask_of(SIGPIPE) | mask_of(SIGTTOU),
		    &signals->original);
	mask |= mask_of(SIGTSTP);
	return open_descriptor(signals, (mask & ~signals->original) | mask_of(SIGCHLD), err);
}

int signal_fd_open_deaf(struct signal_fd *signals, struct error *err)
{
	change_mask(SIG_SETMASK, ~UINT64_C(0), &signals->original);
	signals->child_ignored = false;
	return open_descriptor(signals, mask_of(SIGCHLD), err);
}

void signal_fd_close(struct signal_fd *signals)
{
	close(signals->fd);
}

bool signal_fd_next(const struct signal_fd *signals, struct signalfd_siginfo *info)
{
	do
		if (read(signals->fd, info, sizeof(*info)) != sizeof(*info))
			return false;
	while (info->ssi_signo == SIGXFSZ && (pid_t)info->ssi_pid == getpid());
	return true;
}

uint64_t signal_fd_pending(void)
{
	uint64_t signals = 0;

	syscall(SYS_rt_sigpending, &signals, sizeof(signals));
	return signals &
	       ~(mask_of(SIGCHLD) | mask_of(SIGPIPE) | mask_of(SIGXFSZ) | mask_of(SIGCONT));
}

uint64_t signal_fd_untaken(const struct signal_fd *signals)
{
	return signal_fd_pending() & signals->taken & (mask_of(FIRST_REAL_TIME) - 1);
}

uint64_t signal_fd_stopping(uint64_t signals)
{
	return signals & (mask_of(SIGTSTP) | mask_of(SIGTTIN) | mask_of(SIGTTOU));
}

bool signal_fd_has(uint64_t signals, int signo)
{
	return signals & mask_of(signo);
}

void signal_fd_hand_down(uint64_t signals, pid_t command)
{
	for (int signo = 1; signals && signo <= LAST_REAL_TIME; signo++)
		if (signal_fd_has(signals, signo))
			kill(command, signo);
}

bool signal_fd_is_deadly(int signo)
{
	return signo != SIGCHLD && signo != SIGCONT && signo != SIGURG && signo != SIGWINCH &&
	       signo != SIGTSTP && !signal_fd_ignores(signo);
}

void signal_fd_reap(const struct signalfd_siginfo *info)
{
	while (info->ssi_signo == SIGCHLD && waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int signal_fd_next_deadly(const struct signal_fd *signals)
{
	struct signalfd_siginfo info;

	while (signal_fd_next(signals, &info)) {
		signal_fd_reap(&info);
		if (signal_fd_is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	}
	return 0;
}

void signal_fd_restore(const struct signal_fd *signals)
{
	if (signals->child_ignored)
		signal(SIGCHLD, SIG_IGN);
	change_mask(SIG_SETMASK, signals->original, NULL);
}

_Noreturn void die_of(int signo)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* the limit does not hold for a pipe that takes cores */
	signal(signo, SIG_DFL);
	kill(getpid(), signo);
	change_mask(SIG_UNBLOCK, mask_of(signo), NULL);
	_exit(128 + signo);
}
