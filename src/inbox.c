#include "inbox.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static const int passed_on[] = {SIGHUP,  SIGINT, SIGQUIT,   SIGUSR1, SIGUSR2,  SIGALRM, SIGTERM,
				SIGCONT, SIGURG, SIGVTALRM, SIGPROF, SIGWINCH, SIGIO,   SIGPWR};

#define PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

bool inbox_ignores(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* An ignored SIGCHLD would reap COMMAND before its status could be read. */
static void mind_children(struct inbox *inbox)
{
	inbox->child_ignored = inbox_ignores(SIGCHLD);
	if (inbox->child_ignored)
		signal(SIGCHLD, SIG_DFL);
}

static void add_unless_blocked(sigset_t *set, const sigset_t *original, int signo)
{
	if (!sigismember(original, signo))
		sigaddset(set, signo);
}

static int open_descriptor(struct inbox *inbox, const sigset_t *set, struct error *err)
{
	inbox->fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (inbox->fd < 0)
		return fail(err, STATUS_OS, "cannot watch for signals: %s", strerror(errno));
	return 0;
}

int inbox_open(struct inbox *inbox, struct error *err)
{
	sigset_t set, blocked;

	mind_children(inbox);
	sigprocmask(SIG_SETMASK, NULL, &inbox->original);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < PASSED_ON; i++)
		add_unless_blocked(&set, &inbox->original, passed_on[i]);
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		add_unless_blocked(&set, &inbox->original, signo);
	blocked = set;
	sigaddset(&blocked, SIGPIPE); /* a server that is gone is an error, not our end */
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return open_descriptor(inbox, &set, err);
}

int inbox_open_deaf(struct inbox *inbox, struct error *err)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, &inbox->original);
	inbox->child_ignored = false;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return open_descriptor(inbox, &set, err);
}

bool inbox_next(const struct inbox *inbox, struct signalfd_siginfo *info)
{
	return read(inbox->fd, info, sizeof(*info)) == sizeof(*info);
}

static bool is_deadly(int signo)
{
	return signo != SIGCHLD && signo != SIGCONT && signo != SIGURG && signo != SIGWINCH &&
	       !inbox_ignores(signo);
}

int inbox_next_deadly(const struct inbox *inbox)
{
	struct signalfd_siginfo info;

	while (inbox_next(inbox, &info))
		if (is_deadly((int)info.ssi_signo))
			return (int)info.ssi_signo;
	return 0;
}

void inbox_restore(const struct inbox *inbox)
{
	if (inbox->child_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &inbox->original, NULL);
}

_Noreturn void die_of(int signo)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* a pipe for cores knows no limit */
	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	kill(getpid(), signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + signo);
}
