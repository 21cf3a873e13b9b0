/* The job, and the memory that wrapper, guard and COMMAND share. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/signal_fd.h"
#include "lock/lock.h"
#include "redis/client.h"

struct deadline_poll;
struct options;
struct messenger;

/* COMMAND runs under two processes of ours. The wrapper (supervise/wrapper.h) is what the user
 * started: it shares terminal, process group and fate with COMMAND. The guard (supervise/guard.h),
 * its child, is COMMAND's parent, in a process group of its own, so that whatever stops the job
 * does not stop it: it renews the lease, and stops COMMAND before the lease can pass to somebody
 * else. Each is a subreaper and watches the other, so that everything COMMAND started can be found
 * and stopped by whichever of them is left. The death of each continues the other, in case that is
 * stopped; and a guard that is itself stopped when COMMAND should be dies of its kill timer
 * (supervise/kill_timer.h). Here is what all of them know. */

struct job {
	const struct options *options;
	struct messenger *messenger;
	const struct signal_fd *signals; /* what COMMAND inherits */
	struct deadline_poll *loop;      /* of the wrapper */
	struct lock *lock;               /* held */
	struct client *client;           /* connected */
	char *const *argv;               /* COMMAND */
	int64_t kill_after_ms;
};

enum guard_phase {
	GUARD_HOLDING,
	GUARD_STOPPING,
	GUARD_GIVING_BACK, /* COMMAND has ended by itself: wait_status is valid */
	GUARD_DONE,
};

/* How COMMAND ended. */
struct ending {
	_Atomic int exec_errno; /* it could not be started */
	int wait_status;        /* as waitpid tells it */
	bool started;           /* its process was let go */
	bool lost;              /* the lock, while it ran */
	bool timed_out;         /* it was stopped by --max-hold */
};

/* Memory that the wrapper, the guard and COMMAND's process share. */
struct shared_state {
	_Atomic int64_t stop_ms;     /* when COMMAND gets its first signal, */
	_Atomic int64_t kill_ms;     /* when it gets SIGKILL, */
	_Atomic int64_t deadline_ms; /* and until when the lock is surely ours */
	_Atomic int phase;           /* enum guard_phase */
	bool has_time;               /* they stand by for a waiter: supervise/prefault.h */
	struct ending ending;        /* wait_status: valid from GUARD_GIVING_BACK on */
	_Atomic pid_t command; /* the process that stands by to become COMMAND; 0: there is none */
	struct lock lock;      /* as it was granted: valid when the guard has set off */
	/* the wrapper hands these to a guard that it forked before the grant: */
	struct client client;
	bool is_deaf;           /* syslog, as was told */
	int64_t start_ms;       /* of COMMAND */
	_Atomic bool is_let_go; /* COMMAND: all of the above is there */
};

/* When COMMAND must get its first signal, and when SIGKILL, so that nothing of it is alive when the
 * lease ends, by the server's clock too. They follow from job's lock. */
int64_t job_stop_ms(const struct job *job);
int64_t job_kill_ms(const struct job *job);

/* Returns NULL when there is no memory. */
struct shared_state *shared_state_new(void);
void shared_state_free(struct shared_state *shared);

/* Puts the times of job's lock there, after each renewal. */
void shared_state_put_times(struct shared_state *shared, const struct job *job);

/* Puts job's lock there, which is held, with its times; and takes it from there. */
void shared_state_put_lock(struct shared_state *shared, const struct job *job);
void shared_state_take_lock(const struct shared_state *shared, const struct job *job);

/* The same with lock, client (client_is_still), and what was told. The process that
 * takes them was forked when this connection was open already, and goes on with it, or with one of
 * its own if it cannot be shared. */
void shared_state_put(struct shared_state *shared, const struct job *job);
void shared_state_take(const struct shared_state *shared, const struct job *job);
