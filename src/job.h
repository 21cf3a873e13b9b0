#ifndef FAIRLOCK_JOB_H
#define FAIRLOCK_JOB_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"
#include "inbox.h"
#include "lock.h"

struct loop;
struct options;
struct teller;

/* COMMAND runs under two processes of ours. The wrapper (front.h) is what the user started: it
 * shares terminal, process group and fate with COMMAND. The guard (guard.h), its child, is
 * COMMAND's parent, in a process group of its own, so that whatever stops the job does not stop it:
 * it renews the lease, and stops COMMAND before the lease can pass to somebody else. Each is a
 * subreaper and watches the other, so that everything COMMAND started can be found and stopped by
 * whichever of them is left. Here is what all of them know. */

struct job {
	const struct options *options;
	struct teller *teller;
	const struct inbox *inbox; /* what COMMAND inherits */
	struct loop *loop;         /* of the wrapper */
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

/* Who may take what the server says, while a guard stands by: an even number is the wrapper's turn,
 * an odd one the guard's, to whom the wrapper has lent its connection; each change is another
 * number. A guard may be forked in the first turn, or after it. At the end the lock is held, and
 * the connection the guard's. */
#define TURN_FIRST 1u
#define TURN_OVER UINT_MAX

/* What has become of COMMAND. */
struct ending {
	_Atomic int exec_errno; /* it could not be started */
	int wait_status;        /* as waitpid tells it */
	bool started;           /* its process was let go */
	bool lost;              /* the lock, while it ran */
	bool timed_out;         /* it was stopped by --max-hold */
};

/* Memory that all three processes see. */
struct shared {
	_Atomic int64_t deadline_ms; /* until when the lock is surely ours */
	_Atomic int phase;           /* enum guard_phase */
	struct ending ending;        /* wait_status: valid from GUARD_GIVING_BACK on */
	_Atomic pid_t command; /* the process that stands by to become COMMAND; 0: there is none */
	_Atomic unsigned turn;
	/* what the wrapper lends to a guard that was forked before, with the same connection: */
	struct lock lock;
	struct client client;
	bool is_deaf;       /* syslog, as was told */
	struct lock locked; /* what the guard has made of it: valid when the turns are over */
};

/* When COMMAND must get its first signal, and when SIGKILL, so that nothing of it is alive at the
 * deadline. */
int64_t job_stop_ms(const struct job *job, int64_t deadline_ms);
int64_t job_kill_ms(const struct job *job, int64_t deadline_ms);

/* Whether it is the wrapper's, or the guard's and not the last. */
bool turn_is_wrappers(unsigned turn);
bool turn_is_lent(unsigned turn);

/* Returns NULL when there is no memory. */
struct shared *shared_new(void);
void shared_free(struct shared *shared);

/* Puts job's lock and client, which is silent (client_is_silent), and what its teller has told
 * there; and takes all that from there, in a process that was forked when this connection was there
 * already. */
void shared_lend(struct shared *shared, const struct job *job);
void shared_borrow(const struct shared *shared, const struct job *job);

/* Puts job's lock there, which is held; and takes it from there. */
void shared_put_locked(struct shared *shared, const struct job *job);
void shared_take_locked(const struct shared *shared, const struct job *job);

#endif
