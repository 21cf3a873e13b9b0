/* Signals as a descriptor to poll: a process takes no signal in any other way; and their names. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include "base/error.h"

/* A set of signals. glibc and musl each keep some of the lowest real-time signals for themselves,
 * and hide them from sigset_t. COMMAND may use these signals, so masks here are the kernel's. */
#define SIGNAL_BIT(signo) (UINT64_C(1) << ((signo)-1))

#define FIRST_REAL_TIME 32
#define LAST_REAL_TIME 64

/* These signals stop a process from a terminal. */
#define STOPPING_SIGNALS (SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))

/* Signals are blocked, and read from a descriptor. Dispositions stay as they were, so that COMMAND
 * starts with the same ones as this process. */
struct signal_fd {
	uint64_t original;  /* the mask that this process was started with */
	uint64_t taken;     /* those that come from the descriptor */
	bool child_ignored; /* SIGCHLD was ignored: waiting for children would fail */
	int fd;
};

/* Takes SIGCHLD, the signals that can be passed on to COMMAND, and SIGTSTP while it is blocked. A
 * signal that was ignored or blocked at the start stays so. Returns 0, or -1 with STATUS_OS. */
int signal_fd_open(struct signal_fd *signals, struct error *err);

/* Takes nothing but SIGCHLD and blocks all the rest, for a process that obeys only its partner.
 * Returns 0, or -1 with STATUS_OS. */
int signal_fd_open_deaf(struct signal_fd *signals, struct error *err);

/* The next signal, or false when there is none. Drops each SIGXFSZ that the kernel sent because
 * this process wrote too much. */
bool signal_fd_next(const struct signal_fd *signals, struct signalfd_siginfo *info);

/* The pending signals, a bit each, from 1 on. SIGCHLD, SIGPIPE and SIGXFSZ are left out, because
 * they are for this process alone; and SIGCONT, because a child that has stopped itself meanwhile
 * must stay stopped. */
uint64_t signal_fd_pending(void);

/* Whether a signal that was taken ends a process that does nothing about it. */
bool signal_fd_is_deadly(int signo);

/* If this is SIGCHLD: reaps what has ended. A process may have children that it had before exec,
 * and orphans if it is the first of its PID namespace. */
void signal_fd_reap(const struct signalfd_siginfo *info);

/* The next signal of this kind, or 0; the signals before it are dropped, and children reaped. */
int signal_fd_next_deadly(const struct signal_fd *signals);

/* Whether a signal was ignored when this process was started. It has no effect then. */
bool signal_fd_ignores(int signo);

/* Puts back the mask, and the disposition of SIGCHLD, that COMMAND is to inherit. */
void signal_fd_restore(const struct signal_fd *signals);

/* Each signal that was taken does from now on what it does to any other process. */
void signal_fd_unblock(const struct signal_fd *signals);

/* Ends this process by the signal, without a core. */
_Noreturn void die_of(int signo);

/* ---- Names and numbers ---- */

/* Parses "TERM", "SIGTERM" (in any case) or "15". Returns 0, or -1 if there is no such signal. */
int signal_parse(const char *text, int *number);

#define SIGNAL_MAX_BYTES 16

/* Writes the name of a signal, as signal_parse reads it; its number if it has none. */
const char *signal_show(char text[SIGNAL_MAX_BYTES], int number);
