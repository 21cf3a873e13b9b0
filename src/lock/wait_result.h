/* How a wait ends, in messages and exit statuses: for wait.c, wait_leave.c and the commands. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "lock/lock.h"

struct hold;
struct options;
struct messenger;

void wait_result_tell_grant(struct messenger *messenger, const struct lock *lock);

/* --once-ok: a COMMAND ended with 0 so long ago. */
void wait_result_tell_done(struct messenger *messenger, const struct lock *lock, int64_t ago_ms);

/* Each of these five fills *err and returns -1. This one is for an answer that neither grants the
 * lock nor queues us. period_ms: of --once-per. It names the holder. */
int wait_result_refused(struct error *err, const struct lock *lock, const struct ask_reply *reply,
			int64_t period_ms);

/* A signal has ended the wait. */
int wait_result_stopped(struct error *err, const struct lock *lock, int signo);

/* The wait has ended for another reason. */
int wait_result_not_obtained(struct error *err, const struct lock *lock, const char *why);

/* A lock that was held is lost before COMMAND began. awaited: the one that we waited for meanwhile,
 * or NULL. */
int wait_result_lost(struct error *err, const struct hold *hold, const struct lock *awaited);

/* Somebody asks for a lock that was held before COMMAND began. */
int wait_result_asked(struct error *err, const struct hold *hold);

/* Adds to the text, as far as there is room, who holds the lock and since when. */
void wait_result_add_holder(struct error *err, const struct holder *holder);

/* Acts on a wait that failed. A signal that ended the wait ends this process. A lock that was not
 * obtained becomes an exit status, told unless --quiet; any other failure stays one (-1). */
int wait_result_carry_out(struct messenger *messenger, const struct options *options, int signo,
			  const struct error *err, int *status);
