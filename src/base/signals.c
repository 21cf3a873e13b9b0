/* Which signals are blocked, taken and passed on. Masks go directly to the kernel. */
#include "base/signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

#define BIT SIGNAL_BIT

/* All others can be passed on. Of these, the first two cannot be taken, four tell of a crash of
 * this process, three stop it, and the last two are about its children and connections. */
#define KEPT                                                                                       \
	(BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGILL) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) |    \
	 STOPPING_SIGNALS | BIT(SIGCHLD) | BIT(SIGPIPE))

bool signal_fd_ignores(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
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
	const uint64_t passed_on = ~KEPT;

	/* else the kernel would reap COMMAND before its status is read */
	signals->child_ignored = signal_fd_ignores(SIGCHLD);
	if (signals->child_ignored)
		signal(SIGCHLD, SIG_DFL);
	/* SIGPIPE: a server that hangs up is an error. SIGTTOU: a message from the background must
	 * not stop this process. */
	change_mask(SIG_BLOCK, passed_on | BIT(SIGCHLD) | BIT(SIGPIPE) | BIT(SIGTTOU),
		    &signals->original);
	return open_descriptor(
		signals, ((passed_on | BIT(SIGTSTP)) & ~signals->original) | BIT(SIGCHLD), err);
}

int signal_fd_open_deaf(struct signal_fd *signals, struct error *err)
{
	change_mask(SIG_SETMASK, ~UINT64_C(0), &signals->original);
	signals->child_ignored = false;
	return open_descriptor(signals, BIT(SIGCHLD), err);
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
	return signals & ~(BIT(SIGCHLD) | BIT(SIGPIPE) | BIT(SIGXFSZ) | BIT(SIGCONT));
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

void signal_fd_unblock(const struct signal_fd *signals)
{
	change_mask(SIG_UNBLOCK, signals->taken, NULL);
}

_Noreturn void die_of(int signo)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* the limit does not hold for a pipe that takes cores */
	signal(signo, SIG_DFL);
	kill(getpid(), signo);
	change_mask(SIG_UNBLOCK, BIT(signo), NULL);
	_exit(128 + signo);
}

/* ---- Names. Real-time signals have none: RTMIN is another one in glibc and in musl. ---- */

static const struct {
	const char *name;
	int number;
} named[] = {
	{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT},     {"ILL", SIGILL},
	{"TRAP", SIGTRAP}, {"ABRT", SIGABRT},   {"BUS", SIGBUS},       {"FPE", SIGFPE},
	{"KILL", SIGKILL}, {"USR1", SIGUSR1},   {"SEGV", SIGSEGV},     {"USR2", SIGUSR2},
	{"PIPE", SIGPIPE}, {"ALRM", SIGALRM},   {"TERM", SIGTERM},     {"CHLD", SIGCHLD},
	{"CONT", SIGCONT}, {"STOP", SIGSTOP},   {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN},
	{"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU},     {"XFSZ", SIGXFSZ},
	{"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"VTALRM", SIGVTALRM}, {"IO", SIGIO},
	{"PWR", SIGPWR},   {"SYS", SIGSYS},
};

#define NAMED (sizeof(named) / sizeof(named[0]))

int signal_parse(const char *text, int *number)
{
	int64_t value;

	if (number_parse(text, strlen(text), &value) == 0 && value >= 1 && value <= SIGRTMAX) {
		*number = (int)value;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < NAMED; i++) {
		if (strcasecmp(text, named[i].name) == 0) {
			*number = named[i].number;
			return 0;
		}
	}
	return -1;
}

const char *signal_show(char text[SIGNAL_MAX_BYTES], int number)
{
	snprintf(text, SIGNAL_MAX_BYTES, "%d", number);
	for (size_t i = 0; i < NAMED; i++)
		if (named[i].number == number)
			snprintf(text, SIGNAL_MAX_BYTES, "%s", named[i].name);
	return text;
}
