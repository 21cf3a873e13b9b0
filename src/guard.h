#ifndef FAIRLOCK_GUARD_H
#define FAIRLOCK_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "inbox.h"
#include "lock.h"

struct options;
struct teller;

/* COMMAND runs under two processes of ours. The wrapper is what the user started: it
 * shares terminal, process group and fate with COMMAND. The guard, its child, is COMMAND's parent,
 * in a process group of its own, so that whatever stops the job does not stop it: it renews the
 * lease, and stops COMMAND before the lease can pass to somebody else. Each is a subreaper and
 * watches the other, so that everything COMMAND started can be found and stopped by whichever of
 * them is left. */

struct job {
	const struct options *options;
	struct teller *teller;
	const struct inbox *inbox; /* what COMMAND inherits */
	struct lock *lock;         /* held */
	struct client *client;     /* connected */
	char *const *argv;         /* COMMAND */
	int64_t kill_after_ms;
};

/* SIGKILL is repeated so often, for those who forked meanwhile. */
#define KILL_REPEAT_MS 5

enum guard_phase {
	GUARD_HOLDING,
	GUARD_STOPPING,
	GUARD_GIVING_BACK, /* COMMAND has ended by itself: wait_status is valid */
	GUARD_DONE,
};

struct grant {
	char owner[OWNER_MAX_BYTES];
	char token[24];
	int64_t since_ms;
	int64_t sent_ms; /* of the request that was granted */
};

/* Seen by all three processes. */
struct shared {
	_Atomic int64_t deadline_ms; /* until when the lock is surely ours */
	_Atomic int phase;           /* enum guard_phase */
	/* valid from GUARD_GIVING_BACK on: */
	_Atomic int exec_errno; /* COMMAND could not be started */
	int wait_status;        /* of COMMAND, as waitpid tells it */
	bool started;
	bool lost;
	bool timed_out;     /* COMMAND was stopped by --max-hold */
	struct grant grant; /* what a guard that was forked before it does not know */
};

/* When COMMAND must get its first signal, and when SIGKILL, so that nothing of it is alive at the
 * deadline. */
int64_t guard_kill_ms(const struct job *job, int64_t deadline_ms);
int64_t guard_stop_ms(const struct job *job, int64_t deadline_ms);

/* The guard's life, in the process that wrapper forked: starts COMMAND, never returns. front is a
 * socket whose other end only the wrapper has: single bytes are signals to pass on. */
_Noreturn void guard_run(const struct job *job, struct shared *shared, int front, pid_t wrapper);

/* The same, forked before the lock is granted, so that neither guard nor COMMAND's process has to
 * be made then. Both wait: the guard for the first byte from front, the process that is to become
 * COMMAND for one from `start`, a pipe. By then the wrapper has filled shared->grant and the
 * deadline. Both end when the wrapper does. */
_Noreturn void guard_stand_by(const struct job *job, struct shared *shared, int front,
			      const int start[2], pid_t wrapper);

#endif
