/* Signals as a descriptor to poll. The process takes no signal in any other way. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include "base/error.h"

/* How this process takes signals: blocked, and read from a descriptor. Dispositions
 * are left alone, so that COMMAND starts with those we were started with. */
struct signal_fd {
	uint64_t original;  /* the mask that we were started with */
	bool child_ignored; /* SIGCHLD was ignored: waiting for children would fail */
	int fd;
};

/* Takes what can be passed on, and SIGCHLD; and SIGTSTP while somebody blocks it. What was ignored
 * or blocked at the start stays so. */
int signal_fd_open(struct signal_fd *signals, struct error *err);

/* Takes nothing but SIGCHLD and blocks all the rest: for a process that
 * obeys only its partner. */
int signal_fd_open_deaf(struct signal_fd *signals, struct error *err);

void signal_fd_close(struct signal_fd *signals);

/* The next signal, or false when there is none. */
bool signal_fd_next(const struct signal_fd *signals, struct signalfd_siginfo *info);

/* The pending signals, a bit each, from 1 on; without SIGCHLD, which is for this process alone. */
uint64_t signal_fd_pending(void);

/* Whether a signal is one of these. */
bool signal_fd_has(uint64_t signals, int signo);

/* Sends a child these of a deaf process: what the terminal sends to a process group, that has got
 * in the child's place before there was one. They are to be from before the child was made; or the
 * child takes no signals yet: then it gets none twice. */
void signal_fd_hand_down(uint64_t signals, pid_t child);

/* Whether a signal that was taken would end a process that does nothing about it. */
bool signal_fd_is_deadly(int signo);

/* The next of these, or 0. */
int signal_fd_next_deadly(const struct signal_fd *signals);

/* Whether a signal was ignored when we were started: then it is nobody's concern. */
bool signal_fd_ignores(int signo);

/* Lets SIGTSTP stop this process, as it would have stopped who had opened it. */
void signal_fd_let_stop(const struct signal_fd *signals);

/* Puts back what COMMAND is to inherit. Safe after vfork. */
void signal_fd_restore(const struct signal_fd *signals);

/* Ends this process by the signal, without a core. */
_Noreturn void die_of(int signo);
