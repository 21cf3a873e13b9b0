/* The job of a wrap, its processes (the wrapper, the guard, and the one that becomes COMMAND), and
 * the memory that they share; and the keeper of `acquire`. src/README.md tells how they work
 * together. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/signals.h"
#include "lock/hold.h"
#include "lock/wait.h"

struct ground;
struct server;

struct job {
	const struct options *options;
	struct messenger *messenger;
	const struct signal_fd *signals; /* what COMMAND inherits */
	struct deadline_poll *loop;      /* of the wrapper */
	const char *name;                /* NAME */
	struct hold_set *set;            /* its lock, and those of --also: HOLDS_MAX at most */
	struct lock *lock;               /* that of NAME, one of them */
	const struct server *server;
	struct ground *ground;
	char *const *argv;           /* COMMAND */
	char shown[SHORT_MAX_BYTES]; /* its first word for messages, cut */
	int64_t kill_after_ms;
};

enum guard_phase {
	GUARD_HOLDING,
	GUARD_STOPPING,
	GUARD_GIVING_BACK, /* COMMAND has ended by itself: wait_status is valid */
	GUARD_DONE,
};

/* How COMMAND ended: ending_put tells the log. */
struct ending {
	_Atomic int exec_errno; /* why it could not be started, or 0 */
	int wait_status;        /* as waitpid gives it: valid when is_reaped */
	bool is_reaped;         /* its end was seen */
	bool was_stopped;       /* guard or wrapper had begun to stop it before that */
	bool started;           /* its process was let go */
	bool lost;              /* the lock was lost while it ran */
	bool timed_out;         /* it was stopped by --max-hold ... */
	bool was_asked;         /* ... or because somebody has asked it to stop ... */
	bool wrap_died;         /* ... or because the wrapper was gone */
};

/* A lock as it was granted, and the wrapper's client, for a guard that has not taken the grant. */
struct shared_lock {
	_Atomic int64_t deadline_ms; /* until when it is surely ours; 0: it is lost */
	struct lock lock;
	struct client client;
};

struct shared_state {
	_Atomic int64_t stop_ms;     /* when COMMAND gets its first signal ... */
	_Atomic int64_t kill_ms;     /* ... and SIGKILL, ... */
	_Atomic int64_t deadline_ms; /* ... and until when all locks are surely ours */
	_Atomic int64_t repeat_ms;   /* when the guard last went on to kill; 0: it has not begun */
	_Atomic int phase;           /* enum guard_phase */
	struct ending ending;
	struct error failure; /* why COMMAND's process was not let go, although the lock was held */
	_Atomic pid_t command;    /* COMMAND's process; 0: there is none */
	_Atomic bool has_signals; /* it has those that came before it was there */
	uint64_t untaken; /* signals that the wrapper leaves to COMMAND when it lets that go */
	bool is_deaf;     /* of the wrapper's messenger then */
	/* the wrapper writes these when it lets COMMAND go: */
	int64_t start_ms;       /* of COMMAND */
	_Atomic bool is_let_go; /* all of this is there, and the locks */
	struct shared_lock locks[];
};

/* When COMMAND must get its first signal, and when SIGKILL, so that nothing of it is alive when the
 * lease ends, by the server's clock, too. */
struct times {
	int64_t stop_ms;
	int64_t kill_ms;
	int64_t deadline_ms; /* of the lease */
};

/* The times of one lock; and the earliest times of all locks that are held, NEVER_MS if none is. */
struct times job_times_for(const struct job *job, const struct lock *lock);
struct times job_times(const struct job *job);

/* Puts the times of job's locks there, after each renewal. */
void shared_state_put_times(struct shared_state *shared, const struct job *job);

/* Puts status and cause into the lock before it is given back, whether it was used, and that it is
 * not kept for the rest of --min-hold if somebody has asked for it. */
void ending_put(const struct ending *ending, struct lock *lock);

/* How late the guard may be with the first signal, or a further round of SIGKILL, which reads all
 * of /proc, before the wrapper does its work. On a busy machine a process waits long for a
 * processor. */
#define GUARD_LATE_MS 200

/* The guard's life, in the process that the wrapper forked. It stands by until the wrapper lets
 * COMMAND go, with the grant and the clients in *shared. It ends if the
 * wrapper ends before. Then it starts COMMAND, tells the id of COMMAND's process in
 * shared->command, and sees to the lease and to COMMAND's end.
 *
 * socket: each byte is a signal to pass on, or 0; only the wrapper has the other end.
 * needs_connection: the guard cannot go on with those of the wrapper. */
_Noreturn void guard_run(const struct job *job, struct shared_state *shared, int socket,
			 pid_t wrapper, bool needs_connection);

/* ---- Standing by ---- */

/* The guard most often stands by while the wrapper waits for the lock, so that it need not be made
 * when the lock is granted. Before the grant only the wrapper reads the connections. Then the guard
 * goes on with those that it has inherited; or, with TLS, which cannot be shared, with some of its
 * own. */
struct standby {
	pid_t guard; /* 0: there is none */
	int fd;
	unsigned opened; /* the guard has these connections: see hold_set_opened */
	struct shared_state *shared;
};

/* Before the grant of the last lock: ends a guard that is not wanted, or has not the connections.
 * If one is wanted then, and they are silent (connection_is_silent), which is_time says, makes it,
 * if it can be made. Returns whether it was made. */
bool standby_update(struct standby *standby, const struct job *job, bool is_wanted, bool is_time);

/* ---- The locks ---- */

/* Takes the locks of NAME and --also. Returns WAIT_GRANTED when all locks are held. Else none is,
 * and the clients are closed: returns WAIT_DONE; or WAIT_FAILED, with *signo if a signal ended the
 * wait. */
enum wait_event take_locks(struct job *job, struct standby *standby, int *signo, struct error *err);

/* ---- COMMAND ---- */

/* Returns 0 with *ending when COMMAND has ended, or -1. The lock was given back or lost by then. */
int wrapper_run(const struct job *job, struct standby *standby, struct ending *ending,
		struct error *err);

/* ---- The keeper that `acquire --while-pid` leaves behind: it renews the lease ---- */

struct keeper {
	pid_t pid;
	int fd; /* the other end is the keeper's */
};

/* Forks the keeper of the one hold in wait->set, and returns when no signal to our process group or
 * from our terminal can reach it any more. It keeps nothing that we inherited: no descriptor,
 * terminal, session or folder. It waits until it is let go. */
int keeper_start(struct keeper *keeper, const struct wait *wait, struct error *err);

/* Leaves the connection to the keeper: it renews until the process of wait->pidfd ends, then
 * releases; or until the hold is given back or lost. Or ends it: it has not used the connection. */
void keeper_leave(const struct keeper *keeper, bool goes_on);
